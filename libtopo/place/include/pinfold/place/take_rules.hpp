#pragma once

#include <cstdint>
#include <tl/expected.hpp>
#include <vector>

#include "pinfold/api/profile.hpp"
#include "pinfold/place/arena.hpp"
#include "pinfold/place/cpu_tree.hpp"

namespace pinfold::place {

/// The rules for taking CPUs, from the policy options and quirks.
struct TakeRules {
  const CpuTree* tree = nullptr;
  bool across_numa = false;      ///< distribute-cpus-across-numa
  int numa_group_size = 1;       ///< CPUs that stay together when spread over NUMA nodes
  bool across_cores = false;     ///< distribute-cpus-across-cores
  bool by_uncore_cache = false;  ///< prefer-align-cpus-by-uncorecache
  bool align_by_socket = false;  ///< align-by-socket
  int affinity_nodes = 0;        ///< number of NUMA nodes in the affinity; 0: none
  Quirks quirks;
};

/// A step in which CPUs were taken, for explanations.
struct TakeStep {
  enum class Kind : std::uint8_t { kWhole, kWholeCores, kPartOfCache, kSingle, kFromNuma };
  Kind kind = Kind::kSingle;
  Level level = Level::kCore;  ///< kWhole: of the group
  std::int32_t id = 0;         ///< of the group; of a NUMA node its position
  std::vector<Word> cpus;
};
using TakeSteps = std::vector<TakeStep>;

/// Why no CPUs were taken. docs/kubelet-compat.md has the kubelet's texts; see words.hpp.
struct CpuFailure {
  enum class Kind : std::uint8_t {
    kNotEnough,    ///< fewer CPUs are available than requested
    kFailed,       ///< no order of taking gives as many
    kAccounting,   ///< `available` CPUs of a distribution remain untaken
    kOddThreads,   ///< full-pcpus-only: not a multiple of `per_core`
    kTooFewCores,  ///< full-pcpus-only: fewer CPUs of whole free cores
  };
  Kind kind = Kind::kFailed;
  int requested = 0;
  int available = 0;
  int per_core = 0;
};

/// The CPUs that were taken, in the arena, or why there are none.
using Taken = tl::expected<Cpus, CpuFailure>;

}  // namespace pinfold::place
