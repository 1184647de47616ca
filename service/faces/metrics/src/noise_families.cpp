#include <string>
#include <string_view>
#include <utility>

#include "family.hpp"
#include "pinfold/metrics/families.hpp"
#include "pinfold/noise/noise.hpp"

namespace pinfold::metrics {
namespace {

using prometheus::MetricFamily;

void add_count(MetricFamily& family, CpuId cpu, std::string_view kind, double value) {
  auto& metric = family.metric.emplace_back();
  metric.label.push_back({"cpu", std::to_string(cpu.value)});
  if (!kind.empty()) metric.label.push_back({"kind", std::string(kind)});
  metric.counter.value = value;
}

MetricFamily interrupts_family(const noise::NoiseSample& counters, const CpuSet& cpus) {
  auto out = family("pinfold_noise_interrupts_total",
                    "Interrupts of each exclusive CPU since the start of the kernel.",
                    prometheus::MetricType::Counter);
  for (const CpuId cpu : cpus) {
    for (const auto& [kind, count] : noise::interrupts_by_kind(counters.interrupts, cpu)) {
      add_count(out, cpu, to_string(kind), static_cast<double>(count));
    }
  }
  return out;
}

double seconds(std::chrono::microseconds time) {
  return std::chrono::duration<double>(time).count();
}

MetricFamily lost_family(const noise::NoiseSample& counters, const CpuSet& cpus) {
  auto out = family("pinfold_noise_lost_seconds_total",
                    "Time of each exclusive CPU that interrupts, softirqs or a hypervisor took.",
                    prometheus::MetricType::Counter);
  for (const auto& [cpu, lost] : counters.lost) {
    if (!cpus.contains(cpu)) continue;
    add_count(out, cpu, to_string(noise::SourceKind::kInterrupt), seconds(lost.interrupts));
    add_count(out, cpu, to_string(noise::SourceKind::kSoftirq), seconds(lost.softirqs));
    add_count(out, cpu, to_string(noise::SourceKind::kHypervisor), seconds(lost.stolen));
  }
  return out;
}

MetricFamily runs_family(const noise::NoiseSample& counters, const CpuSet& cpus) {
  auto out = family("pinfold_noise_runs_total",
                    "How often each exclusive CPU has begun to run a thread, its owner's included.",
                    prometheus::MetricType::Counter);
  for (const auto& [cpu, runs] : counters.runs) {
    if (cpus.contains(cpu)) add_count(out, cpu, "", static_cast<double>(runs));
  }
  return out;
}

std::size_t unquiet_of(const quiet::QuietReport& report, quiet::KnobKind kind) {
  std::size_t count = 0;
  for (const auto& [knob, unquiet] : report.unquiet) count += knob.kind == kind ? 1U : 0U;
  return count;
}

}  // namespace

std::vector<MetricFamily> noise_families(const noise::NoiseSample& counters, const CpuSet& cpus) {
  std::vector<MetricFamily> families;
  if (cpus.empty()) return families;
  families.push_back(interrupts_family(counters, cpus));
  families.push_back(lost_family(counters, cpus));
  families.push_back(runs_family(counters, cpus));
  return families;
}

std::vector<MetricFamily> quiet_families(const quiet::QuietReport& report) {
  std::vector<MetricFamily> families;
  families.push_back(counter_family("pinfold_noise_rewritten_total",
                                    "Values that another program changed after Pinfold wrote them.",
                                    report.taken));
  auto unmovable =
      family("pinfold_noise_unmovable",
             "Interrupts, queues, services and kernel threads that are still on quiet CPUs.",
             prometheus::MetricType::Gauge);
  for (const quiet::KnobKind kind : enumerators(quiet::KnobKind())) {
    auto& metric = unmovable.metric.emplace_back();
    metric.label.push_back({"kind", std::string(to_string(kind))});
    metric.gauge.value = static_cast<double>(unquiet_of(report, kind));
  }
  families.push_back(std::move(unmovable));
  families.push_back(gauge_family("pinfold_noise_unread_kinds",
                                  "Kinds of interrupts, queues, services and kernel threads that "
                                  "could not be read at the last change.",
                                  static_cast<double>(report.unread.size())));
  families.push_back(counter_family("pinfold_noise_written_total",
                                    "Values written to keep interrupts, queues, services and "
                                    "kernel threads off CPUs, or to restore them.",
                                    report.written));
  return families;
}

}  // namespace pinfold::metrics
