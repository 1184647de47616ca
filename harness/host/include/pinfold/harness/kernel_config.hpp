#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/harness/vm_machine.hpp"

namespace pinfold::harness {

/// A kernel's configuration: "CONFIG_NUMA" to "y", "m", "n" (explicitly not set) or a value.
using KernelConfig = std::map<std::string, std::string, std::less<>>;
/// Parses any text: lines that set nothing are skipped.
[[nodiscard]] KernelConfig parse_kernel_config(std::string_view text);

/// What a scenario's guest does in addition to booting its machine.
enum class GuestWork {
  kPlain,
  kPods,     ///< runs the product
  kRuntime,  ///< runs a container runtime
};
/// Returns the options that a guest on this machine needs and the kernel does not have, each with
/// the reason: "CONFIG_NUMA=y (2 NUMA nodes)".
[[nodiscard]] std::vector<std::string> missing_options(const KernelConfig& config,
                                                       const VmMachine& machine, GuestWork work);

}  // namespace pinfold::harness
