#include "pinfold/harness/copy_machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "machine/copy_memory.hpp"
#include "machine/copy_traits.hpp"

namespace pinfold::harness {
namespace {

constexpr int kUnknownDistance = 20;

/// The CPUs of a machine by socket, last-level cache and core.
using CoreCpus = std::vector<CpuId>;
using CacheCores = std::vector<CoreCpus>;
using SocketCaches = std::vector<CacheCores>;
using Grid = std::vector<SocketCaches>;

Grid grid_of(const Machine& source) {
  std::map<std::pair<std::int32_t, CacheId>, CacheCores> caches;
  for (const Machine::Group& core : source.cores()) {
    const CacheId cache = source.find(core.cpus.first())->l3;
    caches[{core.socket, cache}].emplace_back(core.cpus.begin(), core.cpus.end());
  }
  std::map<std::int32_t, SocketCaches> sockets;
  for (auto& [place, cores] : caches) sockets[place.first].push_back(std::move(cores));
  Grid grid;
  for (auto& [id, socket] : sockets) grid.push_back(std::move(socket));
  return grid;
}

/// Returns the fewest caches, cores and threads that can hold every socket, cache and core.
VmMachine shape_of(const Grid& grid) {
  std::size_t caches = 1;
  std::size_t cores = 1;
  std::size_t threads = 1;
  for (const SocketCaches& socket : grid) {
    caches = std::max(caches, socket.size());
    for (const CacheCores& cache : socket) {
      cores = std::max(cores, cache.size());
      for (const CoreCpus& core : cache) threads = std::max(threads, core.size());
    }
  }
  VmMachine shape;
  shape.sockets = static_cast<int>(grid.size());
  shape.caches = static_cast<int>(caches);
  shape.cores = static_cast<int>(cores * caches);
  shape.threads = static_cast<int>(threads);
  return shape;
}

/// Removes cores, then threads, caches and sockets, until QEMU can make the machine.
void fit(VmMachine& shape) {
  while (!check_cpus(shape)) {
    if (shape.cores > shape.caches) {
      shape.cores -= shape.caches;
    } else if (shape.threads > 1) {
      --shape.threads;
    } else if (shape.caches > 1) {
      shape.cores = --shape.caches;
    } else {
      --shape.sockets;
    }
  }
}

/// Keeps `count` cores of a cache, taken from its NUMA nodes in turn so that none is left without.
void keep_cores(CacheCores& cores, std::size_t count, const Machine& source) {
  if (cores.size() <= count) return;
  std::map<NumaId, int> taken;
  std::vector<std::pair<int, CoreCpus>> by_turn;
  for (CoreCpus& core : cores) {
    const int turn = taken[source.find(core.front())->numa]++;
    by_turn.emplace_back(turn, std::move(core));
  }
  std::stable_sort(by_turn.begin(), by_turn.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  cores.clear();
  for (std::size_t i = 0; i < count; ++i) cores.push_back(std::move(by_turn[i].second));
  std::sort(cores.begin(), cores.end());
}

/// Returns the CPU of the source for each CPU of a machine with this shape.
std::vector<std::optional<CpuId>> place_cpus(Grid grid, const VmMachine& shape,
                                             const Machine& source) {
  const auto caches = static_cast<std::size_t>(shape.caches);
  const auto cores = static_cast<std::size_t>(shape.cores) / caches;
  const auto threads = static_cast<std::size_t>(shape.threads);
  std::vector<std::optional<CpuId>> cpus(static_cast<std::size_t>(shape.cpu_count()));
  for (std::size_t s = 0; s < static_cast<std::size_t>(shape.sockets); ++s) {
    for (std::size_t l = 0; l < std::min(caches, grid[s].size()); ++l) {
      CacheCores& cache = grid[s][l];
      keep_cores(cache, cores, source);
      for (std::size_t c = 0; c < cache.size(); ++c) {
        const std::size_t first = ((s * caches + l) * cores + c) * threads;
        const std::size_t count = std::min(threads, cache[c].size());
        std::copy_n(cache[c].begin(), count, cpus.begin() + static_cast<std::ptrdiff_t>(first));
      }
    }
  }
  return cpus;
}

/// Makes the NUMA nodes with their CPUs. Linux numbers nodes by their first CPU, and nodes without
/// CPUs last.
void place_nodes(MachineCopy& copy, const Machine& source) {
  std::vector<CpuSet> cpus(source.numa_nodes().size());
  std::vector<std::size_t> order;
  std::size_t node = 0;
  for (std::size_t i = 0; i < copy.cpus.size(); ++i) {
    // A CPU that the source does not have goes to the node of the CPU before it.
    if (copy.cpus[i]) node = static_cast<std::size_t>(source.groups_of(*copy.cpus[i]).numa);
    if (cpus[node].empty()) order.push_back(node);
    cpus[node].insert(CpuId{static_cast<std::int32_t>(i)});
  }
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    if (cpus[i].empty()) order.push_back(i);
  }
  for (const std::size_t i : order) {
    copy.nodes.push_back(source.numa_nodes()[i].id);
    copy.machine.nodes.push_back({cpus[i], 0, {}});
  }
}

void copy_distances(MachineCopy& copy, const Machine& source) {
  const auto& nodes = source.numa_nodes();
  std::set<std::pair<int, int>> changed;
  for (const NumaId from : copy.nodes) {
    std::vector<int> row;
    const auto& known =
        nodes[static_cast<std::size_t>(source.numa_position(from).value_or(0))].distances;
    for (const NumaId to : copy.nodes) {
      const auto column = static_cast<std::size_t>(source.numa_position(to).value_or(0));
      const int wanted = column < known.size() ? static_cast<int>(std::min(known[column], 1000U))
                                               : (from == to ? 10 : kUnknownDistance);
      row.push_back(from == to ? 10 : std::clamp(wanted, 11, 254));
      if (row.back() != wanted) changed.insert({wanted, row.back()});
    }
    copy.machine.distances.push_back(std::move(row));
  }
  for (const auto& [wanted, used] : changed) {
    copy.differences.push_back(
        {"distances", fmt::format("distance {}{}", wanted, wanted == 1000 ? " or more" : ""),
         fmt::format("{}, Linux accepts 10 for a node to itself, else 11 to 254", used)});
  }
  if (nodes.size() > 1 && nodes.front().distances.empty()) {
    copy.differences.push_back(
        {"distances", "unknown", fmt::format("{} between NUMA nodes", kUnknownDistance)});
  }
}

/// Formats ids as runs in list order, at most the first 16: "0-15,88-103".
template <class Id>
std::string id_list(const std::vector<std::optional<Id>>& ids) {
  std::vector<std::string> runs;
  for (std::size_t first = 0; first < ids.size();) {
    std::size_t last = first;
    while (ids[first] && last + 1 < ids.size() && ids[last + 1] &&
           ids[last + 1]->value == ids[last]->value + 1) {
      ++last;
    }
    runs.push_back(!ids[first]     ? "none"
                   : first == last ? std::to_string(ids[first]->value)
                                   : fmt::format("{}-{}", ids[first]->value, ids[last]->value));
    first = last + 1;
  }
  constexpr std::size_t kMost = 16;
  if (runs.size() <= kMost) return fmt::format("{}", fmt::join(runs, ","));
  return fmt::format("{},...", fmt::join(runs.begin(), runs.begin() + kMost, ","));
}

/// Adds a difference if the ids are not 0, 1, 2 and so on.
template <class Id>
void compare_numbers(MachineCopy& copy, const char* field, const char* what,
                     const std::vector<std::optional<Id>>& ids) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!ids[i] || ids[i]->value == static_cast<std::int32_t>(i)) continue;
    copy.differences.push_back({field, fmt::format("{} {}", what, id_list(ids)),
                                fmt::format("{} 0 to {} in this order", what, ids.size() - 1)});
    return;
  }
}

void compare_cpus(MachineCopy& copy, const Machine& source, const VmMachine& whole) {
  const VmMachine& machine = copy.machine;
  std::vector<CpuId> kept;
  for (std::size_t i = 0; i < copy.cpus.size(); ++i) {
    if (copy.cpus[i]) {
      kept.push_back(*copy.cpus[i]);
    } else {
      copy.offline.insert(CpuId{static_cast<std::int32_t>(i)});
    }
  }
  if (kept.size() < source.cpus().size()) {
    const auto reason = check_cpus(whole);
    copy.differences.push_back(
        {"cpus", fmt::format("{} CPUs", source.cpus().size()),
         fmt::format("{} of them ({} sockets, {} cores each, {} threads); all would need {}",
                     kept.size(), machine.sockets, machine.cores, machine.threads,
                     reason ? "more" : reason.error().message)});
  }
  if (!copy.offline.empty()) {
    copy.differences.push_back(
        {"offline", "groups of different sizes",
         fmt::format("CPUs {0} in addition; for the same groups begin with the step "
                     "`offline: {{cpus: \"{0}\"}}`",
                     copy.offline.to_string())});
  }
  compare_numbers(copy, "cpuNumbers", "CPUs", copy.cpus);
  std::vector<std::optional<SocketId>> sockets;
  for (const Machine::Group& socket : source.sockets()) sockets.emplace_back(SocketId{socket.id});
  compare_numbers(copy, "socketNumbers", "sockets", sockets);
}

void compare_caches(MachineCopy& copy, const Machine& source) {
  if (!source.description().has_cache_info) {
    copy.differences.push_back({"caches", "no cache information", "a cache for each socket"});
  }
  for (const Machine::Group& cache : source.caches()) {
    std::set<std::int32_t> sockets;
    for (const CpuId cpu : cache.cpus) sockets.insert(source.find(cpu)->socket.value);
    if (sockets.size() == 1) continue;
    copy.differences.push_back({"caches",
                                fmt::format("cache {} of CPUs {} in sockets {}", cache.id,
                                            cache.cpus.to_string(), fmt::join(sockets, ",")),
                                "a cache in each of them"});
  }
}

void compare_nodes(MachineCopy& copy, const Machine& source) {
  std::vector<std::optional<NumaId>> ids(copy.nodes.begin(), copy.nodes.end());
  compare_numbers(copy, "nodeNumbers", "NUMA nodes", ids);
  for (std::size_t i = 0; i < copy.nodes.size(); ++i) {
    const auto position = source.numa_position(copy.nodes[i]);
    const CpuSet& theirs = source.cpus_of_numa(position.value_or(0));
    if (theirs.empty() || !copy.machine.nodes[i].cpus.empty()) continue;
    copy.differences.push_back(
        {"nodes", fmt::format("NUMA node {} has CPUs {}", copy.nodes[i].value, theirs.to_string()),
         fmt::format("node {} without CPUs", i)});
  }
}

}  // namespace

Result<MachineCopy> copy_machine(const Machine& source, const SourceTraits& traits,
                                 std::optional<std::uint64_t> memory) {
  MachineCopy copy;
  const Grid grid = grid_of(source);
  const VmMachine whole = shape_of(grid);
  copy.machine = whole;
  fit(copy.machine);
  copy.cpus = place_cpus(grid, copy.machine, source);
  place_nodes(copy, source);
  compare_cpus(copy, source, whole);
  compare_caches(copy, source);
  compare_nodes(copy, source);
  PINFOLD_TRY(copy_memory(copy, source, memory));
  copy_distances(copy, source);
  copy_traits(copy, source, traits);
  PINFOLD_TRY(check_machine(copy.machine));
  return copy;
}

}  // namespace pinfold::harness
