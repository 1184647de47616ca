#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pinfold/agent/options.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/checkpoint/fs.hpp"
#include "pinfold/machine/machine.hpp"

namespace pinfold::capi {

/// A side file of the state directory: the CPUs of this machine as read from /sys in this boot.
inline constexpr const char* kMachineFileName = ".pinfold_machine";

/// Reads the kernel's list of online CPUs; "" if it cannot be read.
[[nodiscard]] std::string online_cpus();

/// Describes this machine. A large one has thousands of files in /sys, so the state directory keeps
/// what the first call of a boot read about its CPUs, as long as the same CPUs are online. NUMA
/// nodes, memory and huge pages are read again. `online`: of online_cpus(). Errors: those of
/// discover. `directory`: the state directory; nullptr if it is missing or others can change it.
[[nodiscard]] Result<Machine> this_machine(const agent::AgentOptions& options,
                                           const std::string& online, checkpoint::Fs* directory);

/// Opens the state directory for the kept description, and for the other files `names`.
[[nodiscard]] Result<std::unique_ptr<checkpoint::Fs>> open_directory_of_machine(
    const agent::AgentOptions& options, std::vector<std::string> names = {});

}  // namespace pinfold::capi
