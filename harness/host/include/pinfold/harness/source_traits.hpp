#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "pinfold/types/cpuset.hpp"
#include "pinfold/types/ids.hpp"

namespace pinfold::harness {

/// Caches of one kind.
struct CacheKind {
  std::vector<CpuSet> groups;   ///< the CPUs that share one, each group once
  std::set<std::string> sizes;  ///< as the kernel writes them: "1024K"
};

/// A PCI device other than a bridge.
struct SourceDevice {
  std::string address;             ///< "0000:81:00.0"
  std::vector<NumaId> numa_nodes;  ///< ascending; empty: near all of them alike
  bool is_workload = false;        ///< storage, network, display or an accelerator
};

/// What a machine has that `Machine` does not hold, because no decision depends on it. A copy
/// without it is another machine all the same.
struct SourceTraits {
  bool is_read = false;                     ///< false: only the devices are known
  std::string arch;                         ///< with Debian's name: "amd64", "ppc64"; "": unknown
  std::uint64_t page_kib = 0;               ///< size of a normal page; 0: unknown
  CpuSet unusable;                          ///< CPUs that are offline or have no topology files
  std::vector<CpuSet> dies;                 ///< the CPUs of each; empty: unknown
  std::vector<CpuSet> clusters;             ///< the same
  std::map<std::string, CacheKind> caches;  ///< by kind: "level 1 Data", "level 3 Unified"
  std::vector<NumaId> access_nodes;         ///< with access classes: latencies and bandwidths
  std::vector<NumaId> side_cache_nodes;     ///< with a cache of their memory
  std::vector<SourceDevice> devices;
};

/// Reads them from the files sys/ and proc/ below `root`, "/" on a live machine, except the
/// devices. What no file says stays empty. `usable`: the CPUs that were discovered there.
[[nodiscard]] SourceTraits read_traits(const std::filesystem::path& root, const CpuSet& usable);

}  // namespace pinfold::harness
