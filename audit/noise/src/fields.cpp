#include "pinfold/noise/fields.hpp"

#include <array>

namespace pinfold::noise {

std::span<const SourceKind> enumerators(SourceKind /*type*/) {
  static constexpr std::array kAll = {
      SourceKind::kInterrupt, SourceKind::kTimer,     SourceKind::kKernelInterrupt,
      SourceKind::kSoftirq,   SourceKind::kWorkqueue, SourceKind::kKernelThread,
      SourceKind::kExec,      SourceKind::kTask,      SourceKind::kHypervisor};
  return kAll;
}

void describe(fields::Fields& fields, NoiseSource& source) {
  fields.type("NoiseSource", "A source of noise on one CPU.");
  fields.member("kind", source.kind, "A word of docs/noise.md.");
  fields.member("name", source.name,
                "Interrupt number, row of /proc/interrupts, softirq, or the thread's command.");
  fields.member("detail", source.detail, "An interrupt's device, a thread's cgroup; \"\": none.");
  fields.member("perSecond", source.per_second, "Interruptions; of a softirq: how often it ran.");
  fields.member("lostMicrosecondsPerSecond", source.lost_us, "Null: the kernel does not count it.");
  fields.member("remedy", source.remedy, "What removes it.");
}

void describe(fields::Fields& fields, CpuNoise& noise) {
  fields.type("CpuNoise", "What interrupts a CPU.");
  fields.member("cpu", noise.cpu, "");
  fields.member("interruptionsPerSecond", noise.per_second, "");
  fields.member("lostMicrosecondsPerSecond", noise.lost_us, "As far as the kernel counts them.");
  fields.member("quietScore", fields::between(noise.score, 0, 100), "See docs/noise.md.");
  fields.member("sources", noise.sources, "The most frequent first.");
}

void describe(fields::Fields& fields, NoiseReport& report) {
  fields.type("Noise", "What interrupts CPUs.");
  fields.member("durationSeconds", report.duration, "How long the CPUs were measured.");
  fields.member("cpus", report.cpus, "Ascending.");
}

}  // namespace pinfold::noise
