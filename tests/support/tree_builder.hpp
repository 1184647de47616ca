#pragma once

#include "pinfold/machine/machine.hpp"
#include "temp_dir.hpp"

namespace pinfold::test {

/// How the kernel of a synthetic tree presents its files.
struct TreeStyle {
  bool masks = false;   ///< an old kernel: masks instead of lists, no lists of online CPUs
  bool numa = true;     ///< false: no node directories, memory in proc/meminfo
  CpuSet offline = {};  ///< further CPUs, present but offline
  CpuSet bare = {};     ///< further CPUs, online but without topology files
};

/// Writes the /sys and /proc files that a kernel would show for this machine.
void write_tree(const TempDir& dir, const MachineDescription& machine, const TreeStyle& style = {});

}  // namespace pinfold::test
