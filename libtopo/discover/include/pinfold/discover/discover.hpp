#pragma once

#include <string>
#include <variant>

#include "pinfold/base/result.hpp"
#include "pinfold/machine/machine.hpp"

namespace pinfold {

/// The kernel's own files below root/sys and root/proc: "/" is the live machine, any other
/// directory a captured tree (hwloc-gather-topology makes one).
struct SysTree {
  std::string root = "/";
};

/// Where a machine is read from.
using Source = std::variant<SysTree>;

/// Reads a machine. Devices are left out: see pci.hpp.
/// The kernel's files say what the kubelet sees, so they decide; offline CPUs, CPUs without
/// topology files and offline NUMA nodes are left out; a machine without NUMA has one node 0.
/// Errors: kNotFound if nothing there describes a machine; kInvalidArgument for a file (named, with
///   its value and what was expected) that cannot be understood; kIo.
/// Thread-safety: safe; the live machine may change between two calls.
[[nodiscard]] Result<Machine> discover(const Source& source, std::string name);

}  // namespace pinfold
