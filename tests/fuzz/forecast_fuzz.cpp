#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pinfold/forecast/memory_files.hpp"
#include "pinfold/types/cpuset.hpp"

/// The kernel's files about memory. Each parser takes any bytes, and what it returns is in its
/// domain: sums of a few of the numbers do not overflow.
namespace pinfold::forecast {
namespace {

constexpr std::uint64_t kMost = UINT64_C(1) << 57U;

void require(bool is_true) {
  if (!is_true) std::abort();
}

void read(std::string_view text) {
  if (const auto info = parse_numa_meminfo(text)) {
    require(info->total < kMost && info->free < kMost);
    require(info->file < kMost && info->reclaimable < kMost);
  }
  for (const std::uint64_t page_size : {4096U, 65536U}) {
    for (const auto& [node, bytes] : parse_numa_stat(text, page_size)) {
      require(node >= 0 && node < CpuSet::kMaxCpus && bytes < kMost);
    }
  }
  require(parse_memory_limit(text).value_or(0) < kMost);
  require(parse_min_free(text) < kMost);
  const double stalled = parse_stalled(text);
  require(std::isfinite(stalled) && stalled >= 0 && stalled <= 1);
}

}  // namespace
}  // namespace pinfold::forecast

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pinfold::forecast::read(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
