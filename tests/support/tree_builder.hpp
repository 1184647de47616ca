#pragma once

#include "pinfold/machine/machine.hpp"
#include "temp_dir.hpp"

namespace pinfold::test {

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
