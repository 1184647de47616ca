#pragma once

#include <array>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <vector>

#include "pinfold/machine/machine.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold::cpu {

/// The kinds of groups in which CPUs are taken.
enum class Level : std::uint8_t { kNuma, kSocket, kCache, kCore };

/// Indices into the groups of one level. Allocates nothing up to the cores of a 512-CPU machine.
using GroupList = boost::container::small_vector<std::int32_t, 256>;

/// How the groups of a machine are nested, and the order in which the static policy tries them:
/// NUMA nodes above sockets if there are at least as many sockets as NUMA nodes, else sockets above
/// NUMA nodes; below them caches or cores. Built once per machine.
class CpuHierarchy {
 public:
  /// Borrows the machine, which must outlive it.
  explicit CpuHierarchy(const Machine& machine);

  [[nodiscard]] const Machine& machine() const { return *machine_; }
  [[nodiscard]] const std::vector<Machine::Group>& groups(Level level) const;
  /// The upper two levels: (NUMA, socket) or (socket, NUMA).
  [[nodiscard]] Level first() const { return first_; }
  [[nodiscard]] Level second() const { return second_; }

  /// Returns the groups of `level` with CPUs in `free`, ordered by the group of the level above,
  /// then by ascending number of free CPUs, then by id. A group that spans two groups of the level
  /// above is listed under both.
  [[nodiscard]] GroupList sorted(Level level, const CpuSet& free) const;

 private:
  /// For each group of the outer level, the indices of the inner groups that share a CPU with it.
  using Nesting = std::vector<std::vector<std::int32_t>>;

  [[nodiscard]] Nesting nest(Level outer, Level inner) const;
  [[nodiscard]] std::int32_t index_of(Level level, const Machine::CpuGroups& of_cpu) const;
  void append_sorted(GroupList& list, Level level, const std::vector<std::int32_t>& candidates,
                     const CpuSet& parent, const CpuSet& free) const;

  const Machine* machine_;
  Level first_;
  Level second_;
  std::vector<std::int32_t> all_first_;
  Nesting second_in_first_;
  Nesting cores_in_second_;
  Nesting caches_in_numa_;
};

}  // namespace pinfold::cpu
