#pragma once

#include <string_view>
#include <vector>

#include "pinfold/checkpoint/note.hpp"
#include "pinfold/checkpoint/other_files.hpp"
#include "pinfold/checkpoint/running_container.hpp"
#include "pinfold/checkpoint/start.hpp"
#include "pinfold/decide/node.hpp"

/// Repairs state files that a kubelet refuses to load, so that it starts and keeps every assignment
/// that can be kept. Pure functions; docs/repair.md has the rules.
namespace pinfold::checkpoint {

struct Repaired {
  KubeletFiles files;                    ///< unchanged where there was nothing to repair
  std::vector<Note> done;                ///< each problem and its repair
  std::vector<Note> lost;                ///< what could not be kept: an assignment or a part of one
  std::vector<ReadBack> read_back = {};  ///< assignments from the kernel
  /// A file is damaged or missing, so that running containers count.
  bool has_damage = false;

  [[nodiscard]] bool changed() const { return !done.empty() || !lost.empty(); }
};

/// Repairs files for `node`: its configuration, its machine, and the kubelet whose files it reads
/// and writes (kubelet_of()). A file that needs no repair is unchanged and keeps its format. Data
/// that cannot be read from a damaged file is taken from a copy that contains everything that can
/// be read, from the control groups of running containers where these leave no doubt, or is
/// inferred from the other files if they leave only one possibility. The rest is lost and reported,
/// with the files that still name it.
[[nodiscard]] Repaired repair(const Node& node, const KubeletFiles& files, const ContainerIds& ids,
                              const OtherFiles& others);

/// Returns true for temporary files that a killed kubelet can leave behind: a dot and digits, or a
/// dot and the name of a state file.
[[nodiscard]] bool is_orphan_name(std::string_view name);

}  // namespace pinfold::checkpoint
