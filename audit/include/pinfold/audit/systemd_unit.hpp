#pragma once

#include <optional>
#include <string>

#include "pinfold/api/kubelet_unit.hpp"
#include "pinfold/audit/tree.hpp"

namespace pinfold::audit {

/// Reads the command and the kubelet's flags of a systemd unit of the node ("kubelet.service"),
/// with its drop-ins in the order in which systemd applies them, and its environment files; nullopt
/// if the unit does not exist or is masked. Source: systemd.unit(5).
[[nodiscard]] std::optional<FlagsText> read_unit(const Tree& tree, const std::string& unit);

}  // namespace pinfold::audit
