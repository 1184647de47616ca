#include "pinfold/noise/osnoise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "pinfold/audit/proc_files.hpp"
#include "pinfold/text/words.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold::noise {
namespace {

struct TracedEvent {
  std::string_view name;
  SourceKind kind;
};
constexpr std::array kTracedEvents = {
    TracedEvent{": irq_noise: ", SourceKind::kInterrupt},
    TracedEvent{": softirq_noise: ", SourceKind::kSoftirq},
    TracedEvent{": thread_noise: ", SourceKind::kTask},
    TracedEvent{": nmi_noise: ", SourceKind::kKernelInterrupt},
};

/// Parses the last "[003]" of "sh-12 [003] d.h1. 100.5": the name before it may have brackets too.
std::optional<CpuId> traced_cpu(std::string_view head) {
  const std::size_t begin = head.rfind('[');
  const std::size_t end = head.rfind(']');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) {
    return std::nullopt;
  }
  const auto cpu = audit::parse_number(head.substr(begin + 1, end - begin - 1));
  if (!cpu || *cpu < 0 || *cpu >= CpuSet::kMaxCpus) return std::nullopt;
  return CpuId{static_cast<std::int32_t>(*cpu)};
}

/// Parses the end of "local_timer:236 start 100.5 duration 1500 ns", and removes it from `fields`.
std::optional<std::chrono::nanoseconds> cut_duration(std::string_view& fields) {
  constexpr std::string_view kDuration = " duration ";
  constexpr std::string_view kUnit = " ns";
  const std::size_t begin = fields.rfind(kDuration);
  if (begin == std::string_view::npos || !fields.ends_with(kUnit)) return std::nullopt;
  auto number = fields.substr(begin + kDuration.size());
  if (number.size() < kUnit.size()) return std::nullopt;
  number.remove_suffix(kUnit.size());
  constexpr std::int64_t kMost = 1'000'000'000'000;  // so that sums of them fit
  const auto lasted = audit::parse_number(number);
  if (!lasted || *lasted < 0 || *lasted > kMost) return std::nullopt;
  fields = fields.substr(0, begin);
  return std::chrono::nanoseconds(*lasted);
}

/// Parses "100.000001500", in seconds.
std::optional<std::chrono::nanoseconds> seconds_in(std::string_view text) {
  constexpr std::size_t kDigits = 9;
  constexpr std::int64_t kMost = 1'000'000'000;  // seconds: 30 years
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  std::string fraction(text.substr(dot + 1, kDigits));
  fraction.resize(kDigits, '0');
  const auto whole = audit::parse_number(text.substr(0, dot));
  const auto nanoseconds = audit::parse_number(fraction);
  if (!whole || !nanoseconds || *whole < 0 || *nanoseconds < 0 || *whole > kMost) {
    return std::nullopt;
  }
  return std::chrono::seconds(*whole) + std::chrono::nanoseconds(*nanoseconds);
}

/// Parses the end of "local_timer:236 start 100.5", and removes it from `fields`.
std::optional<std::chrono::nanoseconds> cut_start(std::string_view& fields) {
  constexpr std::string_view kStart = "start ";
  const std::size_t begin = fields.rfind(kStart);
  if (begin == std::string_view::npos) return std::nullopt;
  const auto at = seconds_in(fields.substr(begin + kStart.size()));
  fields = trimmed(fields.substr(0, begin));
  return at;
}

/// Parses "local_timer:236".
bool set_name(std::string_view named, TracedInterruption& traced) {
  const std::size_t colon = named.rfind(':');
  if (colon == std::string_view::npos) return false;
  const auto id = audit::parse_number(named.substr(colon + 1));
  traced.name = trimmed(named.substr(0, colon));
  traced.id = id.value_or(0);
  return id.has_value();
}

/// Returns the kind of an interrupt by its handler. Those of a CPU itself, or between CPUs, have no
/// number: x86 traces them by name, arm64 has one handler for all.
SourceKind kind_of_handler(std::string_view name) {
  constexpr std::array<std::string_view, 11> kOfKernel = {
      "IPI",          "call_function",  "call_function_single", "deferred_error",
      "error_apic",   "irq_work",       "reschedule",           "spurious_apic",
      "thermal_apic", "threshold_apic", "x86_platform_ipi"};
  if (name == "local_timer" || name == "arch_timer") return SourceKind::kTimer;
  const bool is_of_kernel = std::find(kOfKernel.begin(), kOfKernel.end(), name) != kOfKernel.end();
  return is_of_kernel ? SourceKind::kKernelInterrupt : SourceKind::kInterrupt;
}

SourceKind kind_of_thread(std::string_view name) {
  if (name.starts_with("kworker/")) return SourceKind::kWorkqueue;
  const bool is_per_cpu = name.starts_with("ksoftirqd/") || name.starts_with("migration/") ||
                          name.starts_with("rcu") || name.starts_with("irq/");
  return is_per_cpu ? SourceKind::kKernelThread : SourceKind::kTask;
}

std::optional<TracedInterruption> parse_event(SourceKind kind, std::string_view head,
                                              std::string_view fields) {
  TracedInterruption traced{kind, {}, "NMI"};
  const auto cpu = traced_cpu(head);
  const auto lasted = cut_duration(fields);
  const auto at = cut_start(fields);
  if (!cpu || !lasted || !at) return std::nullopt;
  traced.cpu = *cpu;
  traced.at = *at;
  traced.lasted = *lasted;
  if (kind == SourceKind::kKernelInterrupt) return traced;
  if (!set_name(fields, traced)) return std::nullopt;
  if (kind == SourceKind::kTask) traced.kind = kind_of_thread(traced.name);
  if (kind == SourceKind::kInterrupt) traced.kind = kind_of_handler(traced.name);
  return traced;
}

/// The sum of a trace for one source on one CPU.
struct TracedSum {
  std::int64_t count = 0;
  std::chrono::nanoseconds lasted{0};
};
/// CPU, kind, name and detail of a NoiseSource.
using TracedSource = std::tuple<CpuId, SourceKind, std::string, std::string>;

/// Returns the source of an interruption. That of a device has its number as name, as in a
/// measurement.
TracedSource source_of(const TracedInterruption& traced) {
  if (traced.kind != SourceKind::kInterrupt) return {traced.cpu, traced.kind, traced.name, ""};
  return {traced.cpu, traced.kind, std::to_string(traced.id), traced.name};
}

/// A trace, summed.
struct TraceSums {
  std::map<TracedSource, TracedSum> sources;
  std::size_t events = 0;  ///< of all CPUs and threads
  std::optional<std::chrono::nanoseconds> first;
  std::chrono::nanoseconds last{0};

  void see(const TracedInterruption& traced) {
    ++events;
    first = std::min(first.value_or(traced.at), traced.at);
    last = std::max(last, traced.at + traced.lasted);
  }
  void add(const TracedInterruption& traced) {
    TracedSum& sum = sources[source_of(traced)];
    ++sum.count;
    sum.lasted += traced.lasted;
  }
};

TraceSums sums_of(std::string_view trace, const std::set<std::int64_t>& own, const CpuSet& cpus) {
  TraceSums sums;
  while (!trace.empty()) {
    const std::string_view line = trace.substr(0, trace.find('\n'));
    trace.remove_prefix(std::min(trace.size(), line.size() + 1));
    const auto traced = parse_osnoise(line);
    if (!traced) continue;
    sums.see(*traced);
    if (!cpus.contains(traced->cpu)) continue;
    if (traced->kind == SourceKind::kTask && own.contains(traced->id)) continue;
    sums.add(*traced);
  }
  return sums;
}

/// Adds a source to the noise of its CPU. Softirqs run at the end of an interrupt: see measure().
void add_sum(const TracedSource& source, const TracedSum& sum, double seconds, CpuNoise& noise) {
  const auto& [cpu, kind, name, detail] = source;
  const double rate = static_cast<double>(sum.count) / seconds;
  const double lost = std::chrono::duration<double, std::micro>(sum.lasted).count() / seconds;
  noise.sources.push_back({kind, name, detail, rate, lost});
  if (kind != SourceKind::kSoftirq) noise.per_second += rate;
  noise.lost_us += lost;
}

}  // namespace

std::optional<TracedInterruption> parse_osnoise(std::string_view line) {
  line = trimmed(line);
  for (const auto& [name, kind] : kTracedEvents) {
    const std::size_t at = line.find(name);
    if (at == std::string_view::npos) continue;
    return parse_event(kind, line.substr(0, at), line.substr(at + name.size()));
  }
  return std::nullopt;
}

Result<NoiseReport> traced_noise(std::string_view trace, const std::set<std::int64_t>& own,
                                 const NoiseScope& scope) {
  const TraceSums sums = sums_of(trace, own, scope.cpus);
  NoiseReport report{sums.last - sums.first.value_or(sums.last)};
  if (sums.events < 2 || report.duration.count() <= 0) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the trace has {} osnoise event{}: expected the trace file of tracefs "
                            "with at least two at different times, such as '... irq_noise: "
                            "local_timer:236 start 100.000000000 duration 1500 ns'",
                            sums.events, sums.events == 1 ? "" : "s"));
  }
  const double seconds = std::chrono::duration<double>(report.duration).count();
  for (const CpuId cpu : scope.cpus) {
    CpuNoise noise{cpu};
    for (const auto& [source, sum] : sums.sources) {
      if (std::get<CpuId>(source) == cpu) add_sum(source, sum, seconds, noise);
    }
    finish(scope, noise);
    report.cpus.push_back(std::move(noise));
  }
  return report;
}

}  // namespace pinfold::noise
