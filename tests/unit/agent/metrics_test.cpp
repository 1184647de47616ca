#include "pinfold/agent/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "node_samples.hpp"
#include "pinfold/agent/node_agent.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "temp_dir.hpp"

namespace pinfold::agent {
namespace {

using test::guaranteed;
using test::pod;
using testing::ElementsAre;
using testing::Pair;
using namespace std::chrono_literals;

NodeAgent open(const test::TempDir& dir) {
  AgentOptions options;
  options.state_dir = dir.path();
  return NodeAgent::open(test::static_node(), checkpoint::Store::open(dir.path()).value(),
                         std::nullopt, std::move(options))
      .value();
}

TEST(Metrics, NameEachCounterOnce) {
  std::set<Counter> counters;
  std::set<std::string> samples;
  for (const CounterName& name : counter_names()) {
    counters.insert(name.counter);
    samples.insert(name.sample);
  }
  EXPECT_EQ(counters.size(), kCounters);
  EXPECT_EQ(samples.size(), kCounters);
  EXPECT_EQ(counter_names().size(), kCounters);
}

TEST(Metrics, CountDurationsInWholeMilliseconds) {
  Metrics metrics;
  metrics.observe(900us);  // 0 ms
  metrics.observe(1900us);
  metrics.observe(2ms);
  metrics.observe(1h);
  EXPECT_EQ(metrics.durations[0], 1U);
  EXPECT_EQ(metrics.durations[5], 1U);  // up to 1.6
  EXPECT_EQ(metrics.durations[6], 1U);  // up to 3.2
  EXPECT_EQ(metrics.durations[15], 1U);
  EXPECT_EQ(metrics.duration_sum_ms, 3'600'003U);
  EXPECT_DOUBLE_EQ(admission_duration_bounds()[14], 819.2);
}

TEST(Metrics, ReadBackAsWritten) {
  Metrics metrics;
  for (std::size_t i = 0; i < kCounters; ++i) metrics.counts.values[i] = i * i;
  metrics.observe(5ms);
  EXPECT_EQ(decode_metrics(encode_metrics(metrics)).value(), metrics);
}

TEST(Metrics, RejectAnInvalidFile) {
  for (
      const char* text :
      {"", "[]", "{}", R"({"version":2,"counts":{},"durations":[]})",
       R"({"version":1,"counts":[],"durations":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],"duration_sum_ms":0})",
       R"({"version":1,"counts":{},"durations":[0],"duration_sum_ms":0})",
       R"({"version":1,"counts":{"kubelet_cpu_manager_pinning_requests_total":-1},"durations":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],"duration_sum_ms":0})"}) {
    EXPECT_FALSE(decode_metrics(text).has_value()) << text;
  }
}

TEST(Metrics, SurviveARestart) {
  const test::TempDir dir;
  {
    NodeAgent agent = open(dir);
    ASSERT_TRUE(agent.admit(pod("x", {guaranteed("a", 2)})).has_value());
    ASSERT_TRUE(agent.admit(pod("y", {guaranteed("a", 9)})).value().rejection);
    ASSERT_TRUE(agent.checkpoint_journal());
  }
  NodeAgent agent = open(dir);
  EXPECT_EQ(agent.metrics().counts[Counter::kTopologyRequests], 2U);
  EXPECT_EQ(agent.metrics().counts[Counter::kCpuPinningErrors], 1U);
  ASSERT_TRUE(agent.admit(pod("z", {guaranteed("a", 1)})).has_value());
  EXPECT_EQ(agent.metrics().counts[Counter::kTopologyRequests], 3U);
  std::uint64_t observed = 0;
  for (const std::uint64_t count : agent.metrics().durations) observed += count;
  EXPECT_EQ(observed, 3U);
}

TEST(Metrics, RestartFromZeroIfTheirFileIsDamaged) {
  const test::TempDir dir;
  {
    NodeAgent agent = open(dir);
    ASSERT_TRUE(agent.admit(pod("x", {guaranteed("a", 2)})).has_value());
  }
  std::ofstream(dir / std::string(kMetricsFileName)) << "{";
  NodeAgent agent = open(dir);
  EXPECT_EQ(agent.metrics(), Metrics{});
  EXPECT_NE(agent.state().node.find(PodUid("x")), nullptr);
}

TEST(CpuGauges, ComeFromTheState) {
  const test::TempDir dir;
  NodeAgent agent = open(dir);
  EXPECT_EQ(cpu_gauges(agent.node(), agent.state().node).shared_pool_millicores, 7000U);
  ASSERT_TRUE(agent.admit(pod("x", {guaranteed("a", 5)})).has_value());
  const CpuGauges gauges = cpu_gauges(agent.node(), agent.state().node);
  EXPECT_EQ(gauges.shared_pool_millicores, 2000U);
  EXPECT_EQ(gauges.exclusive_cpus, 5U);
  EXPECT_THAT(gauges.cpus_by_node, ElementsAre(Pair(0, 1U), Pair(1, 4U)));
}

TEST(CpuGauges, PodLevelReservationsDoNotCountByNumaNode) {
  const Node node = test::static_node();
  NodeState state = empty_state(node);
  state.cpu.assignments[{PodUid("whole"), "a"}] = CpuSet{1, 2};
  state.cpu.assignments[{PodUid("whole"), "b"}] = CpuSet{3};
  state.cpu.pods[PodUid("whole")] = CpuSet{1, 2, 3};
  EXPECT_EQ(cpu_gauges(node, state).exclusive_cpus, 3U);
  EXPECT_THAT(cpu_gauges(node, state).cpus_by_node, ElementsAre(Pair(0, 0U), Pair(1, 0U)));
  state.cpu.assignments[{PodUid("x"), "a"}] = CpuSet{4};
  EXPECT_THAT(cpu_gauges(node, state).cpus_by_node, ElementsAre(Pair(0, 0U), Pair(1, 1U)));
}

TEST(CpuGauges, OfNumaNodesWithoutAssignedCpusAreZero) {
  for (const Profile profile : kProfiles) {
    Config config = test::static_node().config();
    config.profile = profile;
    const Node node = Node::make(test::static_node().machine(), config).value();
    NodeState state = empty_state(node);
    state.cpu.assignments[{PodUid("x"), "a"}] = CpuSet{4};
    const std::size_t samples = profile < Profile::kKubelet138 ? 1 : 2;
    EXPECT_EQ(cpu_gauges(node, state).cpus_by_node.size(), samples) << to_string(profile);
  }
}

}  // namespace
}  // namespace pinfold::agent
