#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold {

/// Parsers for small files in /sys. The input is the content without trailing white space. Errors
/// are kInvalidArgument, with the value and what was expected but without the file.

/// Parses a whole decimal number, including "-1".
[[nodiscard]] Result<std::int32_t> parse_id(std::string_view text);
/// Parses a whole decimal number that is not negative.
[[nodiscard]] Result<std::uint64_t> parse_count(std::string_view text);
/// Parses the list format: "0-3,8". Like CpuSet::parse, with messages for files instead of Go's.
[[nodiscard]] Result<CpuSet> parse_cpu_list(std::string_view text);
/// Parses the hexadecimal mask format: "00000000,000000ff", most significant word first.
[[nodiscard]] Result<CpuSet> parse_cpu_mask(std::string_view text);
/// Parses the row of a distance file: "10 21".
[[nodiscard]] Result<std::vector<std::uint32_t>> parse_distances(std::string_view text);
/// Returns MemTotal in bytes, from /proc/meminfo or the meminfo of a NUMA node.
[[nodiscard]] Result<std::uint64_t> parse_mem_total(std::string_view meminfo);

/// Returns the Kubernetes resource of a page size: "hugepages-2Mi" for 2048.
/// Domain: 1 to 2^53 kB.
[[nodiscard]] std::string hugepage_resource(std::uint64_t kilobytes);

}  // namespace pinfold
