#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/enforce/layout.hpp"
#include "pinfold/enforce/page_placement.hpp"
#include "pinfold/types/pod_ref.hpp"

namespace pinfold::forecast {

/// The memory of a NUMA node.
struct NumaMemory {
  NumaId numa;
  std::uint64_t total = 0;  ///< bytes
  /// Bytes that processes can still get: free memory, page cache and reclaimable slabs, less what
  /// the kernel keeps free. Swap does not count.
  std::uint64_t available = 0;

  friend bool operator==(const NumaMemory&, const NumaMemory&) = default;
};

/// The memory of a control group and those below it.
struct GroupMemory {
  std::string directory;  ///< relative to the mount: "/kubepods/podX/c"
  std::string label;      ///< "default/db/main" if its container is known, else `directory`
  enforce::NodeSet mems;  ///< where its processes may get memory
  bool is_inner = false;  ///< the sample has others below it: listed only for its limit
  enforce::PagesByNode in_use = {};         ///< bytes that cannot be reclaimed
  std::optional<std::uint64_t> limit = {};  ///< bytes
  double stalled = 0;                       ///< see parse_stalled

  friend bool operator==(const GroupMemory&, const GroupMemory&) = default;
};

/// The memory of a machine at one moment.
struct MemorySample {
  std::chrono::nanoseconds at{0};        ///< of a steady clock
  std::vector<NumaMemory> numa = {};     ///< those with memory, ascending
  std::vector<GroupMemory> groups = {};  ///< empty: not read

  friend bool operator==(const MemorySample&, const MemorySample&) = default;
};

/// The groups of containers by absolute directory in the cpuset hierarchy; a pod's own group has a
/// container without a name.
using GroupNames = std::map<std::string, ContainerRef>;

/// Reads the NUMA nodes below DIR/sys: two files, and one for each NUMA node.
/// Errors: kNotFound on a kernel without NUMA; kIo.
[[nodiscard]] Result<MemorySample> read_numa_memory(const std::string& root,
                                                    std::chrono::nanoseconds at);

/// Reads every control group in use: five files for each leaf group (a container in `names` counts
/// as one), and for each group with a limit. Empty without the memory controller.
[[nodiscard]] std::vector<GroupMemory> read_groups(const std::string& root,
                                                   const GroupNames& names);

}  // namespace pinfold::forecast
