#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "pinfold/types/cpuset.hpp"
#include "pinfold/types/ids.hpp"

/// Current data of the kernel about a node, from DIR/sys and DIR/proc. Unreadable data is left out.
namespace pinfold::tools {

/// Memory that the kernel regards as free on a NUMA node.
struct LiveMemory {
  std::optional<std::uint64_t> free;  ///< bytes, MemFree
  /// Maps "hugepages-2Mi" to free bytes.
  std::map<std::string, std::uint64_t> hugepages;
  /// Bytes of `free` in blocks of at least 2 MiB.
  std::optional<std::uint64_t> in_large_blocks;
};
[[nodiscard]] LiveMemory read_live_memory(const std::string& root, NumaId numa);
/// Returns in_large_blocks of one NUMA node from the content of /proc/buddyinfo; nullopt if the
/// node is not listed.
[[nodiscard]] std::optional<std::uint64_t> in_large_blocks(std::string_view buddyinfo, NumaId numa,
                                                           std::uint64_t page_size);

/// The time of a CPU since boot, in ticks.
struct CpuTime {
  std::uint64_t busy = 0;
  std::uint64_t total = 0;
};
/// Parses the content of /proc/stat; ignores lines that are not about a CPU.
[[nodiscard]] std::map<CpuId, CpuTime> parse_cpu_times(std::string_view stat);
[[nodiscard]] std::map<CpuId, CpuTime> read_cpu_times(const std::string& root);
/// Returns the share of the time in between that each CPU was busy, 0 to 1, for CPUs in both.
[[nodiscard]] std::map<CpuId, double> loads_between(const std::map<CpuId, CpuTime>& before,
                                                    const std::map<CpuId, CpuTime>& after);

}  // namespace pinfold::tools
