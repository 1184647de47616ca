#pragma once

#include <string>
#include <string_view>

#include "pinfold/agent/desired.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/machine/machine.hpp"

namespace pinfold::agent {

/// The machine that the state was written on, beside it: JSON as Machine::to_json gives it.
inline constexpr std::string_view kMachineFileName = ".pinfold_machine";

/// A machine, and which of its CPUs are not there at the moment.
struct KnownMachine {
  Machine machine;
  CpuSet offline;
};

/// `observed`, unless the state was written on the same machine with more CPUs: then that one, so
/// that a CPU that is taken offline does not make the state unreadable. The same machine: every CPU
/// of `observed` is there, on the same socket and NUMA node, and so are the NUMA nodes. DEVIATION:
/// a kubelet does not start on such a node.
[[nodiscard]] KnownMachine known_machine(Machine observed, const std::string& state_dir);

/// `desired` on a machine where `offline` CPUs are missing. A container that has none of its own
/// left runs on what `pool` has left: it must run somewhere, and there it takes nobody's.
[[nodiscard]] enforce::Layout without_cpus(enforce::Layout desired, const CpuSet& offline,
                                           const CpuSet& pool);

}  // namespace pinfold::agent
