#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "pinfold/types/cpuset.hpp"
#include "pinfold/types/named.hpp"

/// CPUs, NUMA nodes and amounts of memory in sentences.
namespace pinfold {

/// Returns "CPU 3", "CPUs 2-3", "no CPUs".
[[nodiscard]] std::string cpus_named(const CpuSet& cpus);
/// Returns the verb of a sentence about these CPUs: `one` of a single CPU, else `more`.
[[nodiscard]] std::string_view one_or_more(const CpuSet& cpus, std::string_view one,
                                           std::string_view more);

/// Returns "NUMA node 1", "NUMA nodes 0,2". `ids`: OS ids.
[[nodiscard]] std::string numa_nodes_named(std::span<const std::int32_t> ids);
/// Returns "NUMA node 1", "NUMA nodes 0-2", for a set of OS ids such as cpuset.mems.
[[nodiscard]] std::string numa_nodes_named(const CpuSet& ids);

/// Returns "2Gi", "1500 bytes": the notation of manifests where it has a unit.
[[nodiscard]] std::string bytes_named(std::uint64_t bytes);

}  // namespace pinfold
