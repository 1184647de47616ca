#pragma once

#include <optional>
#include <string>

#include "pinfold/audit/tree.hpp"

namespace pinfold::audit {

/// Returns the text of a systemd unit of the node ("kubelet.service") followed by its drop-ins in
/// the order in which systemd applies them; nullopt if the unit does not exist. Source:
/// systemd.unit(5).
[[nodiscard]] std::optional<std::string> unit_text(const Tree& tree, const std::string& unit);

}  // namespace pinfold::audit
