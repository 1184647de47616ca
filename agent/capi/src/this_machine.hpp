#pragma once

#include <string>

#include "pinfold/agent/options.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/machine/machine.hpp"

namespace pinfold::capi {

/// A side file of the state directory: the CPUs of this machine as read from /sys in this boot.
inline constexpr const char* kMachineFileName = ".pinfold_machine";

/// Reads the kernel's list of online CPUs; "" if it cannot be read.
[[nodiscard]] std::string online_cpus();

/// Describes this machine. A large one has thousands of files in /sys, so the state directory keeps
/// what the first call of a boot read about its CPUs, as long as the same CPUs are online. NUMA
/// nodes, memory and huge pages are read again. `online`: of online_cpus(). Errors: those of
/// discover.
[[nodiscard]] Result<Machine> this_machine(const agent::AgentOptions& options,
                                           const std::string& online);

}  // namespace pinfold::capi
