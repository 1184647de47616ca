#include "pinfold/agent/durations.hpp"

#include <algorithm>

namespace pinfold::agent {

void Durations::observe(std::chrono::duration<double> duration) {
  const auto bucket = std::lower_bound(kBounds.begin(), kBounds.end(), duration.count());
  ++buckets[static_cast<std::size_t>(bucket - kBounds.begin())];
  sum += duration.count();
}

}  // namespace pinfold::agent
