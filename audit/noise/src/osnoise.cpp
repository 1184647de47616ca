#include "pinfold/noise/osnoise.hpp"

#include <array>
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
  const auto lasted = audit::parse_number(number);
  if (!lasted || *lasted < 0) return std::nullopt;
  fields = fields.substr(0, begin);
  return std::chrono::nanoseconds(*lasted);
}

/// Parses "local_timer:236 start 100.5".
bool set_name(std::string_view fields, TracedInterruption& traced) {
  const std::string_view named = fields.substr(0, fields.rfind(" start "));
  const std::size_t colon = named.rfind(':');
  if (named.size() == fields.size() || colon == std::string_view::npos) return false;
  const auto id = audit::parse_number(named.substr(colon + 1));
  traced.name = trimmed(named.substr(0, colon));
  traced.id = id.value_or(0);
  return id.has_value();
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
  if (!cpu || !lasted) return std::nullopt;
  traced.cpu = *cpu;
  traced.lasted = *lasted;
  if (kind == SourceKind::kKernelInterrupt) return traced;
  if (!set_name(fields, traced)) return std::nullopt;
  if (kind == SourceKind::kTask) traced.kind = kind_of_thread(traced.name);
  return traced;
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

}  // namespace pinfold::noise
