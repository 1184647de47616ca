#include "pinfold/agent/watch.hpp"

#include <algorithm>

namespace pinfold::agent {

bool watch(const std::function<bool()>& round,
           const std::function<bool(std::chrono::milliseconds)>& wait, const WatchTimes& times) {
  auto pause = times.interval;
  while (true) {
    const bool ok = round();
    pause = ok ? times.interval : std::min(pause * 2, std::max(times.longest, times.interval));
    if (!wait(pause)) return ok;
  }
}

}  // namespace pinfold::agent
