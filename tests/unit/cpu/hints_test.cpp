#include <gtest/gtest.h>

#include "../../support/cpu_fixture.hpp"

namespace pinfold::test {
namespace {

/// "0! 1! 0-1": the NUMA nodes of each hint, with ! after a preferred one.
std::string text_of(const Machine& machine, const ResourceHints& hints) {
  const auto cpu = hints.find("cpu");
  if (cpu == hints.end()) return "no preference";
  std::string text;
  for (const TopologyHint& hint : *cpu->second) {
    CpuSet nodes;  // for its list format
    for (const std::int32_t id : machine.numa_ids(*hint.numa)) nodes.insert(CpuId{id});
    text += (text.empty() ? "" : " ") + nodes.to_string() + (hint.preferred ? "!" : "");
  }
  return text.empty() ? "impossible" : text;
}

class CpuHints : public testing::Test {
 protected:
  [[nodiscard]] std::string offer(const PodSpec& pod) const {
    return text_of(r.machine(), r.manager().container_hints(r.state, pod, pod.containers.back()));
  }
  [[nodiscard]] std::string offer_pod(const PodSpec& pod) const {
    return text_of(r.machine(), r.manager().pod_hints(r.state, pod));
  }

  // NUMA node 0: 0-1,4-5, node 1: 2-3,6-7; CPU 0 is reserved.
  Rig r{machine_of(Shape{.sockets = 2, .cores_per_cache = 2}), static_policy(), reserve_set({0})};
};

TEST_F(CpuHints, NameEveryMaskThatFits) {
  EXPECT_EQ(offer(pod_with("a", 3)), "0! 1! 0-1");
  EXPECT_EQ(offer(pod_with("a", 5)), "0-1!");
}

TEST_F(CpuHints, PreferTheWidthThatAnEmptyMachineNeeds) {
  EXPECT_EQ(offer(pod_with("a", 4)), "1! 0-1");
  r.admit("b", 4);
  EXPECT_EQ(offer(pod_with("a", 3)), "0! 0-1");
}

TEST_F(CpuHints, AreEmptyWhenNothingFits) { EXPECT_EQ(offer(pod_with("a", 8)), "impossible"); }

TEST_F(CpuHints, AreAbsentForTheSharedPool) {
  EXPECT_EQ(offer(pod_of("a", {exclusive("c", 1500)})), "no preference");
}

TEST_F(CpuHints, RepeatExistingAssignments) {
  r.admit("a", 2, {NumaMask::of(1), true});
  EXPECT_EQ(offer(pod_with("a", 2)), "1! 0-1");
  EXPECT_EQ(offer(pod_with("a", 3)), "impossible") << "the request has changed";
}

TEST_F(CpuHints, HoldTheCpusThatInitContainersLeave) {
  const PodSpec pod =
      pod_of("a", {exclusive("i", 2000, ContainerKind::kInit), exclusive("c", 2000)});
  ASSERT_TRUE(r.manager().allocate(r.state, pod, pod.containers[0], {NumaMask::of(1), true}, {}));
  EXPECT_EQ(offer(pod), "1! 0-1");
}

TEST_F(CpuHints, OfAPodAddUpConcurrentContainers) {
  EXPECT_EQ(offer_pod(pod_of("a", {exclusive("i", 4000, ContainerKind::kInit), exclusive("c", 2000),
                                   exclusive("d", 1000)})),
            "1! 0-1");
  EXPECT_EQ(
      offer_pod(pod_of("a", {exclusive("s", 1000, ContainerKind::kSidecar),
                             exclusive("i", 4000, ContainerKind::kInit), exclusive("c", 2000)})),
      "0-1!");
}

TEST_F(CpuHints, OfAPodRepeatItsContainersAssignments) {
  const PodSpec pod = pod_of("a", {exclusive("c", 2000), exclusive("d", 2000)});
  r.admit(pod, "d", {NumaMask::of(1), true});
  EXPECT_EQ(offer_pod(pod), "1! 0-1");
  r.manager().remove_container(r.state, {PodUid("a"), "d"});
  EXPECT_EQ(offer_pod(pod), "1! 0-1");
}

TEST(CpuHintsBySocket, PreferNodesOfOneSocketToo) {
  Rig r(machine_of(Shape{.sockets = 2, .numa_per_socket = 2, .cores_per_cache = 2}),
        static_policy({{"align-by-socket", "true"}}), reserve_set({0}));
  const PodSpec pod = pod_with("a", 2);
  EXPECT_EQ(text_of(r.machine(), r.manager().pod_hints(r.state, pod)),
            "0! 1! 2! 3! 0-1! 0,2 0,3 1-2 1,3 2-3! 0-2 0-1,3 0,2-3 1-3 0-3");
}

TEST(CpuHintsWithoutCpus, SkipNodesThatHaveNone) {
  MachineDescription description = describe({.sockets = 2, .cores_per_cache = 2});
  description.numa_nodes.insert(description.numa_nodes.begin() + 1,
                                {NumaId{5}, std::uint64_t{1} << 30U, {}, {}});
  description.numa_nodes[2].id = NumaId{7};
  for (Cpu& cpu : description.cpus) {
    if (cpu.numa == NumaId{1}) cpu.numa = NumaId{7};
  }
  Rig r(machine_of(description), static_policy(), reserve_set({0}));
  EXPECT_EQ(text_of(r.machine(), r.manager().pod_hints(r.state, pod_with("a", 2))), "0! 7! 0,7");
}

TEST(CpuHintsOnManyNodes, AreBounded) {
  Rig r(machine_of(Shape{.sockets = 64, .cores_per_cache = 1}), static_policy(), reserve_set({0}));
  const auto count = [&](int cpus) {
    return r.manager().pod_hints(r.state, pod_with("a", cpus)).at("cpu")->size();
  };
  EXPECT_GT(count(2), 41'664U) << "every mask of up to three nodes";
  EXPECT_LT(count(2), 50'000U);
  EXPECT_GT(count(20), 0U) << "a run of neighbours beyond";
}

TEST(CpuHintsOnManyNodes, AreSingleNodesForSingleNumaNode) {
  Config config = static_policy();
  config.topology_manager_policy = "single-numa-node";
  Rig r(machine_of(Shape{.sockets = 64, .cores_per_cache = 1}), config, reserve_set({0}));
  EXPECT_EQ(r.manager().pod_hints(r.state, pod_with("a", 2)).at("cpu")->size(), 63U);
}

}  // namespace
}  // namespace pinfold::test
