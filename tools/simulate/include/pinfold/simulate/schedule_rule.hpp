#pragma once

#include <string_view>

namespace pinfold::simulate {

/// What the scheduler checks before it binds a pod, besides the sums.
enum class ScheduleRule {
  kSums,       ///< nothing
  kPublished,  ///< the NRT objects as they are published
  kExtender,   ///< pinfold-extender
};
[[nodiscard]] inline std::string_view to_string(ScheduleRule rule) {
  switch (rule) {
    case ScheduleRule::kSums:
      return "sums";
    case ScheduleRule::kPublished:
      return "published";
    case ScheduleRule::kExtender:
      break;
  }
  return "extender";
}

}  // namespace pinfold::simulate
