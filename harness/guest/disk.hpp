#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent.hpp"
#include "block_device.hpp"

namespace pinfold::guest {

/// The files of a directory: relative path to content; directories end with '/'.
using Tree = std::map<std::string, std::string>;
[[nodiscard]] Tree read_tree(const std::string& folder);

inline constexpr std::size_t kExt4SuperblockBytes = 1024;

/// The acknowledged files at a position of the log.
struct LogMark {
  std::size_t position = 0;
  Tree files;
};

/// A disk whose writes are logged, and a second device for the disks after power cuts.
class RecordedDisk {
 public:
  BlockDevice device{0};
  BlockDevice cut_device{1};
  std::string filesystem;
  std::string folder;  ///< mount point
  Pages base;          ///< the disk before the first entry of the log
  std::vector<LogMark> marks;

  /// Writes are not torn within this many bytes. ext4 does not mount a superblock (1 KiB, with a
  /// checksum) that is half old and half new; only e2fsck can repair it, from a backup copy.
  [[nodiscard]] std::size_t sector() const {
    return filesystem == "ext4" ? kExt4SuperblockBytes : kSectorBytes;
  }
};

}  // namespace pinfold::guest
