#pragma once

#include <string>

#include "pinfold/harness/process.hpp"

/// How fast this host is at the moment, for time limits.
namespace pinfold::harness {

/// Returns how much slower a host is than the reference host of the time limits, if the loop of
/// host_slowness() takes it this long: 1 to 10, rounded up to halves. Pure.
[[nodiscard]] double slowness_of(Milliseconds took);

/// Runs a loop that takes a twentieth of a second on an idle host, and returns slowness_of() its
/// duration.
[[nodiscard]] double host_slowness();

/// Returns "limit 90 s", or "limit 135 s, 1.5 times the usual one as this host is slow now".
[[nodiscard]] std::string limit_text(Milliseconds limit, double slowness);

}  // namespace pinfold::harness
