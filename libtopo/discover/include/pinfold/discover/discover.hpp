#pragma once

#include <string>

#include "pinfold/base/result.hpp"
#include "pinfold/discover/source.hpp"
#include "pinfold/machine/machine.hpp"

namespace pinfold {

/// Reads a machine. Leaves out devices unless a MachineText lists them; see pci.hpp. A MachineText
/// has its own name or none, the other sources get `name`.
/// A SysTree is read without hwloc, because the kubelet also reads the kernel's files, and hwloc
/// drops GPU memory and contradictory NUMA nodes. Offline CPUs, CPUs without topology files and
/// offline NUMA nodes are left out; a machine without NUMA has one NUMA node 0. NUMA nodes without
/// a meminfo have 0 bytes, with a warning. The capacity is MemTotal of /proc/meminfo.
/// XML and synthetic machines are as hwloc describes them: a CPU that several memory nodes claim
/// belongs to the lowest of them, and without packages all CPUs are on socket 0. XML has the whole
/// machine, even what its exporter was not permitted to use; NUMA nodes without memory have 0
/// bytes. Both cases cause a warning.
/// Errors: kNotFound if the input describes no machine; kInvalidArgument for a malformed file, with
/// its name, its value and what was expected, and for the output of other programs (lscpu, numactl,
/// kubectl, libvirt, tar) with what to pass instead; kUnsupported for a newer XML format, and for
/// XML and synthetic machines if hwloc is not installed; kIo. Thread-safety: safe; the live machine
/// may change between two calls.
[[nodiscard]] Result<Machine> discover(const Source& source, std::string name);

/// Reads the machine of `source` again, but not its CPUs: their sockets, cores, caches and kinds
/// are those of `known`, which discover() has returned since the machine booted and since CPUs last
/// went offline or came online. A large machine has thousands of files about them. Errors: as for
/// discover.
[[nodiscard]] Result<Machine> discover_again(const SysTree& source, const Machine& known);

/// Reads the same machine through hwloc, for comparisons. For a SysTree other than "/", the
/// environment variable HWLOC_FSROOT must name its root. Errors: kUnsupported if hwloc reads a
/// machine other than `source`, or is not installed; else as for discover.
[[nodiscard]] Result<Machine> discover_with_hwloc(const SysTree& source, std::string name);

}  // namespace pinfold
