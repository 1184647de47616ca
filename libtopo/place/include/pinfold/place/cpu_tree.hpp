#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "pinfold/place/arena.hpp"
#include "pinfold/place/cpus.hpp"

namespace pinfold::place {

/// The kinds of groups that CPUs are taken from.
enum class Level : std::uint8_t { kNuma, kSocket, kCache, kCore };
inline constexpr std::size_t kLevels = 4;
[[nodiscard]] std::string_view to_string(Level level);

/// Where a CPU is. NUMA nodes are given by position; the other ids are the caller's.
struct CpuPlace {
  std::int32_t cpu = 0;
  std::int32_t core = 0;
  std::int32_t socket = 0;
  std::int32_t numa = 0;
  std::int32_t cache = 0;
};

/// The groups of a machine's CPUs, how they are nested, and the order in which the static policy
/// tries them: NUMA nodes above sockets if there are at least as many sockets as NUMA nodes, else
/// sockets above NUMA nodes; below them caches or cores. Built once per machine.
class CpuTree {
 public:
  /// Domain: at least one CPU, in ascending order; positions below `numa_count`.
  CpuTree(std::span<const CpuPlace> cpus, int numa_count);
  CpuTree(const CpuTree&) = delete;
  CpuTree& operator=(const CpuTree&) = delete;

  /// Returns the number of words of a set of this machine's CPUs.
  [[nodiscard]] std::size_t words() const { return all_.size(); }
  [[nodiscard]] CpusView all() const { return all_; }
  [[nodiscard]] int cpu_count() const { return cpu_count_; }
  [[nodiscard]] int numa_count() const { return static_cast<int>(groups(Level::kNuma).size()); }
  [[nodiscard]] int numa_with_cpus() const { return static_cast<int>(sizes_of_numa_.size()); }
  /// Returns the number of CPUs of each NUMA node that has any, in descending order.
  [[nodiscard]] std::span<const std::int64_t> sizes_of_numa() const { return sizes_of_numa_; }

  /// Returns groups in ascending order of their ids; NUMA nodes by position, also those without
  /// CPUs.
  [[nodiscard]] std::span<const CpuGroup> groups(Level level) const {
    return groups_[static_cast<std::size_t>(level)];
  }
  [[nodiscard]] const CpuGroup& group(Level level, std::int32_t index) const {
    return groups(level)[static_cast<std::size_t>(index)];
  }
  /// Returns the index of a CPU's group. Domain: a CPU of this machine.
  [[nodiscard]] std::int32_t group_of(Level level, std::int32_t cpu) const {
    return of_cpu_[static_cast<std::size_t>(cpu)][static_cast<std::size_t>(level)];
  }
  /// Returns the CPUs per core, socket or cache as the kubelet computes them: an integer average.
  [[nodiscard]] int average(Level level) const {
    return cpu_count_ / static_cast<int>(groups(level).size());
  }
  /// Returns the fewest CPUs of a group that has any.
  [[nodiscard]] int smallest(Level level) const {
    return smallest_[static_cast<std::size_t>(level)];
  }
  /// Return the upper two levels: (NUMA, socket) or (socket, NUMA).
  [[nodiscard]] Level first() const { return first_; }
  [[nodiscard]] Level second() const { return second_; }

  /// Returns the groups of `level` with CPUs in `free`, ordered by the group of the level above,
  /// then by ascending number of free CPUs, then by id. A group that spans two groups of the level
  /// above is listed under both. Within each group of the level above, those with CPUs of `kept`
  /// come first; without words, there are none.
  [[nodiscard]] std::span<const std::int32_t> sorted(Level level, CpusView free, Arena& arena,
                                                     CpusView kept = {}) const;
  /// Returns the cores that share a CPU with a group of the second level, by id.
  [[nodiscard]] std::span<const std::int32_t> cores_in_second(std::int32_t index) const {
    return cores_in_second_[static_cast<std::size_t>(index)];
  }
  /// Returns the most that sorted() can list.
  [[nodiscard]] std::size_t longest_list() const { return longest_list_; }

 private:
  /// For each group of the outer level, the indices of the inner groups that share a CPU with it.
  using Nesting = std::vector<std::vector<std::int32_t>>;

  void make_groups(Level level, std::span<const CpuPlace> cpus, std::int32_t CpuPlace::*id_of);
  [[nodiscard]] Nesting nest(Level outer, Level inner) const;
  [[nodiscard]] std::size_t longest(const std::vector<const Nesting*>& path) const;

  int cpu_count_ = 0;
  std::vector<Word> all_;
  std::array<std::vector<CpuGroup>, kLevels> groups_;
  std::array<std::vector<Word>, kLevels> rest_of_groups_;
  std::vector<std::array<std::int32_t, kLevels>> of_cpu_;
  std::array<std::int32_t, kLevels> smallest_{};
  std::vector<std::int64_t> sizes_of_numa_;
  Level first_ = Level::kNuma;
  Level second_ = Level::kSocket;
  std::vector<std::int32_t> all_first_;
  Nesting second_in_first_;
  Nesting cores_in_second_;
  Nesting caches_in_numa_;
  std::size_t longest_list_ = 0;
};

}  // namespace pinfold::place
