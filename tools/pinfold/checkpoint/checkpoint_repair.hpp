#pragma once

#include <vector>

#include "agent/agent_arguments.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/checkpoint/note.hpp"

namespace pinfold::tools {

/// What `pinfold checkpoint repair` would do.
struct RepairPreview {
  bool starts = false;  ///< a kubelet starts from the repaired files
  std::vector<checkpoint::Note> lost;
};
/// Repairs the files in the state directory of a node without writing any. Errors: those of reading
/// the node and the files.
[[nodiscard]] Result<RepairPreview> preview_repair(const NodeOptions& node);

}  // namespace pinfold::tools
