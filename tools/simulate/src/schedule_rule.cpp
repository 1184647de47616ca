#include "pinfold/simulate/schedule_rule.hpp"

namespace pinfold::simulate {

std::string_view to_string(ScheduleRule rule) {
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
