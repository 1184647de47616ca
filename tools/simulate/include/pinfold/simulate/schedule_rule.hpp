#pragma once

#include <string_view>

namespace pinfold::simulate {

/// What the scheduler asks before it binds a pod, besides the sums.
enum class ScheduleRule {
  kSums,       ///< nothing
  kPublished,  ///< the NRT objects as they are published
  kExtender,   ///< pinfold-extender
};
[[nodiscard]] std::string_view to_string(ScheduleRule rule);

}  // namespace pinfold::simulate
