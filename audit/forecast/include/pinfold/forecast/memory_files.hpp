#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "pinfold/enforce/page_placement.hpp"

/// Parsers of the kernel's files about memory. Pure; they omit lines that do not have the expected
/// form.
namespace pinfold::forecast {

/// The contents of a NUMA node's meminfo, in bytes.
struct NumaMeminfo {
  std::uint64_t total = 0;
  std::uint64_t free = 0;
  std::uint64_t file = 0;         ///< page cache that can be dropped or written back: no tmpfs
  std::uint64_t reclaimable = 0;  ///< slabs and other memory of the kernel that can be reclaimed

  friend bool operator==(const NumaMeminfo&, const NumaMeminfo&) = default;
};
/// Parses /sys/devices/system/node/nodeN/meminfo; nullopt without MemTotal or MemFree.
[[nodiscard]] std::optional<NumaMeminfo> parse_numa_meminfo(std::string_view text);

/// Parses memory.numa_stat of cgroup v2 or v1: bytes on each NUMA node that are freed only when
/// their owner ends. Page cache and reclaimable slabs do not count; tmpfs does. The numbers of v1
/// are pages and leave out kernel memory; the groups below count too, as they do in v2.
[[nodiscard]] enforce::PagesByNode parse_numa_stat(std::string_view text, std::uint64_t page_size);

/// Parses memory.max of cgroup v2 or memory.limit_in_bytes of v1; nullopt if there is no limit.
[[nodiscard]] std::optional<std::uint64_t> parse_memory_limit(std::string_view text);

/// Parses memory.pressure (PSI): the share of the last ten seconds, 0 to 1, in which at least one
/// process waited for memory; 0 if it is missing.
[[nodiscard]] double parse_stalled(std::string_view text);

/// Parses /proc/sys/vm/min_free_kbytes: bytes that the kernel keeps free; 0 if it is missing.
[[nodiscard]] std::uint64_t parse_min_free(std::string_view text);

}  // namespace pinfold::forecast
