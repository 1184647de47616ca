#pragma once

#include <boost/container/small_vector.hpp>
#include <cstddef>

#include "hierarchy.hpp"
#include "pinfold/api/config.hpp"

namespace pinfold::cpu {

/// Something small per NUMA node.
using Ints = boost::container::small_vector<int, 64>;

/// A request that is to be spread over NUMA nodes.
struct Distribution {
  Profile profile = Profile::kFixed;
  int count = 0;    ///< CPUs in all, a multiple of `group`
  int group = 1;    ///< CPUs that stay together
  GroupList nodes;  ///< NUMA nodes with free CPUs, in the order of enumeration
  Ints available;   ///< free CPUs of each of them
};

/// Places in Distribution::nodes.
struct Choice {
  Ints nodes;      ///< each gives an even share; empty: no combination holds the request
  Ints remainder;  ///< these give a group more, in turn, until the request is met
};

/// What each of so many nodes gives before the remainder: whole groups.
[[nodiscard]] int even_share(const Distribution& d, std::size_t nodes);

/// The combination of k nodes that leaves the most even machine behind.
/// Cost: at most some 20,000 combinations are looked at, each with at most 2^16 subsets.
[[nodiscard]] Choice best_choice(const Distribution& d, int k);

}  // namespace pinfold::cpu
