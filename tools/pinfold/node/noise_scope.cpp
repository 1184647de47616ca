#include "node/noise_scope.hpp"

#include <fmt/format.h>

#include "stop_signals.hpp"

namespace pinfold::tools {

noise::NoiseScope exclusive_scope(const agent::NodeAgent& agent, const agent::NodeStatus& status) {
  noise::NoiseScope scope;
  for (const agent::PodStatus& pod : status.pods) {
    for (const agent::ContainerStatus& container : pod.containers) {
      const Isolation isolation = container.desired.isolation;
      if (isolation == Isolation::kHost) continue;
      const bool is_of_pod = isolation == Isolation::kPod;
      for (const CpuId cpu : container.desired.cpus) {
        scope.cpus.insert(cpu);
        scope.owners[cpu] = is_of_pod ? pod.cgroup_path : container.cgroup_path;
      }
    }
  }
  scope.housekeeping = agent.node().machine().all_cpus() - scope.cpus - agent.offline();
  return scope;
}

Result<noise::NoiseReport> measure_noise(const std::string& root, const noise::NoiseScope& scope,
                                         std::chrono::milliseconds duration) {
  StopSignals stop;
  PINFOLD_LET(const auto before, noise::read_sample(root, scope.cpus));
  (void)stop.wait(duration);
  PINFOLD_LET(const auto after, noise::read_sample(root, scope.cpus));
  return noise::measure(before, after, scope);
}

std::string summary_of(const noise::CpuNoise& noise) {
  return fmt::format("{:.0f} interruptions/s, {:.0f} us/s lost, quiet score {}", noise.per_second,
                     noise.lost_us, noise.score);
}

std::vector<std::string> interrupt_facts(const InterruptReport& report) {
  std::vector<std::string> facts;
  for (const InterruptedCpu& one : report.cpus) {
    facts.push_back(
        fmt::format("{}: {:.0f}/s, {:.0f} us/s lost", one.cpu.value, one.per_second, one.lost_us));
  }
  return facts;
}

std::optional<InterruptReport> InterruptMeter::read(const noise::NoiseScope& scope) {
  if (root_.empty()) return std::nullopt;
  auto now = noise::read_counters(root_);
  if (!now) return std::nullopt;
  now->runs.clear();  // without threads the owner's own would count
  std::optional<InterruptReport> report;
  if (last_) {
    auto noise = noise::measure(*last_, *now, scope);
    report.emplace().duration = noise.duration;
    for (noise::CpuNoise& one : noise.cpus) {
      report->cpus.push_back({one.cpu, one.per_second, one.lost_us, std::move(one.sources)});
    }
  }
  last_ = *std::move(now);
  return report;
}

}  // namespace pinfold::tools
