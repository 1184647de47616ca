#pragma once

#include <string>

#include "pinfold/noise/source.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold::noise {

/// Returns how to remove a source from a CPU: a setting, a command, or a kernel parameter; for a
/// source that is not known, what keeps most others away. `housekeeping`: the CPUs that may be
/// interrupted; empty: unknown.
[[nodiscard]] std::string remedy_of(const NoiseSource& source, CpuId cpu,
                                    const CpuSet& housekeeping);

}  // namespace pinfold::noise
