#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/types/cpuset.hpp"

/// CPUs in the parameters with which the kernel was booted, as the kernel itself reads them.
namespace pinfold::audit {

/// Returns the values of a parameter of the kernel; words after "--" are for init.
[[nodiscard]] std::vector<std::string> boot_values(std::string_view command_line,
                                                   std::string_view name);

/// Parses "0-3,8", "8-N", "all", "0-15:2/4". `last`: the last possible CPU, which is N. nullopt:
/// the kernel refuses the list, for example because of a CPU above `last`. Source: Linux 5.12
/// lib/bitmap.c bitmap_parselist.
[[nodiscard]] std::optional<CpuSet> parse_boot_cpus(std::string_view list, CpuId last);

/// The meaning of isolcpus=, for flags that concern containers; nullopt: no value has the flag.
struct Isolcpus {
  bool is_accepted = false;                ///< the kernel accepts one of the values
  std::optional<CpuSet> domain = {};       ///< no load balancing; also without any flag
  std::optional<CpuSet> managed_irq = {};  ///< no interrupts that drivers manage

  friend bool operator==(const Isolcpus&, const Isolcpus&) = default;
};
/// Parses values such as "managed_irq,domain,4-N". If several have the same flag, the first counts:
/// the kernel refuses other CPUs for it. `last`: as above. Source: Linux 5.18
/// kernel/sched/isolation.c housekeeping_isolcpus_setup; 5.8 and later skip unknown flags.
[[nodiscard]] Isolcpus parse_isolcpus(const std::vector<std::string>& values, CpuId last);

}  // namespace pinfold::audit
