#pragma once

#include <boost/container/small_vector.hpp>
#include <span>

namespace pinfold::place {

/// One number or index per NUMA node. Allocates only if NUMA nodes that span sockets make a longer
/// list.
using Ints = boost::container::small_vector<int, 64>;

/// A request to spread over NUMA nodes (distribute-cpus-across-numa).
// NOLINTNEXTLINE(bugprone-exception-escape): because of Boost's small_vector
struct NumaDistribution {
  bool best_combination_overwritten = false;  ///< Quirks::best_numa_combination_overwritten
  /// align-by-socket: NUMA nodes of one socket beat all others.
  bool within_socket = false;
  int count = 0;   ///< total CPUs, a multiple of `group`
  int group = 1;   ///< CPUs that stay together
  Ints nodes;      ///< NUMA nodes with free CPUs, each once
  Ints available;  ///< CPUs that each can give: the free ones, and those of `kept`
  Ints kept;       ///< of a resize: CPUs that each gives in any case; empty: none
  Ints sockets;    ///< the socket of each, -1 if it spans several; empty unless within_socket
  /// The order of enumeration, as indices into `nodes`. With the quirk spanning_group_taken_twice,
  /// a NUMA node that spans two sockets appears twice.
  Ints order;
};

/// The NUMA nodes that give the CPUs, as indices into NumaDistribution::nodes.
// NOLINTNEXTLINE(bugprone-exception-escape): because of Boost's small_vector
struct NumaChoice {
  Ints nodes;  ///< each gives an even share, or two if listed twice; empty if there are not enough
               ///< CPUs
  Ints remainder;  ///< these give one more group each, in turn, until the request is satisfied
};

/// Returns the share of each NUMA node before the remainder, in CPUs that form whole groups. A NUMA
/// node with more `kept` CPUs gives those.
[[nodiscard]] int even_share(const NumaDistribution& d, std::size_t nodes);
/// Like even_share, but at most what the NUMA node with the fewest CPUs has, in whole groups.
[[nodiscard]] int cut_share(const NumaDistribution& d, std::span<const int> nodes);

/// Returns the combination of k NUMA nodes that leaves the machine most balanced.
/// Cost: tries at most about 20,000 combinations, each with at most 2^16 subsets.
[[nodiscard]] NumaChoice best_choice(const NumaDistribution& d, int k);

}  // namespace pinfold::place
