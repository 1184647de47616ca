#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold {

/// Parsers of the small files in /sys. Their input is the content without trailing white space.
/// Their errors are kInvalidArgument, with the value and what was expected but not the file.

/// A whole decimal number, "-1" included.
[[nodiscard]] Result<std::int32_t> parse_id(std::string_view text);
/// A whole decimal number that is not negative.
[[nodiscard]] Result<std::uint64_t> parse_count(std::string_view text);
/// The list format: "0-3,8". As CpuSet::parse, but with errors for files instead of Go's.
[[nodiscard]] Result<CpuSet> parse_cpu_list(std::string_view text);
/// The hexadecimal mask format: "00000000,000000ff", most significant word first.
[[nodiscard]] Result<CpuSet> parse_cpu_mask(std::string_view text);
/// The row of a distance file: "10 21".
[[nodiscard]] Result<std::vector<std::uint32_t>> parse_distances(std::string_view text);
/// MemTotal in bytes, from /proc/meminfo or the meminfo of a NUMA node.
[[nodiscard]] Result<std::uint64_t> parse_mem_total(std::string_view meminfo);

/// The Kubernetes resource of a page size: 2048 is "hugepages-2Mi".
/// Domain: 1 to 2^53 kB.
[[nodiscard]] std::string hugepage_resource(std::uint64_t kilobytes);

}  // namespace pinfold
