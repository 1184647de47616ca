#pragma once

#include <string_view>
#include <vector>

#include "pinfold/api/config.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/machine/machine.hpp"
#include "pinfold/place/cpu_policy_options.hpp"

namespace pinfold {

/// Returns the names of all options.
[[nodiscard]] std::vector<std::string_view> cpu_policy_option_names();

namespace cpu {

/// Reads cpuManagerPolicyOptions for the static policy and checks them against the feature gates,
/// each other, the topology manager's policy and the machine.
/// Errors: kInvalidArgument with the kubelet's text; of several errors, the first one by option
/// name.
[[nodiscard]] Result<CpuPolicyOptions> read_policy_options(const Machine& machine,
                                                           const Config& config);

}  // namespace cpu
}  // namespace pinfold
