#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/types/cpuset.hpp"
#include "pinfold/types/ids.hpp"

namespace pinfold {

/// One online logical CPU.
struct Cpu {
  CpuId id;
  CoreId core;      ///< lowest CPU id among the online SMT siblings: unique on the node
  SocketId socket;  ///< physical package, as the OS numbers it
  NumaId numa;      ///< OS id of its NUMA node
  CacheId l3;       ///< last-level cache; the socket's number where the machine reports no cache

  friend bool operator==(const Cpu&, const Cpu&) = default;
};

/// One NUMA node, with or without CPUs, with or without memory.
struct NumaNode {
  NumaId id;
  std::uint64_t memory = 0;                        ///< total bytes (MemTotal)
  std::map<std::string, std::uint64_t> hugepages;  ///< "hugepages-2Mi" to pre-allocated bytes
  /// Distance to each node of the machine, by position; empty if unknown.
  std::vector<std::uint32_t> distances;

  friend bool operator==(const NumaNode&, const NumaNode&) = default;
};

/// One healthy device of an extended resource.
struct Device {
  std::string resource;            ///< "example.com/gpu"
  std::string id;                  ///< unique within the resource
  std::vector<NumaId> numa_nodes;  ///< empty: no topology

  friend bool operator==(const Device&, const Device&) = default;
};

/// CPUs whose cores are of one kind, on a machine that has several.
struct CoreKind {
  std::string name;  ///< "performance", "efficiency", "capacity 446"
  CpuSet cpus;

  friend bool operator==(const CoreKind&, const CoreKind&) = default;
};

/// The data for a Machine: the `node` object of the conformance format.
struct MachineDescription {
  std::string name;
  std::vector<Cpu> cpus;
  /// False if Cpu::l3 is the socket. For pictures only: no decision depends on it, the JSON form
  /// omits it, and == ignores it.
  bool has_cache_info = true;
  std::vector<NumaNode> numa_nodes;
  std::vector<Device> devices;
  /// MemTotal of /proc/meminfo, the basis of the kubelet's allocatable memory; if unknown, the sum
  /// of the NUMA nodes. The two differ by pages that belong to no node, so == ignores it.
  std::optional<std::uint64_t> memory_capacity = std::nullopt;
  /// The kinds of cores, the fastest first; nullopt if all are alike or nothing is known. No
  /// decision depends on it, because the kubelet does not distinguish them, so == ignores it.
  std::optional<std::vector<CoreKind>> core_kinds = std::nullopt;
  /// Contradictions in the discovered data, and how they were resolved. Like has_cache_info, no
  /// part of the machine itself.
  std::vector<std::string> warnings;

  friend bool operator==(const MachineDescription& a, const MachineDescription& b) {
    return a.name == b.name && a.cpus == b.cpus && a.numa_nodes == b.numa_nodes &&
           a.devices == b.devices;
  }
};

}  // namespace pinfold
