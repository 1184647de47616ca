#pragma once

#include "pinfold/api/config.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/cpu/policy_options.hpp"
#include "pinfold/machine/machine.hpp"

namespace pinfold::cpu {

/// Reads cpuManagerPolicyOptions for the static policy and checks them against the feature gates,
/// each other, the topology manager's policy and the machine.
/// Errors: kInvalidArgument with the kubelet's text; of several errors, the first one by option
/// name.
[[nodiscard]] Result<CpuPolicyOptions> read_policy_options(const Machine& machine,
                                                           const Config& config);

}  // namespace pinfold::cpu
