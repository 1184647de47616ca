#pragma once

#include <filesystem>
#include <string>

#include "pinfold/machine/machine.hpp"

namespace pinfold::test {

/// A directory of its own below the system's temporary directory; removed at the end.
class TempDir {
 public:
  TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();
  [[nodiscard]] std::string path() const { return path_.string(); }
  /// Writes a file below the directory, and the folders it needs.
  void write(const std::string& file, const std::string& content) const;
  void remove(const std::string& file) const { std::filesystem::remove_all(path_ / file); }

 private:
  std::filesystem::path path_;
};

/// How the kernel of a synthetic tree writes its files.
struct TreeStyle {
  bool masks = false;   ///< an old kernel: masks in place of lists, no lists of what is online
  bool numa = true;     ///< false: no node directories, memory in proc/meminfo
  CpuSet offline = {};  ///< further CPUs, present but offline
  CpuSet bare = {};     ///< further CPUs, online but without topology files
};

/// Writes the /sys and /proc files that a kernel shows of such a machine.
void write_tree(const TempDir& dir, const MachineDescription& machine, const TreeStyle& style = {});

}  // namespace pinfold::test
