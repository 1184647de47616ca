#pragma once

#include "pinfold/api/topology_policy.hpp"

namespace pinfold::test {

inline constexpr auto kBestEffort = TopologyPolicy::kBestEffort;
inline constexpr auto kRestricted = TopologyPolicy::kRestricted;
inline constexpr auto kSingle = TopologyPolicy::kSingleNumaNode;

}  // namespace pinfold::test
