#pragma once

#include <map>
#include <string>
#include <vector>

#include "pinfold/checkpoint/convert.hpp"

/// Repairs state files that a kubelet refuses, so that it starts from them with every assignment
/// that can be kept. Pure functions; docs/repair.md has the rules.
namespace pinfold::checkpoint {

struct Repaired {
  KubeletFiles files;      ///< unchanged where there was nothing to repair
  Formats formats;         ///< of `files`
  std::vector<Note> done;  ///< each problem and its repair
  std::vector<Note> lost;  ///< assignments or parts of them that could not be kept

  [[nodiscard]] bool changed() const { return !done.empty() || !lost.empty(); }
};

/// Other files of the directory that may be state files: contents by file name.
using Orphans = std::map<std::string, std::string>;

/// Repairs for a kubelet with the configuration and machine of `node`. A sound state file among the
/// orphans replaces one that cannot be read.
[[nodiscard]] Repaired repair(const Node& node, const KubeletFiles& files, const ContainerIds& ids,
                              const Orphans& orphans);

/// True for names of temporary files that a killed kubelet can leave behind: a dot and digits, or a
/// dot and the name of a state file.
[[nodiscard]] bool is_orphan_name(std::string_view name);

}  // namespace pinfold::checkpoint
