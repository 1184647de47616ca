#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "pinfold/checkpoint/convert.hpp"

/// Repairs state files that a kubelet refuses, so that it starts from them with every assignment
/// that can be kept. Pure functions; docs/repair.md has the rules.
namespace pinfold::checkpoint {

struct Repaired {
  KubeletFiles files;      ///< unchanged where there was nothing to repair
  std::vector<Note> done;  ///< each problem and its repair
  std::vector<Note> lost;  ///< what could not be kept: an assignment, or a part of one

  [[nodiscard]] bool changed() const { return !done.empty() || !lost.empty(); }
};

/// What other files of the directory know.
struct OtherFiles {
  /// Contents by name: temporary files and copies in journals, any of which may be a state file.
  std::map<std::string, std::string> copies = {};
  std::vector<PodSpec> pods = {};      ///< the active pods, from .pinfold_pods
  std::set<ContainerId> removed = {};  ///< the containers of these that were removed
};

/// Repairs for `node`: its configuration, machine, and the kubelet whose files it reads and writes
/// (kubelet_of()). A file that needs no repair stays as it is, in its format. What cannot be read
/// in a damaged file is taken from a copy of it that has everything that can be read, or from the
/// other files if they leave one possibility. The rest is lost, with the files that still name it.
[[nodiscard]] Repaired repair(const Node& node, const KubeletFiles& files, const ContainerIds& ids,
                              const OtherFiles& others);

/// True for names of temporary files that a killed kubelet can leave behind: a dot and digits, or a
/// dot and the name of a state file.
[[nodiscard]] bool is_orphan_name(std::string_view name);

}  // namespace pinfold::checkpoint
