#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"
#include "pinfold/noise/noise.hpp"
#include "pinfold/noise/source.hpp"
#include "pinfold/types/ids.hpp"

namespace pinfold::noise {

/// An interruption that the kernel has traced, excluding those that interrupted it.
struct TracedInterruption {
  SourceKind kind = SourceKind::kInterrupt;
  CpuId cpu;
  std::string name;                ///< of the handler, softirq or thread; "NMI"
  std::int64_t id = 0;             ///< interrupt, softirq or thread id; 0 of an NMI
  std::chrono::nanoseconds at{0};  ///< when it began, by the kernel's clock
  std::chrono::nanoseconds lasted{0};

  friend bool operator==(const TracedInterruption&, const TracedInterruption&) = default;
};

/// Parses a line of tracefs' trace file: an event irq_noise, softirq_noise, thread_noise or
/// nmi_noise; nullopt for any other line. An interrupt is a kTimer or kKernelInterrupt by the name
/// of its handler, a thread is a kWorkqueue, kKernelThread or kTask by its name only. Source:
/// include/trace/events/osnoise.h of Linux 5.14 to 7.1, arch/x86/kernel/trace.c.
[[nodiscard]] std::optional<TracedInterruption> parse_osnoise(std::string_view line);

/// Sums the events of a trace file for the CPUs of a scope, from the first to the last event of any
/// CPU. `own`: threads that are not noise. Errors: kInvalidArgument if the trace has fewer than two
/// events, or all of them are at one moment: silence cannot be told from a trace of something else.
[[nodiscard]] Result<NoiseReport> traced_noise(std::string_view trace,
                                               const std::set<std::int64_t>& own,
                                               const NoiseScope& scope);

}  // namespace pinfold::noise
