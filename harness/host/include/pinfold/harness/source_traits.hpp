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

/// The caches of one kind.
struct CacheKind {
  std::vector<CpuSet> groups;   ///< the CPUs that share a cache, each group once
  std::set<std::string> sizes;  ///< as the kernel prints them: "1024K"
};

/// A PCI device other than a bridge.
struct SourceDevice {
  std::string address;             ///< "0000:81:00.0"
  std::vector<NumaId> numa_nodes;  ///< ascending; empty: equally near to all
  bool is_workload = false;        ///< storage, network, display or an accelerator
};

/// Properties of a machine that `Machine` does not hold because no decision depends on them. A copy
/// without them is nevertheless a different machine.
struct SourceTraits {
  bool is_read = false;                     ///< false: only the devices are known
  std::string arch;                         ///< under Debian's name: "amd64", "ppc64"; "": unknown
  std::uint64_t page_kib = 0;               ///< size of a normal page; 0: unknown
  CpuSet unusable;                          ///< CPUs that are offline or have no topology files
  std::vector<CpuSet> dies;                 ///< the CPUs of each die; empty: unknown
  std::vector<CpuSet> clusters;             ///< the CPUs of each cluster; empty: unknown
  std::map<std::string, CacheKind> caches;  ///< by kind: "level 1 Data", "level 3 Unified"
  std::vector<NumaId> access_nodes;         ///< those with access classes: latencies and bandwidths
  std::vector<NumaId> side_cache_nodes;     ///< those with a memory-side cache
  std::vector<SourceDevice> devices;
};

/// Reads everything except the devices from sys/ and proc/ below `root`, "/" on a live machine.
/// Properties that no file has remain empty. `usable`: the CPUs that were discovered there.
[[nodiscard]] SourceTraits read_traits(const std::filesystem::path& root, const CpuSet& usable);

}  // namespace pinfold::harness
