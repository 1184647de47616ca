#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "pinfold/types/cpuset.hpp"
#include "pinfold/types/ids.hpp"

/// What the kernel says of a node now, from DIR/sys and DIR/proc. What cannot be read is left out.
namespace pinfold::tools {

/// Memory that is free for the kernel on a NUMA node.
struct LiveMemory {
  std::optional<std::uint64_t> free;  ///< bytes, MemFree
  /// "hugepages-2Mi" to free bytes.
  std::map<std::string, std::uint64_t> hugepages;
  /// Bytes of `free` in blocks of at least 2 MiB.
  std::optional<std::uint64_t> in_large_blocks;
};
[[nodiscard]] LiveMemory read_live_memory(const std::string& root, NumaId numa);
/// The same sum for one NUMA node, from the content of /proc/buddyinfo; nullopt if it has none.
[[nodiscard]] std::optional<std::uint64_t> in_large_blocks(std::string_view buddyinfo, NumaId numa,
                                                           std::uint64_t page_size);

/// The time of a CPU since the start, in ticks.
struct CpuTime {
  std::uint64_t busy = 0;
  std::uint64_t total = 0;
};
/// From the content of /proc/stat; lines that are not of a CPU count for nothing.
[[nodiscard]] std::map<CpuId, CpuTime> parse_cpu_times(std::string_view stat);
[[nodiscard]] std::map<CpuId, CpuTime> read_cpu_times(const std::string& root);
/// The share of the time between that each CPU was busy, 0 to 1; without CPUs that are not in both.
[[nodiscard]] std::map<CpuId, double> loads_between(const std::map<CpuId, CpuTime>& before,
                                                    const std::map<CpuId, CpuTime>& after);

}  // namespace pinfold::tools
