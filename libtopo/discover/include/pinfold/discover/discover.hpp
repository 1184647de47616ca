#pragma once

#include <string>
#include <variant>

#include "pinfold/base/result.hpp"
#include "pinfold/machine/machine.hpp"

namespace pinfold {

/// The kernel's files below root/sys and root/proc: "/" is the live machine, any other directory a
/// captured tree, as hwloc-gather-topology makes one.
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

/// JSON or YAML as Machine::from_json reads it: Pinfold's own, or the kubelet's MachineInfo.
struct MachineText {
  std::string text;
};

/// The input from which a machine is read.
using Source = std::variant<SysTree, HwlocXml, HwlocSynthetic, MachineText>;

/// The source that a text is, by its form: XML, hwloc's one line, else a MachineText.
[[nodiscard]] Source source_of_text(std::string text);

/// Reads a machine. Devices are left out unless a MachineText lists them: see pci.hpp. A
/// MachineText has its own name or none, the others get `name`.
/// A SysTree is read without hwloc: the kubelet reads the kernel's files, too, and hwloc drops GPU
/// memory and contradictory NUMA nodes. Offline CPUs, CPUs without topology files and offline NUMA
/// nodes are left out; a machine without NUMA has one NUMA node 0. NUMA nodes without a meminfo
/// have 0 bytes, with a warning. The capacity is MemTotal of /proc/meminfo. XML and synthetic
/// machines are as hwloc describes them: a CPU that several memory nodes claim belongs to the
/// lowest of them, and without packages all CPUs are on socket 0. XML has the whole machine, also
/// what its exporter was not allowed to use; NUMA nodes without memory have 0 bytes. Warnings say
/// both.
/// Errors: kNotFound if the input describes no machine; kInvalidArgument for a malformed file, with
///   its name, its value and what was expected; kUnsupported for a later format of XML; kIo.
/// Thread-safety: safe; the live machine may change between two calls.
[[nodiscard]] Result<Machine> discover(const Source& source, std::string name);

/// The same machine as hwloc sees it, for comparisons. For a SysTree other than "/" the environment
/// variable HWLOC_FSROOT must name its root. Errors: kUnsupported if hwloc reads another machine
/// than `source`; else as discover.
[[nodiscard]] Result<Machine> discover_with_hwloc(const SysTree& source, std::string name);

}  // namespace pinfold
