#pragma once

#include <string_view>

#include "pinfold/base/result.hpp"

namespace pinfold::quiet {

/// How quiet the exclusive CPUs of a container are. Each level includes the ones before it.
enum class QuietLevel {
  kOff,         ///< "off"
  kInterrupts,  ///< "interrupts": no interrupts of devices, and no packets of network queues
  kSystem,      ///< "system": no workqueues, system services or movable threads of the kernel
  kIsolated,    ///< "isolated": also a cpuset partition
};
[[nodiscard]] std::string_view to_string(QuietLevel level);
/// Parses a level. Errors: kInvalidArgument.
[[nodiscard]] Result<QuietLevel> parse_quiet_level(std::string_view text);

}  // namespace pinfold::quiet
