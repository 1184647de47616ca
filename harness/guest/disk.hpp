#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent.hpp"
#include "block_device.hpp"

namespace pinfold::guest {

/// Files of a folder by their path below it: what is in them; folders end with '/'.
using Tree = std::map<std::string, std::string>;
[[nodiscard]] Tree read_tree(const std::string& folder);

/// What had been acknowledged when the log had so many entries.
struct Mark {
  std::size_t position = 0;
  Tree files;
};

/// A disk whose writes are remembered, and a second one for what power cuts leave of it.
class RecordedDisk {
 public:
  BlockDevice device{0};
  BlockDevice cut_device{1};
  std::string filesystem;
  std::string folder;  ///< where it is mounted
  Pages base;          ///< the disk before the first entry of the log
  std::vector<Mark> marks;
};

}  // namespace pinfold::guest
