#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "pinfold/noise/counters.hpp"
#include "pinfold/noise/noise.hpp"
#include "pinfold/noise/osnoise.hpp"
#include "pinfold/types/cpuset.hpp"

/// The kernel's counters. Each parser takes any bytes, and what it returns is in its domain.
namespace pinfold::noise {
namespace {

void require(bool is_true) {
  if (!is_true) std::abort();
}

void require_cpu(CpuId cpu) { require(cpu.value >= 0 && cpu.value < CpuSet::kMaxCpus); }

void read_counts(std::string_view text) {
  const CountTable table = parse_counts(text);
  for (std::size_t i = 0; i < table.cpus.size(); ++i) {
    require_cpu(table.cpus[i]);
    require(i == 0 || table.cpus[i - 1] < table.cpus[i]);
  }
  for (const CountRow& row : table.rows) {
    require(row.counts.size() == table.cpus.size());
    require(row.name.find(':') == std::string::npos);
  }
  // Nothing happens between two equal samples.
  NoiseSample before{std::chrono::seconds(1), table, table};
  NoiseSample after{std::chrono::seconds(2), table, table};
  CpuSet cpus;
  for (const CpuId cpu : table.cpus) cpus.insert(cpu);
  for (const CpuNoise& noise : measure(before, after, {cpus}).cpus) {
    require(noise.score == 100 && noise.sources.empty());
  }
}

void read_times(std::string_view text) {
  constexpr std::int64_t kTicksPerSecond = 100;
  for (const auto& [cpu, times] : parse_lost_times(text, kTicksPerSecond)) {
    require_cpu(cpu);
    require(times.interrupts.count() >= 0 && times.softirqs.count() >= 0);
    require(times.stolen.count() >= 0);
  }
  for (const auto& [cpu, runs] : parse_runs(text)) require_cpu(cpu);
  const auto thread = parse_thread_times(text);
  require(!thread || (thread->ran.count() >= 0 && thread->waited.count() >= 0));
}

void read_trace(std::string_view text) {
  const auto report = traced_noise(text, {}, {CpuSet::range(0, 3)});
  require(!report || (report->duration.count() > 0 && report->cpus.size() == 4));
  const auto traced = parse_osnoise(text);
  if (!traced) return;
  require(traced->at.count() >= 0);
  require_cpu(traced->cpu);
  require(traced->lasted.count() >= 0);
  require(traced->name == "NMI" || text.find(traced->name) != std::string_view::npos);
}

}  // namespace
}  // namespace pinfold::noise

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  pinfold::noise::read_counts(text);
  pinfold::noise::read_times(text);
  pinfold::noise::read_trace(text);
  return 0;
}
