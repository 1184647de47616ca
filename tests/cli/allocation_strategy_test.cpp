#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "node_fixture.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/simulate/workload.hpp"

/// numa-allocation-strategy: how many generated pods a node admits before it rejects one.
namespace pinfold {
namespace {

/// 4 NUMA nodes of 32 CPUs, of which one is reserved.
Node node_with(const char* strategy) {
  Config config = test::aligning_config("single-numa-node");
  config.feature_gates["TopologyManagerPolicyAlphaOptions"] = true;
  config.topology_manager_policy_options["numa-allocation-strategy"] = strategy;
  return Node::make(test::machine_of({.numa = 4, .cpus = 32, .gib = 256}), config).value();
}

std::size_t count_admitted(const Node& node, const std::string& workload) {
  const auto events = simulate::events_of(simulate::parse_workload(workload).value());
  const auto pods = simulate::simulate_pods(node, events).value().pods;
  const auto rejected = std::find_if(pods.begin(), pods.end(),
                                     [](const auto& pod) { return pod.rejection.has_value(); });
  EXPECT_NE(rejected, pods.end()) << workload << ": too few pods";
  return static_cast<std::size_t>(rejected - pods.begin());
}

double mean_admitted(const char* strategy, const std::string& workload) {
  constexpr int kSeeds = 12;
  const Node node = node_with(strategy);
  std::size_t sum = 0;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    sum += count_admitted(node, fmt::format("{},seed={}", workload, seed));
  }
  return static_cast<double>(sum) / kSeeds;
}

TEST(AllocationStrategy, AdmitsAsManyPodsAsThePageSays) {
  const std::string page = read_file(PINFOLD_COMPAT_PAGE).value();
  for (const auto& [name, workload] : {std::pair{"general", "general:pods=200,lifetime=0"},
                                       {"pinned", "pinned:pods=200,lifetime=0"},
                                       {"large", "large:pods=200,lifetime=0"},
                                       {"pinned, pods end", "pinned:pods=400,lifetime=300"}}) {
    const double none = mean_admitted("none", workload);
    const double most = mean_admitted("most-allocated", workload);
    const double least = mean_admitted("least-allocated", workload);
    const auto row = fmt::format("| {} | {:.1f} | {:.1f} | {:.1f} |\n", name, none, most, least);
    EXPECT_NE(page.find(row), std::string::npos) << row;
    EXPECT_GE(most, least) << row;
  }
}

}  // namespace
}  // namespace pinfold
