#include "hints.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>

#include "pinfold/types/mask_sums.hpp"

namespace pinfold::cpu {
namespace {

/// One number for each NUMA node with CPUs, in ascending order of position.
using PerNode = std::vector<std::int64_t>;

/// Returns the fewest NUMA nodes that together have `count` CPUs; all of them if even those do not.
int least_nodes(PerNode amounts, int count) {
  std::sort(amounts.begin(), amounts.end(), std::greater<>());
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    sum += amounts[i];
    if (sum >= count) return static_cast<int>(i) + 1;
  }
  return static_cast<int>(amounts.size());
}

/// The NUMA nodes with CPUs; hints contain no others.
struct Nodes {
  std::vector<int> positions;
  PerNode total;
  PerNode free;
  std::vector<std::uint64_t> sockets;  ///< a bit for each socket; only with align-by-socket
  std::uint64_t must_have = 0;         ///< a bit for each entry of `positions`
};

Nodes survey(const Machine& machine, const HintRequest& request) {
  Nodes nodes;
  for (int position = 0; position < machine.numa_count(); ++position) {
    const CpuSet& cpus = machine.cpus_of_numa(position);
    if (cpus.empty()) continue;
    if (request.reusable->intersects(cpus)) {
      nodes.must_have |= std::uint64_t{1} << nodes.positions.size();
    }
    nodes.positions.push_back(position);
    nodes.total.push_back(static_cast<std::int64_t>(cpus.size()));
    nodes.free.push_back(static_cast<std::int64_t>(request.available->count_common(cpus) +
                                                   request.reusable->count_common(cpus)));
    if (!request.by_socket) continue;
    std::uint64_t sockets = 0;
    for (std::size_t i = 0; i < machine.sockets().size(); ++i) {
      if (machine.sockets()[i].cpus.intersects(cpus)) sockets |= std::uint64_t{1} << i;
    }
    nodes.sockets.push_back(sockets);
  }
  return nodes;
}

}  // namespace

std::vector<TopologyHint> make_hints(const Machine& machine, const HintRequest& request) {
  const Nodes nodes = survey(machine, request);
  const auto node_count = static_cast<int>(nodes.positions.size());
  const int preferred_width = least_nodes(nodes.total, request.count);
  const int nodes_per_socket = node_count / static_cast<int>(machine.sockets().size());
  const bool by_socket = request.by_socket && nodes_per_socket > 0;
  const int preferred_sockets =
      by_socket ? (preferred_width + nodes_per_socket - 1) / nodes_per_socket : 0;
  const bool compact = node_count == machine.numa_count();  // indices are positions

  const MaskSums<std::int64_t> free_cpus(nodes.free);
  std::vector<TopologyHint> hints;
  if (node_count <= kMaxNodesForEveryMask) hints.reserve(std::size_t{1} << node_count);
  const auto try_mask = [&](NumaMask indices) {
    if ((indices.bits() & nodes.must_have) != nodes.must_have) return;
    if (free_cpus.of(indices) < request.count) return;
    std::uint64_t positions = 0;
    std::uint64_t sockets = 0;
    if (!compact || by_socket) {
      for (const int index : indices.positions()) {
        const auto i = static_cast<std::size_t>(index);
        positions |= std::uint64_t{1} << nodes.positions[i];
        if (by_socket) sockets |= nodes.sockets[i];
      }
    }
    const bool preferred = indices.count() == preferred_width ||
                           (by_socket && std::popcount(sockets) == preferred_sockets);
    hints.push_back({compact ? indices : NumaMask(positions), preferred});
  };
  // Narrower masks have too few free CPUs.
  for (int width = least_nodes(nodes.free, request.count);
       width <= std::min(node_count, request.widest); ++width) {
    for_each_hint_mask_of_width(node_count, width, try_mask);
  }
  return hints;
}

}  // namespace pinfold::cpu
