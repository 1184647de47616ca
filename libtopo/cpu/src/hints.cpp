#include "hints.hpp"

#include <algorithm>
#include <array>
#include <functional>

namespace pinfold::cpu {
namespace {

/// Something per NUMA node with CPUs, in ascending order of position.
using PerNode = std::vector<int>;

/// The least number of nodes whose sum reaches `count`; all of them if none does.
int least_nodes(PerNode amounts, int count) {
  std::sort(amounts.begin(), amounts.end(), std::greater<>());
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    sum += amounts[i];
    if (sum >= count) return static_cast<int>(i) + 1;
  }
  return static_cast<int>(amounts.size());
}

/// The NUMA nodes that have CPUs, which are the only ones that hints name.
struct Nodes {
  std::vector<int> positions;
  PerNode total;
  PerNode free;
  std::vector<std::uint64_t> sockets;  ///< bit per socket; filled for align-by-socket only
  std::uint64_t must_have = 0;         ///< bit per entry of `positions`
};

Nodes survey(const Machine& machine, const HintQuestion& question) {
  Nodes nodes;
  for (int position = 0; position < machine.numa_count(); ++position) {
    const CpuSet& cpus = machine.cpus_of_numa(position);
    if (cpus.empty()) continue;
    if (question.reusable->intersects(cpus)) {
      nodes.must_have |= std::uint64_t{1} << nodes.positions.size();
    }
    nodes.positions.push_back(position);
    nodes.total.push_back(static_cast<int>(cpus.size()));
    nodes.free.push_back(static_cast<int>(question.available->count_common(cpus) +
                                          question.reusable->count_common(cpus)));
    if (!question.by_socket) continue;
    std::uint64_t sockets = 0;
    for (std::size_t i = 0; i < machine.sockets().size(); ++i) {
      if (machine.sockets()[i].cpus.intersects(cpus)) sockets |= std::uint64_t{1} << i;
    }
    nodes.sockets.push_back(sockets);
  }
  return nodes;
}

}  // namespace

std::vector<TopologyHint> make_hints(const Machine& machine, const HintQuestion& question) {
  const Nodes nodes = survey(machine, question);
  const auto node_count = static_cast<int>(nodes.positions.size());
  const int preferred_width = least_nodes(nodes.total, question.count);
  const int nodes_per_socket = node_count / static_cast<int>(machine.sockets().size());
  const bool by_socket = question.by_socket && nodes_per_socket > 0;
  const int preferred_sockets =
      by_socket ? (preferred_width + nodes_per_socket - 1) / nodes_per_socket : 0;
  const bool compact = node_count == machine.numa_count();  // places are positions

  std::vector<TopologyHint> hints;
  const auto offer = [&](NumaMask places) {
    if ((places.bits() & nodes.must_have) != nodes.must_have) return;
    std::int64_t free = 0;
    std::uint64_t positions = 0;
    std::uint64_t sockets = 0;
    for (const int place : places.positions()) {
      const auto i = static_cast<std::size_t>(place);
      free += nodes.free[i];
      if (!compact) positions |= std::uint64_t{1} << nodes.positions[i];
      if (by_socket) sockets |= nodes.sockets[i];
    }
    if (free < question.count) return;
    const bool preferred = places.count() == preferred_width ||
                           (by_socket && std::popcount(sockets) == preferred_sockets);
    hints.push_back({compact ? places : NumaMask(positions), preferred});
  };
  // Fewer nodes than the freest ones need can hold nothing.
  for (int width = least_nodes(nodes.free, question.count);
       width <= std::min(node_count, question.widest); ++width) {
    for_each_hint_mask_of_width(node_count, width, offer);
  }
  return hints;
}

}  // namespace pinfold::cpu
