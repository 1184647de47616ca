#pragma once

#include <string>

#include "pinfold/harness/process.hpp"

/// How fast this host is at the moment, for time limits.
namespace pinfold::harness {

/// Returns how many times slower than the host that the limits are for a host is that takes this
/// long for the loop of host_slowness(): 1 to 10, rounded up to halves. Pure.
[[nodiscard]] double slowness_of(Milliseconds took);

/// Runs a loop, which takes a twentieth of a second on a host that is idle, and returns
/// slowness_of() the time that it has taken.
[[nodiscard]] double host_slowness();

/// Returns "limit 90 s", or "limit 135 s, 1.5 times the usual one as this host is slow now".
[[nodiscard]] std::string limit_text(Milliseconds limit, double slowness);

}  // namespace pinfold::harness
