#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/machine/description.hpp"
#include "pinfold/types/cpuset.hpp"
#include "pinfold/types/ids.hpp"
#include "pinfold/types/numa_mask.hpp"

namespace pinfold {

/// A node's hardware: an immutable value with precomputed tables. CPUs, cores, sockets, NUMA nodes
/// and caches are in ascending order of their ids.
class Machine {
 public:
  // Not inline: each program that holds a machine would compile them.
  Machine(const Machine&);
  Machine(Machine&&) noexcept;
  Machine& operator=(const Machine&);
  Machine& operator=(Machine&&) noexcept;
  ~Machine();

  /// Accepts CPUs and NUMA nodes in any order; distances are by position in the given list.
  /// Errors: kInvalidArgument for duplicate CPU or node ids, a CPU on an unknown node, more than
  /// 64 NUMA nodes, a core that spans sockets, no CPUs, rows of distances of different lengths.
  /// Adds a warning if NUMA nodes and sockets cross.
  [[nodiscard]] static Result<Machine> make(MachineDescription description);

  /// Reads the `node` object of the conformance format and of `pinfold topology --output json`, or
  /// the MachineInfo of the kubelet or cadvisor, which has no name.
  /// Errors: kInvalidArgument, with the field.
  [[nodiscard]] static Result<Machine> from_json(const nlohmann::json& node);
  [[nodiscard]] nlohmann::json to_json() const;

  [[nodiscard]] const MachineDescription& description() const { return description_; }
  [[nodiscard]] const std::string& name() const { return description_.name; }
  [[nodiscard]] const std::vector<Cpu>& cpus() const { return description_.cpus; }
  [[nodiscard]] const std::vector<NumaNode>& numa_nodes() const { return description_.numa_nodes; }
  [[nodiscard]] const std::vector<Device>& devices() const { return description_.devices; }

  [[nodiscard]] const CpuSet& all_cpus() const { return all_cpus_; }
  /// Returns nullptr for an id that is not online here.
  [[nodiscard]] const Cpu* find(CpuId cpu) const;

  /// Returns the capacity as the kubelet counts it: memory_capacity, else the bytes of all NUMA
  /// nodes.
  [[nodiscard]] std::uint64_t memory() const;

  [[nodiscard]] int numa_count() const { return static_cast<int>(numa_nodes().size()); }
  [[nodiscard]] NumaMask all_numa() const { return NumaMask::all(numa_count()); }
  /// Returns the position of a NUMA node; nullopt for an unknown id.
  [[nodiscard]] std::optional<int> numa_position(NumaId id) const;
  [[nodiscard]] NumaId numa_id(int position) const {
    return numa_nodes()[static_cast<std::size_t>(position)].id;
  }
  /// Returns the OS ids of a mask in ascending order.
  [[nodiscard]] std::vector<std::int32_t> numa_ids(NumaMask mask) const;
  /// Formats the OS ids of a mask as the kubelet writes cpuset.mems: "0,1,3", without ranges.
  [[nodiscard]] std::string numa_list(NumaMask mask) const;

  /// The CPUs of one core, socket, cache or NUMA node.
  struct Group {
    std::int32_t id = -1;  ///< core, socket, NUMA node or cache id
    CpuSet cpus;
    std::int32_t socket = -1;  ///< socket id of its lowest CPU
    int numa = -1;             ///< NUMA position of its lowest CPU
  };
  [[nodiscard]] const std::vector<Group>& cores() const { return cores_; }
  [[nodiscard]] const std::vector<Group>& sockets() const { return sockets_; }
  [[nodiscard]] const std::vector<Group>& caches() const { return caches_; }
  /// By NUMA position; NUMA nodes without CPUs have an empty set.
  [[nodiscard]] const std::vector<Group>& numa_groups() const { return numa_groups_; }
  /// Number of NUMA nodes with CPUs: NumNUMANodes in the kubelet's CPU topology.
  [[nodiscard]] int numa_with_cpus() const { return numa_with_cpus_; }

  [[nodiscard]] const CpuSet& cpus_of_numa(int position) const {
    return numa_groups_[static_cast<std::size_t>(position)].cpus;
  }
  [[nodiscard]] CpuSet cpus_of_numa(NumaMask mask) const;
  /// The groups of a CPU, as indices into cores(), sockets() and caches().
  struct CpuGroups {
    std::int32_t core = -1;
    std::int32_t socket = -1;
    std::int32_t cache = -1;
    std::int32_t numa = -1;  ///< NUMA position
  };
  /// Domain: a CPU of this machine.
  [[nodiscard]] const CpuGroups& groups_of(CpuId cpu) const {
    return groups_of_cpu_[static_cast<std::size_t>(cpu.value)];
  }

  /// CPUs per core, socket and cache as the kubelet computes them: integer averages over the
  /// machine.
  [[nodiscard]] int cpus_per_core() const { return average(cores_.size()); }
  [[nodiscard]] int cpus_per_socket() const { return average(sockets_.size()); }
  [[nodiscard]] int cpus_per_cache() const { return average(caches_.size()); }

  friend bool operator==(const Machine& a, const Machine& b) {
    return a.description_ == b.description_;
  }

 private:
  Machine();
  [[nodiscard]] int average(std::size_t groups) const {
    return groups == 0 ? 0 : static_cast<int>(cpus().size() / groups);
  }
  void index();

  MachineDescription description_;
  CpuSet all_cpus_;
  std::vector<Group> cores_;
  std::vector<Group> sockets_;
  std::vector<Group> caches_;
  std::vector<Group> numa_groups_;
  std::vector<CpuGroups> groups_of_cpu_;  // by CPU id
  std::vector<std::int32_t> cpu_index_;   // by CPU id: index into cpus(), or -1
  int numa_with_cpus_ = 0;
};

/// Parses a machine from JSON or YAML text that Machine::from_json reads.
/// Errors: kInvalidArgument.
[[nodiscard]] Result<Machine> parse_machine(std::string_view text);

}  // namespace pinfold
