#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "pinfold/nri_plugin/premises.hpp"
#include "runtime_world.hpp"

namespace pinfold::nri {
namespace {

using test::exclusive;
using test::RuntimeWorld;
using test::shared;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(NriObserver, DecidesAndChangesNothing) {
  RuntimeWorld world(enforce::CgroupVersion::kV2, settings::NriMode::kObserve);
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  for (const PodSpec& spec : {a, b}) {
    world.run_sandbox(spec);
    const auto answer = world.create(spec);
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->ByteSizeLong(), 0U);
    world.kernel.log.clear();
    ASSERT_TRUE(world.start(spec).has_value());
  }
  EXPECT_EQ(world.cpus(a), "0-7");
  EXPECT_EQ(world.cpus(b), "0-7");
  EXPECT_THAT(world.agent->state().node.pods, IsEmpty());
  EXPECT_EQ(world.follower->counters().differences, 2U);

  world.kernel.find(world.group(b))->files["cpuset.cpus"] = "1-2";
  world.follower->look(*world.agent);
  EXPECT_EQ(world.follower->counters().differences, 1U);
  world.stop(b);
  world.remove_sandbox(b);
  world.follower->look(*world.agent);
  EXPECT_EQ(world.follower->counters().differences, 0U) << "the whole machine is the pool again";
}

TEST(NriObserver, ComparesEachRunningContainer) {
  RuntimeWorld world(enforce::CgroupVersion::kV2, settings::NriMode::kObserve);
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  for (const PodSpec& spec : {a, b}) {
    world.run_sandbox(spec);
    ASSERT_TRUE(world.create(spec).has_value());
    ASSERT_TRUE(world.start(spec).has_value());
  }
  const PodSpec big = exclusive("big", 9);  // would be rejected
  world.run_sandbox(big);
  ASSERT_TRUE(world.create(big).has_value());
  ASSERT_TRUE(world.start(big).has_value());
  world.kernel.find(world.group(a))->files["cpuset.cpus"] = "0,3-7";
  world.follower->look(*world.agent);
  const auto comparison = world.follower->take_comparison();
  ASSERT_TRUE(comparison.has_value());
  EXPECT_EQ(comparison->compared, 2U) << "of the third nothing is decided";
  const verbs::CpusetDifference of_b{
      {ref_of(b), "c"}, CpuSet::range(0, 7), CpuSet{1, 2}, {0, 1}, {}};
  EXPECT_THAT(comparison->differences, testing::ElementsAre(of_b));
  EXPECT_FALSE(world.follower->take_comparison().has_value()) << "it is news once";
  EXPECT_THAT(world.log, testing::Not(testing::Contains(HasSubstr("runs on CPU"))))
      << "a difference is no warning";
}

/// containerd 1.7 starts containers while a plugin synchronizes, and does not show them.
TEST(NriObserver, ComparesContainersThatSynchronizeHasMissed) {
  RuntimeWorld world(enforce::CgroupVersion::kV2, settings::NriMode::kObserve);
  const PodSpec asked = exclusive("asked", 2);
  const PodSpec seen = exclusive("seen", 2);
  for (const PodSpec& spec : {asked, seen}) world.run_unseen(spec);
  ASSERT_TRUE(world.send(api::Event::START_CONTAINER, asked, "c").has_value());
  for (const PodSpec& spec : {asked, seen}) {
    ASSERT_TRUE(world.send(api::Event::POST_START_CONTAINER, spec, "c").has_value());
  }
  const auto comparison = world.follower->take_comparison();
  ASSERT_TRUE(comparison.has_value());
  EXPECT_EQ(comparison->compared, 2U);
  ASSERT_EQ(comparison->differences.size(), 2U);
  EXPECT_EQ(comparison->differences[0].desired_cpus, (CpuSet{1, 2}));
  EXPECT_EQ(comparison->differences[1].desired_cpus, (CpuSet{3, 4}));
  world.suffix = "late";  // an event of an earlier container
  ASSERT_TRUE(world.send(api::Event::POST_START_CONTAINER, seen, "c").has_value());
  EXPECT_EQ(world.follower->take_comparison()->compared, 2U);
}

TEST(NriObserver, ComparesContainersThatAKubeletHasPinned) {
  RuntimeWorld world(enforce::CgroupVersion::kV2, settings::NriMode::kObserve);
  const PodSpec first = exclusive("first", 2);
  const PodSpec later = exclusive("later", 2);
  const PodSpec missed = exclusive("missed", 2);
  world.put(RuntimeWorld::id_of(first), "1-2");
  world.run_unseen(first);
  world.synchronize({first});
  world.kubelet_cpus = "5-6";
  world.run_sandbox(later);
  EXPECT_EQ(world.create(later)->ByteSizeLong(), 0U);
  ASSERT_TRUE(world.start(later).has_value());
  EXPECT_EQ(world.cpus(later), "5-6") << "as the kubelet has set";
  world.put(RuntimeWorld::id_of(missed), "0-7");
  world.run_unseen(missed);
  ASSERT_TRUE(world.send(api::Event::POST_START_CONTAINER, missed, "c").has_value());
  const auto comparison = world.follower->take_comparison();
  ASSERT_TRUE(comparison.has_value());
  EXPECT_EQ(comparison->compared, 3U);
  ASSERT_EQ(comparison->differences.size(), 2U);
  EXPECT_EQ(comparison->differences[0].container.pod.uid, later.uid);
  EXPECT_EQ(comparison->differences[0].desired_cpus, (CpuSet{3, 4}));
  EXPECT_EQ(comparison->differences[1].container.pod.uid, missed.uid);
  EXPECT_EQ(comparison->differences[1].desired_cpus, (CpuSet{5, 6}));
  EXPECT_THAT(world.log, IsEmpty());
}

/// The documented check before the service takes over a node: only the order of admissions may
/// differ.
TEST(NriObserver, AgreesWithRunningContainersThatCouldHaveComeSo) {
  RuntimeWorld world(enforce::CgroupVersion::kV2, settings::NriMode::kObserve);
  const std::vector<std::pair<PodSpec, const char*>> running = {{exclusive("a", 2), "4-5"},
                                                                {exclusive("b", 1), "7"},
                                                                {exclusive("c", 2), "2-3"},
                                                                {shared("d"), "0-1,6"}};
  std::vector<PodSpec> specs;
  for (const auto& [spec, cpus] : running) {
    world.put(RuntimeWorld::id_of(spec), cpus);
    world.run_unseen(spec);
    specs.push_back(spec);
  }
  world.restart();
  world.synchronize(specs);
  auto comparison = world.follower->take_comparison();
  ASSERT_TRUE(comparison.has_value());
  EXPECT_EQ(comparison->compared, 4U);
  EXPECT_THAT(comparison->differences, IsEmpty());
  world.run_sandbox(exclusive("new", 1));
  ASSERT_TRUE(world.create(exclusive("new", 1)).has_value());
  ASSERT_TRUE(world.start(exclusive("new", 1)).has_value());
  comparison = world.follower->take_comparison();
  ASSERT_TRUE(comparison.has_value());
  ASSERT_EQ(comparison->differences.size(), 2U) << "the new one, and what shares the pool";
  EXPECT_EQ(comparison->differences[1].desired_cpus, (CpuSet{1}));
  EXPECT_EQ(comparison->differences[1].why_shared, "");
}

TEST(NriObserver, SaysWhyAContainerWouldBeShared) {
  RuntimeWorld world(enforce::CgroupVersion::kV2, settings::NriMode::kObserve);
  const PodSpec a = exclusive("a", 2);
  api::PodSandbox sandbox = world.sandbox(a);
  // Pod-level resources of 1 CPU, without an annotation.
  auto& cpu = *sandbox.mutable_linux()->mutable_pod_resources()->mutable_cpu();
  cpu.mutable_quota()->set_value(100'000);
  api::SynchronizeRequest request;
  world.put(RuntimeWorld::id_of(a), "1-2");
  world.run_unseen(a);
  *request.add_pods() = sandbox;
  *request.add_containers() = world.container(a);
  request.mutable_containers(0)->set_state(api::ContainerState::CONTAINER_RUNNING);
  world.synchronize_with(request);
  const auto comparison = world.follower->take_comparison();
  ASSERT_TRUE(comparison.has_value());
  ASSERT_EQ(comparison->differences.size(), 1U);
  EXPECT_THAT(comparison->differences[0].why_shared, HasSubstr("the pod has one of 100000"));
}

TEST(NriObserver, ComparesMemoryNodes) {
  Config config;
  config.memory_manager_policy = "Static";
  config.system_reserved = {{"memory", "64Mi"}};
  config.eviction_hard.emplace()["memory.available"] = "64Mi";
  config.reserved_memory = {{0, {{"memory", "128Mi"}}}};
  RuntimeWorld world(enforce::CgroupVersion::kV2, settings::NriMode::kObserve, config);
  const PodSpec b = exclusive("b", 2);
  world.run_sandbox(b);
  ASSERT_TRUE(world.create(b).has_value());
  ASSERT_TRUE(world.start(b).has_value());
  world.kernel.find(world.group(b))->files["cpuset.cpus"] = "1-2";
  world.follower->look(*world.agent);
  auto comparison = world.follower->take_comparison();
  ASSERT_TRUE(comparison.has_value());
  ASSERT_EQ(comparison->differences.size(), 1U);
  EXPECT_EQ(comparison->differences[0].observed_mems.to_string(), "0-1");
  EXPECT_EQ(comparison->differences[0].desired_mems.to_string(), "0");
  world.kernel.find(world.group(b))->files["cpuset.mems"] = "0";
  world.follower->look(*world.agent);
  comparison = world.follower->take_comparison();
  ASSERT_TRUE(comparison.has_value());
  EXPECT_THAT(comparison->differences, IsEmpty());
}

TEST(NriObserver, NothingIsComparedBeforeARuntimeHasConnected) {
  RuntimeWorld world(enforce::CgroupVersion::kV2, settings::NriMode::kObserve);
  (void)world.follower->take_comparison();
  world.restart();
  world.follower->look(*world.agent);
  EXPECT_FALSE(world.follower->take_comparison().has_value());
}

TEST(NriObserver, CreatesWhatItWouldReject) {
  RuntimeWorld world(enforce::CgroupVersion::kV2, settings::NriMode::kObserve);
  const PodSpec big = exclusive("big", 9);
  world.run_sandbox(big);
  EXPECT_TRUE(world.create(big).has_value());
  EXPECT_THAT(world.log, testing::Contains(HasSubstr("pod 'default/big' would be rejected")));
}

TEST(NriPremises, RefusesAKubeletWithTheStaticPolicy) {
  const pinfold::test::TempDir root;
  EXPECT_TRUE(check_kubelet(root.path()).has_value()) << "no kubelet";
  root.write("cpu_manager_state", R"({"policyName":"none","defaultCpuSet":"","checksum":1})");
  EXPECT_TRUE(check_kubelet(root.path()).has_value());
  root.write("cpu_manager_state", R"({"policyName":"static","defaultCpuSet":"0","checksum":1})");
  EXPECT_THAT(check_kubelet(root.path()).error().message, HasSubstr("cpuManagerPolicy: none"));
}

TEST(NriPremises, FindsTheMountOfADirectory) {
  EXPECT_EQ(cgroup_mount_of("/nowhere/at/all").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace pinfold::nri
