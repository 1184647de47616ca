#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "../support/naive_distribution.hpp"
#include "distribute.hpp"
#include "draw.hpp"

// The search for NUMA nodes against the kubelet's search.
namespace pinfold::test {
namespace {

std::vector<int> plain(const place::Ints& values) { return {values.begin(), values.end()}; }

/// Up to nine NUMA nodes, many of them equal, so that choices tie.
place::NumaDistribution any_distribution(bool is_overwritten) {
  place::NumaDistribution d;
  d.within_socket = draw(0, 1) == 1;
  d.best_combination_overwritten = is_overwritten;
  d.group = draw(1, 2);
  const int nodes = draw(1, 9);
  const int largest = draw(1, 24);
  const int kinds = draw(1, 4);
  int sum = 0;
  for (int node = 0; node < nodes; ++node) {
    d.nodes.push_back(node);
    d.order.push_back(node);
    d.available.push_back(std::max(1, largest - draw(0, kinds - 1) * draw(1, 2)));
    sum += d.available.back();
    if (d.within_socket) d.sockets.push_back(draw(0, 2));
  }
  d.count = std::max(1, draw(1, std::max(1, sum / d.group))) * d.group;
  return d;
}

void check_against_kubelet(bool is_overwritten) {
  const place::NumaDistribution d = any_distribution(is_overwritten);
  RC_LOG() << d.count << " CPUs in groups of " << d.group << " from nodes of";
  for (const int available : d.available) RC_LOG() << " " << available;
  if (d.within_socket) RC_LOG() << " on sockets";
  for (const int socket : d.sockets) RC_LOG() << " " << socket;
  RC_LOG() << "\n";
  for (int k = 1; k <= static_cast<int>(d.nodes.size()); ++k) {
    const place::NumaChoice choice = place::best_choice(d, k);
    const NaiveChoice want = naive_best_choice(plain(d.available), plain(d.sockets), d.count,
                                               d.group, k, is_overwritten);
    RC_LOG() << "of " << k << "\n";
    RC_ASSERT(plain(choice.nodes) == want.nodes);
    RC_ASSERT(plain(choice.remainder) == want.remainder);
  }
}

RC_GTEST_PROP(DistributeProperty, MatchesTheKubelet, ()) { check_against_kubelet(true); }

RC_GTEST_PROP(DistributeProperty, MatchesTheKubeletWithCopies, ()) { check_against_kubelet(false); }

RC_GTEST_PROP(DistributeProperty, TakesTheFullestOfManyNodes, ()) {
  place::NumaDistribution d;
  const int nodes = draw(30, 64);
  for (int node = 0; node < nodes; ++node) {
    d.nodes.push_back(node);
    d.order.push_back(node);
    d.available.push_back(draw(1, 16));
  }
  const int k = draw(8, nodes);
  d.count = draw(k, 8 * k);
  const place::NumaChoice choice = place::best_choice(d, k);
  if (choice.nodes.empty()) return;
  int least = 16;
  std::vector<bool> chosen(static_cast<std::size_t>(nodes));
  for (const int node : choice.nodes) {
    chosen[static_cast<std::size_t>(node)] = true;
    least = std::min(least, d.available[static_cast<std::size_t>(node)]);
  }
  RC_ASSERT(static_cast<int>(choice.nodes.size()) == k);
  for (int node = 0; node < nodes; ++node) {
    const auto i = static_cast<std::size_t>(node);
    RC_ASSERT(chosen[i] || d.available[i] <= least);
  }
}

RC_GTEST_PROP(DistributeProperty, StaysWithinASocketOfManyNodes, ()) {
  place::NumaDistribution d;
  d.within_socket = true;
  const int nodes = draw(30, 64);
  for (int node = 0; node < nodes; ++node) {
    d.nodes.push_back(node);
    d.order.push_back(node);
    d.available.push_back(16);
    d.sockets.push_back(node % 3);
  }
  const int k = draw(8, nodes / 3);
  d.count = draw(k, 16 * k);
  const place::NumaChoice choice = place::best_choice(d, k);
  RC_ASSERT(static_cast<int>(choice.nodes.size()) == k);
  for (const int node : choice.nodes) RC_ASSERT(node % 3 == choice.nodes.front() % 3);
}

}  // namespace
}  // namespace pinfold::test
