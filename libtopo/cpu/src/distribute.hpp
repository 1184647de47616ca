#pragma once

#include <boost/container/small_vector.hpp>
#include <span>

#include "hierarchy.hpp"

namespace pinfold::cpu {

/// A number for each NUMA node.
using Ints = boost::container::small_vector<int, 64>;

/// A request to spread over NUMA nodes (distribute-cpus-across-numa).
// NOLINTNEXTLINE(bugprone-exception-escape): about Boost's small_vector
struct Distribution {
  bool best_combination_overwritten = false;  ///< Quirks::best_numa_combination_overwritten
  /// align-by-socket: NUMA nodes of one socket are better than any others.
  bool within_socket = false;
  int count = 0;    ///< total CPUs, a multiple of `group`
  int group = 1;    ///< CPUs that stay together
  GroupList nodes;  ///< NUMA nodes with free CPUs, each once
  Ints available;   ///< free CPUs of each of them
  Ints
      sockets;  ///< the socket of each of them, -1 if it spans several; unless within_socket: empty
  /// The order of enumeration, as indices into `nodes`. With the quirk spanning_group_taken_twice a
  /// NUMA node that spans two sockets is in it twice.
  Ints order;
};

/// Which NUMA nodes give the CPUs, as indices into Distribution::nodes.
// NOLINTNEXTLINE(bugprone-exception-escape): about Boost's small_vector
struct Choice {
  Ints nodes;  ///< each gives an even share, one that is named twice two; empty: none has enough
  Ints remainder;  ///< these give one more group each, in turn, until the request is satisfied
};

/// The share of each NUMA node before the remainder, in CPUs: whole groups.
[[nodiscard]] int even_share(const Distribution& d, std::size_t nodes);
/// The same, but not more than each of the NUMA nodes has.
[[nodiscard]] int cut_share(const Distribution& d, std::span<const int> nodes);

/// The combination of k NUMA nodes that leaves the machine most balanced.
/// Cost: at most about 20,000 combinations are tried, each with at most 2^16 subsets.
[[nodiscard]] Choice best_choice(const Distribution& d, int k);

}  // namespace pinfold::cpu
