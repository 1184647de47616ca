#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/types/cpuset.hpp"

/// CPUs, NUMA nodes and amounts of memory in sentences.
namespace pinfold {

/// Returns "CPU 3", "CPUs 2-3", "no CPUs".
[[nodiscard]] std::string cpus_named(const CpuSet& cpus);
/// Returns the verb of a sentence about these CPUs: `one` for a single CPU, else `more`.
[[nodiscard]] std::string_view one_or_more(const CpuSet& cpus, std::string_view one,
                                           std::string_view more);

/// Returns "NUMA node 1", "NUMA nodes 0,2". `ids`: OS ids.
[[nodiscard]] std::string numa_nodes_named(std::span<const std::int32_t> ids);
/// Returns "NUMA node 1", "NUMA nodes 0-2", for a set of OS ids such as cpuset.mems.
[[nodiscard]] std::string numa_nodes_named(const CpuSet& ids);

/// Returns "2Gi", "1500 bytes": the notation of manifests where it has a unit.
[[nodiscard]] std::string bytes_named(std::uint64_t bytes);

/// Keeps the first `most` names of a sentence, and appends how many are left out: "2 more pods" for
/// a `rest` of "more pods". A single name stays: it says more than "1 more".
[[nodiscard]] std::vector<std::string> first_named(std::vector<std::string> names, std::size_t most,
                                                   std::string_view rest);
/// Returns "a, b, c"; with more than `most` + 1 names, the first `most`: "a, b and 2 more".
[[nodiscard]] std::string some_named(std::vector<std::string> names, std::size_t most);
/// Returns "a, b and c".
[[nodiscard]] std::string listed(const std::vector<std::string>& parts);

}  // namespace pinfold
