#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pinfold/api/kubelet_unit.hpp"
#include "pinfold/audit/tree.hpp"

namespace pinfold::audit {

/// Where systemd finds the files of a node's units. Source: systemd.unit(5).
struct InstalledUnits {
  std::map<std::string, std::string> files = {};  ///< paths by unit; if several, the first
  std::set<std::string> drop_in_directories = {};
  std::set<std::string> names = {};  ///< of units with a file or a directory of drop-ins
};
[[nodiscard]] InstalledUnits find_units(const Tree& tree);
/// Returns the paths of a unit's drop-ins in the order in which systemd applies them: also those of
/// its prefixes ("system-.slice.d") and of its type ("slice.d").
[[nodiscard]] std::vector<std::string> drop_ins_of(const Tree& tree, const InstalledUnits& units,
                                                   const std::string& unit);

/// Reads the command and the kubelet's flags of a systemd unit of the node ("kubelet.service"),
/// with its drop-ins in the order in which systemd applies them, and its environment files; nullopt
/// if the unit does not exist or is masked. Source: systemd.unit(5).
[[nodiscard]] std::optional<FlagsText> read_unit(const Tree& tree, const std::string& unit);

}  // namespace pinfold::audit
