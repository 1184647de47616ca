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

/// The text of a topology that hwloc exported ("lstopo machine.xml").
struct HwlocXml {
  std::string text;
};

/// hwloc's one-line form: "pack:2 [numa(memory=16GB)] l3:1 core:4 pu:2".
struct HwlocSynthetic {
  std::string text;
};

/// Where a machine is read from.
using Source = std::variant<SysTree, HwlocXml, HwlocSynthetic>;

/// Reads a machine. Devices are left out: see pci.hpp.
/// A SysTree is read without hwloc: the kernel's files are what the kubelet sees, and hwloc drops
/// GPU memory and contradictory nodes. Offline CPUs, CPUs without topology files and offline NUMA
/// nodes are left out; a machine without NUMA has one node 0.
/// XML and synthetic machines are as hwloc has them: a CPU that several memory nodes claim lies on
/// the lowest of them, and where hwloc knows no package there is one socket 0.
/// Errors: kNotFound if nothing there describes a machine; kInvalidArgument for a file (named, with
///   its value and what was expected) that cannot be understood; kIo.
/// Thread-safety: safe; the live machine may change between two calls.
[[nodiscard]] Result<Machine> discover(const Source& source, std::string name);

}  // namespace pinfold
