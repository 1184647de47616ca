#include "pinfold/podresources/rate_limit.hpp"

#include <algorithm>

namespace pinfold::podresources {

bool RateLimit::take(Clock::time_point now) {
  const auto start = std::max(full_at_, now);
  if (start - now > interval_ * (burst_ - 1)) return false;
  full_at_ = start + interval_;
  return true;
}

}  // namespace pinfold::podresources
