#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "node/live_node.hpp"

/// /proc/buddyinfo and /proc/stat. CPUs are ones that a machine can have, and loads are shares of
/// the time between the samples.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::uint64_t page_size : {4096U, 65536U}) {
    (void)tools::in_large_blocks(text, NumaId{0}, page_size);
  }
  const auto half = tools::parse_cpu_times(text.substr(0, size / 2));
  const auto times = tools::parse_cpu_times(text);
  for (const auto& [cpu, time] : times) {
    if (cpu.value < 0 || cpu.value >= CpuSet::kMaxCpus) std::abort();
  }
  for (const auto& [cpu, load] : tools::loads_between(half, times)) {
    if (!(load >= 0 && load <= 1)) std::abort();  // NaN too
    if (!half.contains(cpu) || !times.contains(cpu)) std::abort();
  }
  return 0;
}
