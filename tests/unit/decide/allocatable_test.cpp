#include "pinfold/decide/allocatable.hpp"

#include <gtest/gtest.h>

#include "node_fixture.hpp"

namespace pinfold {
namespace {

/// Two NUMA nodes of 8 CPUs and 16 GiB, of which CPU 0 and 1 GiB are reserved.
Node small_node() {
  const Config config = test::with_memory_manager(test::aligning_config("none"));
  return Node::make(test::machine_of({}), config).value();
}

PodSpec burstable(const std::string& uid, const test::Amounts& requests) {
  PodSpec made = test::pod(uid, requests);
  made.containers.front().resources.limits.clear();
  return made;
}

std::string shortage(const Node& node, const ActivePods& pods, const PodSpec& spec) {
  const auto rejection = find_shortage(node, pods, spec);
  return rejection ? rejection->reason + ": " + rejection->message : "";
}

TEST(Allocatable, IsWhatTheReservationLeaves) {
  const ResourceList amounts = allocatable(small_node());
  EXPECT_EQ(amounts.at("cpu").milli_value(), 15'000);
  EXPECT_EQ(amounts.at("memory").value(), std::int64_t{31} << 30U);
}

TEST(Allocatable, HugePagesAreNotMemory) {
  MachineDescription description = test::machine_of({}).description();
  description.numa_nodes[1].hugepages["hugepages-2Mi"] = std::uint64_t{1} << 30U;
  const Node node =
      Node::make(Machine::make(description).value(), test::aligning_config("none")).value();
  EXPECT_EQ(allocatable(node).at("memory").value(), std::int64_t{31} << 30U);
  EXPECT_EQ(allocatable(node).at("hugepages-2Mi").value(), std::int64_t{1} << 30U);
  const PodSpec large = test::pod("a", {{"hugepages-2Mi", "2Gi"}});
  EXPECT_EQ(shortage(node, {}, large),
            "OutOfhugepages-2Mi: Node didn't have enough resource: hugepages-2Mi, requested: "
            "2147483648, used: 0, capacity: 1073741824");
  EXPECT_EQ(shortage(node, {}, test::pod("a", {{"hugepages-1Gi", "1Gi"}})),
            "OutOfhugepages-1Gi: Node didn't have enough resource: hugepages-1Gi, requested: "
            "1073741824, used: 0, capacity: 0");
}

TEST(Allocatable, PodLevelAmountsReplaceTheTotals) {
  PodSpec pod = test::pod("a", {{"cpu", "2"}, {"memory", "1Gi"}});
  pod.resources = Resources{};
  pod.resources->requests = {{"cpu", Quantity::parse("3").value()}};
  pod.resources->limits = {{"cpu", Quantity::parse("4").value()}};
  const FeatureGates gates = small_node().gates();
  EXPECT_EQ(total_requests(gates, pod).at("cpu").milli_value(), 3'000);
  EXPECT_EQ(total_limits(gates, pod).at("cpu").milli_value(), 4'000);
  EXPECT_EQ(total_limits(gates, pod).at("memory").value(), std::int64_t{1} << 30U);
}

TEST(Allocatable, CountsTheRequestsOfAllOtherPods) {
  const Node node = small_node();
  const ActivePods pods = {{burstable("a", {{"cpu", "14500m"}}), {}},
                           {burstable("b", {{"memory", "30Gi"}}), {}}};
  EXPECT_EQ(shortage(node, pods, burstable("c", {{"cpu", "500m"}, {"memory", "1Gi"}})), "");
  EXPECT_EQ(shortage(node, pods, burstable("c", {{"cpu", "501m"}})),
            "OutOfcpu: Node didn't have enough resource: cpu, requested: 501, used: 14500, "
            "capacity: 15000");
  EXPECT_EQ(shortage(node, pods, burstable("c", {{"memory", "1073741825"}})),
            "OutOfmemory: Node didn't have enough resource: memory, requested: 1073741825, used: "
            "32212254720, capacity: 33285996544");
  EXPECT_EQ(shortage(node, pods, burstable("a", {{"cpu", "15"}})), "");
  EXPECT_EQ(shortage(node, pods, burstable("c", {})), "");
}

TEST(Allocatable, CountsOverhead) {
  const Node node = small_node();
  PodSpec pod = burstable("a", {{"cpu", "14"}});
  pod.overhead = {{"cpu", Quantity::parse("1001m").value()}};
  EXPECT_EQ(shortage(node, {}, pod),
            "OutOfcpu: Node didn't have enough resource: cpu, requested: 15001, used: 0, capacity: "
            "15000");
  EXPECT_EQ(total_requests(node.gates(), pod, Overhead::kLeaveOut).at("cpu").milli_value(), 14'000);
  pod.overhead["cpu"] = Quantity::parse("1").value();
  EXPECT_EQ(shortage(node, {}, pod), "");
  EXPECT_EQ(shortage(node, {{pod, {}}}, burstable("b", {{"cpu", "1m"}})),
            "OutOfcpu: Node didn't have enough resource: cpu, requested: 1, used: 15000, capacity: "
            "15000");
}

TEST(Allocatable, CountsPodsIfTheConfigurationDoes) {
  const auto with = [](std::optional<std::int32_t> max_pods, std::int32_t per_core) {
    Config config = test::aligning_config("none");
    config.max_pods = max_pods;
    config.pods_per_core = per_core;
    return Node::make(test::machine_of({}), config).value();
  };
  ActivePods pods;
  for (int i = 0; i < 120; ++i) pods.push_back({burstable("p" + std::to_string(i), {}), {}});
  const PodSpec one_more = burstable("more", {});
  EXPECT_EQ(shortage(with({}, 0), pods, one_more), "");
  EXPECT_EQ(shortage(with(121, 0), pods, one_more), "");
  EXPECT_EQ(shortage(with(120, 0), pods, one_more),
            "OutOfpods: Node didn't have enough resource: pods, requested: 1, used: 120, capacity: "
            "120");
  EXPECT_EQ(shortage(with(120, 0), pods, pods.begin()->spec), "");
  EXPECT_EQ(shortage(with(250, 7), pods, one_more),
            "OutOfpods: Node didn't have enough resource: pods, requested: 1, used: 120, capacity: "
            "112");
}

TEST(Allocatable, OfHeldPodsTheAssignmentsCount) {
  const Node node = small_node();
  NodeState state = empty_state(node);
  for (const char* const uid : {"a", "b"}) {
    state = std::get<Admitted>(
                decide(node, std::move(state), test::pod(uid, {{"cpu", "5"}, {"memory", "2Gi"}})))
                .next;
    state.held.insert(PodUid(uid));
  }
  state.pods = {};
  EXPECT_EQ(others_held(state, PodUid("c")).at("cpu").value(), 10);
  EXPECT_EQ(others_held(state, PodUid("b")).at("memory").value(), std::int64_t{2} << 30U);
  const auto reason = [&](const char* uid, const char* cpu) {
    const Decision decision = decide(node, state, burstable(uid, {{"cpu", cpu}}), nullptr, nullptr,
                                     AdmissionChecks::kManagersAndRequests);
    const auto* const rejected = std::get_if<Rejected>(&decision);
    return rejected == nullptr ? "" : rejected->why.reason;
  };
  EXPECT_EQ(reason("c", "5"), "");
  EXPECT_EQ(reason("c", "5001m"), "OutOfcpu");
  EXPECT_EQ(reason("b", "10"), "") << "held itself";
}

TEST(Allocatable, APodRequestsWhatItNeedsAtOneTime) {
  const Node node = small_node();
  const PodSpec spec =
      test::pod_of("a", {test::container("i", {{"cpu", "6"}}, ContainerKind::kInit),
                         test::container("s", {{"cpu", "1"}}, ContainerKind::kSidecar),
                         test::container("j", {{"cpu", "7"}}, ContainerKind::kInit),
                         test::container("c", {{"cpu", "4"}})});
  EXPECT_EQ(total_requests(node.gates(), spec).at("cpu").milli_value(), 8'000);
  PodSpec whole = spec;
  whole.resources = Resources{{{"cpu", Quantity::parse("9500m").value()}}, {}};
  EXPECT_EQ(total_requests(node.gates(), whole).at("cpu").milli_value(), 9'500);
  FeatureGates off;
  off.pod_level_resources = false;
  EXPECT_EQ(total_requests(off, whole).at("cpu").milli_value(), 8'000);
}

TEST(Decide, ChecksRequestsAfterTheManagersIfAsked) {
  const PodSpec shared = burstable("shared", {{"cpu", "10"}});
  const PodSpec pinned = test::pod("pinned", {{"cpu", "6"}, {"memory", "1Gi"}});
  const std::string message =
      "Node didn't have enough resource: cpu, requested: 6000, used: 10000, capacity: 15000";
  for (const Profile profile : {Profile::kFixed, Profile::kKubelet136}) {
    Config config = test::with_memory_manager(test::aligning_config("none"));
    config.profile = profile;
    const Node node = Node::make(test::machine_of({}), config).value();
    const auto with = [&](const NodeState& state, const PodSpec& spec) {
      return decide(node, state, spec, nullptr, nullptr, AdmissionChecks::kManagersAndRequests);
    };
    const NodeState before = std::get<Admitted>(with(empty_state(node), shared)).next;
    EXPECT_TRUE(std::holds_alternative<Admitted>(decide(node, before, pinned)));
    const Decision decision = with(before, pinned);
    const auto& rejected = std::get<Rejected>(decision);
    EXPECT_EQ(rejected.why.reason, "OutOfcpu");
    EXPECT_EQ(rejected.why.message, message);
    // The kubelet's managers have already allocated; they release at the next admission.
    EXPECT_EQ(rejected.next.cpu.assignments.contains(pinned.uid), profile == Profile::kKubelet136);
    EXPECT_EQ(rejected.next.find(pinned.uid), nullptr);
    // If the managers reject the pod, the reason is theirs.
    const Decision large = with(before, test::pod("large", {{"cpu", "16"}, {"memory", "1Gi"}}));
    EXPECT_EQ(std::get<Rejected>(large).why.reason, "UnexpectedAdmissionError");
  }
}

}  // namespace
}  // namespace pinfold
