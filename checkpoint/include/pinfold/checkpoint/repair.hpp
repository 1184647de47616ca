#pragma once

#include <map>
#include <string>
#include <vector>

#include "pinfold/checkpoint/convert.hpp"

/// State files that a kubelet refuses, made such that it starts from them and keeps every
/// assignment that can be kept. A pure function; what it saves, and how, is in docs/repair.md.
namespace pinfold::checkpoint {

struct Repaired {
  KubeletFiles files;      ///< as they were where nothing had to be done
  Formats formats;         ///< what they are
  std::vector<Note> done;  ///< each thing that was wrong, and what became of it
  std::vector<Note> lost;  ///< assignments, or parts of them, that could not be kept

  [[nodiscard]] bool changed() const { return !done.empty() || !lost.empty(); }
};

/// What else lies in the directory and may be a state file: contents by file name.
using Orphans = std::map<std::string, std::string>;

/// Repairs for the kubelet that `node` stands for. A sound state file among the orphans stands in
/// for one that cannot be read.
[[nodiscard]] Repaired repair(const Node& node, const KubeletFiles& files, const ContainerIds& ids,
                              const Orphans& orphans);

/// True for the name of a temporary file that a kubelet that was stopped may leave behind: a dot
/// and digits, or a dot and the name of a state file.
[[nodiscard]] bool is_orphan_name(std::string_view name);

}  // namespace pinfold::checkpoint
