#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "pinfold/base/read_file.hpp"
#include "runtime_world.hpp"

/// Containers created or started without the plugin, on the model of both cgroup versions.
namespace pinfold::nri {
namespace {

using test::exclusive;
using test::limited;
using test::named;
using test::RuntimeWorld;
using test::shared;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using verbs::EventKind;

class NriSynchronize : public testing::TestWithParam<enforce::CgroupVersion> {
 protected:
  RuntimeWorld world_{GetParam()};
  [[nodiscard]] const worker::FollowerCounters& counters() { return world_.follower->counters(); }
};

/// Two quotas throttle exclusive CPUs: the container's own, which only the runtime sets, and its
/// pod's, which a kubelet with the policy none has set.
TEST_P(NriSynchronize, ExclusiveContainersThatAreFoundLoseTheirQuotas) {
  const PodSpec b = exclusive("b", 2);
  const PodSpec half = named("half", {limited("c", "500m", "64Mi")});
  const bool is_v2 = GetParam() == enforce::CgroupVersion::kV2;
  const char* const file = is_v2 ? "cpu.max" : "cpu.cfs_quota_us";
  const auto pod_group = [&](const PodSpec& spec) {
    return world_.kernel.find(world_.sandbox(spec).linux().cgroup_parent().substr(1));
  };
  for (const PodSpec& spec : {b, half}) {
    world_.run_unseen(spec);
    pod_group(spec)->files[file] = is_v2 ? "200000 100000" : "200000";
  }
  world_.synchronize({b, half});
  EXPECT_EQ(world_.quotas[RuntimeWorld::id_of(b)], -1);
  EXPECT_FALSE(world_.quotas.contains(RuntimeWorld::id_of(half)));
  EXPECT_THAT(pod_group(b)->files[file], testing::AnyOf("max 100000", "max", "-1"));
  EXPECT_THAT(pod_group(half)->files[file], testing::StartsWith("200000"));
}

TEST_P(NriSynchronize, APodIsSharedForAReasonThatOutlivesTheService) {
  const PodSpec half = named("half", {limited("c", "500m", "64Mi")});
  world_.run(half);
  const auto note = world_.agent->state().notes.at(half.uid);
  EXPECT_EQ(note.why_shared, "no container requests a whole number of CPUs");
  EXPECT_EQ(note.qos, QosClass::kGuaranteed);
  world_.restart();
  EXPECT_EQ(world_.agent->state().notes.at(half.uid), note);
  // A state of an earlier version has no note; Synchronize supplies it.
  PodSpec other = half;
  other.uid = PodUid("other");
  ASSERT_TRUE(world_.agent->admit(other).has_value());
  EXPECT_FALSE(world_.agent->state().notes.contains(other.uid));
  world_.run_unseen(other);
  world_.synchronize({half, other});
  EXPECT_EQ(world_.agent->state().notes.at(other.uid), note);
}

/// The kubelet's two files, copied before the first start of the service (see docs/cookbook).
TEST_P(NriSynchronize, PodsOfTheKubeletsFilesKeepTheirCpus) {
  const PodSpec b = exclusive("b", 2);
  const PodSpec gone = exclusive("gone", 1);
  RuntimeWorld earlier(GetParam());
  for (const PodSpec& spec : {exclusive("first", 3), gone, b}) earlier.run(spec);
  EXPECT_EQ(earlier.cpus(b), "5-6");
  ASSERT_TRUE(earlier.agent->checkpoint_journal().has_value());
  world_.follower.reset();
  world_.agent.reset();
  for (const auto& file : std::filesystem::directory_iterator(world_.state.path())) {
    std::filesystem::remove(file.path());
  }
  world_.state.write("cpu_manager_state",
                     read_file(earlier.state.path() + "/cpu_manager_state").value());
  world_.restart();
  EXPECT_EQ(world_.agent->state().node.held.size(), 3U);
  world_.put(RuntimeWorld::id_of(b), "5-6");
  world_.run_unseen(b);
  world_.synchronize({b});
  EXPECT_EQ(world_.cpus(b), "5-6");
  EXPECT_EQ(counters().found_unpinned, 0U);
  EXPECT_THAT(world_.agent->state().node.held, IsEmpty()) << "what has ended is released";
  EXPECT_EQ(agent::shared_pool(world_.agent->node(), world_.agent->state().node).to_string(),
            "0-4,7");
}

/// The plugin missed CreateContainer, or everything before START_CONTAINER.
TEST_P(NriSynchronize, AContainerThatWasCreatedWithoutItIsPinnedAtTheGate) {
  const PodSpec b = exclusive("b", 2);
  ASSERT_TRUE(world_.start(b).has_value());
  EXPECT_EQ(world_.cpus(b), "1-2");
  EXPECT_EQ(counters().found_unpinned, 1U);
  const PodSpec big = exclusive("big", 9);
  EXPECT_THAT(world_.start(big).error().message, HasSubstr("is rejected"));
}

/// containerd 1.7 continues to start containers while a plugin synchronizes. A container whose
/// start would have been reported earlier is shown as created.
TEST_P(NriSynchronize, AContainerThatStartsDuringSynchronizeIsPinned) {
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  world_.run(a);
  world_.run_unseen(b);
  world_.restart();
  world_.synchronize({a, b}, api::ContainerState::CONTAINER_CREATED);
  EXPECT_FALSE(world_.agent->state().adopted.contains({b.uid, "c"}));
  ASSERT_TRUE(world_.send(api::Event::POST_START_CONTAINER, b, "c").has_value());
  EXPECT_TRUE(world_.agent->state().adopted.contains({b.uid, "c"}));
  EXPECT_EQ(world_.cpus(b), "1-2");
  EXPECT_EQ(world_.cpus(a), "0,3-7");
  EXPECT_EQ(counters().found_unpinned, 1U);
  EXPECT_THAT(world_.log, Contains(HasSubstr("was confined to CPUs 0,3-7, expected 1-2")));
}

/// As above, but the start is complete before the plugin answers.
TEST_P(NriSynchronize, AContainerWhoseStartNoEventToldIsPinnedAtTheSecondLook) {
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  world_.run(a);
  world_.run_sandbox(b);
  ASSERT_TRUE(world_.create(b).has_value());
  world_.restart();
  world_.synchronize({a, b}, api::ContainerState::CONTAINER_CREATED);
  for (const char* const when : {"without a group", "its start may be reported soon"}) {
    world_.follower->look(*world_.agent);
    EXPECT_FALSE(world_.agent->state().adopted.contains({b.uid, "c"})) << when;
    if (world_.cpus(b) == "gone") world_.make_group(b);
  }
  world_.follower->look(*world_.agent);
  EXPECT_TRUE(world_.agent->state().adopted.contains({b.uid, "c"}));
  EXPECT_EQ(world_.cpus(b), "1-2");
  EXPECT_EQ(counters().found_unpinned, 0U);
  world_.stop(b);
  EXPECT_FALSE(world_.agent->state().adopted.contains({b.uid, "c"}));
}

/// As above, but the earlier container of the same name ends only during Synchronize.
TEST_P(NriSynchronize, AContainerThatStartsDuringSynchronizeGetsTheGroupOfItsOwn) {
  const PodSpec b = exclusive("b", 2);
  world_.run(b);
  const std::string earlier = world_.group(b);
  world_.restart();
  world_.suffix = "-again";
  world_.make_group(b);
  world_.synchronize({b}, api::ContainerState::CONTAINER_CREATED);
  EXPECT_TRUE(world_.agent->state().adopted.find({b.uid, "c"})->ends_with(earlier));
  world_.kernel.find(earlier)->processes.clear();
  ASSERT_TRUE(world_.send(api::Event::POST_START_CONTAINER, b, "c").has_value());
  EXPECT_TRUE(world_.agent->state().adopted.find({b.uid, "c"})->ends_with(world_.group(b)));
  EXPECT_EQ(world_.cpus(b), "1-2");
}

/// As above, but Synchronize does not show the container; the earlier one of the same name is
/// removed.
TEST_P(NriSynchronize, AContainerThatSynchronizeHasMissedIsPinned) {
  const PodSpec b = exclusive("b", 2);
  world_.run(b);
  world_.end(b);
  world_.suffix = "-again";
  world_.make_group(b);
  world_.restart();
  world_.synchronize({});
  ASSERT_TRUE(world_.send(api::Event::POST_START_CONTAINER, b, "c").has_value());
  EXPECT_EQ(world_.cpus(b), "1-2");
  EXPECT_EQ(counters().found_unpinned, 1U);
  const PodSpec big = exclusive("big", 9);
  world_.run_unseen(big);
  ASSERT_TRUE(world_.send(api::Event::POST_START_CONTAINER, big, "c").has_value());
  EXPECT_EQ(world_.cpus(big), "0,3-7");
  EXPECT_THAT(world_.log,
              Contains(HasSubstr("runs in the shared pool: pod 'default/big' is rejected")));
}

/// An earlier service answered its creation, which was not finished at Synchronize.
TEST_P(NriSynchronize, AContainerThatWasBeingCreatedKeepsItsCpus) {
  const PodSpec pod = named("p", {limited("c", "2", "64Mi"), limited("d", "1", "64Mi")});
  world_.run_sandbox(pod);
  ASSERT_TRUE(world_.create(pod, "c").has_value());
  world_.restart();
  api::SynchronizeRequest without_it;
  *without_it.add_pods() = world_.sandbox(pod);
  (void)world_.follower->synchronize(*world_.agent, without_it);
  ASSERT_TRUE(world_.start(pod, "c").has_value());
  EXPECT_EQ(world_.cpus(pod, "c"), "1-2");
  ASSERT_TRUE(world_.create(pod, "d").has_value());
  ASSERT_TRUE(world_.start(pod, "d").has_value());
  EXPECT_EQ(world_.cpus(pod, "c"), "1-2");
  EXPECT_EQ(world_.cpus(pod, "d"), "3");
  EXPECT_EQ(counters().found_unpinned, 0U);
}

/// An event of an earlier container is out of date.
TEST_P(NriSynchronize, TheLateStartOfAnEarlierContainerIsIgnored) {
  const PodSpec b = exclusive("b", 2);
  world_.run(b);
  const std::string group = world_.group(b);
  world_.suffix = "-earlier";
  ASSERT_TRUE(world_.send(api::Event::POST_START_CONTAINER, b, "c").has_value());
  EXPECT_TRUE(world_.agent->state().adopted.find({b.uid, "c"})->ends_with(group));
  EXPECT_EQ(counters().found_unpinned, 0U);
  EXPECT_THAT(world_.log, IsEmpty());
}

/// The earlier container of the same name also ended during Synchronize, and no event reports that.
TEST_P(NriSynchronize, ALaterContainerThatSynchronizeHasMissedIsPinned) {
  const PodSpec b = exclusive("b", 2);
  world_.run(b);
  const std::string earlier = world_.group(b);
  world_.restart();
  world_.synchronize({b});
  world_.kernel.find(earlier)->processes.clear();
  world_.suffix = "-again";
  world_.make_group(b);
  EXPECT_NE(world_.cpus(b), "1-2");
  ASSERT_TRUE(world_.send(api::Event::POST_START_CONTAINER, b, "c").has_value());
  EXPECT_TRUE(world_.agent->state().adopted.find({b.uid, "c"})->ends_with(world_.group(b)));
  EXPECT_EQ(world_.cpus(b), "1-2");
  world_.stop(b);
  EXPECT_FALSE(world_.agent->state().adopted.contains({b.uid, "c"}));
}

TEST_P(NriSynchronize, SynchronizePinsWhatRuns) {
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  world_.run(a);
  world_.follower.reset();
  world_.run_unseen(b);
  world_.restart();
  world_.synchronize({a, b});
  EXPECT_EQ(world_.cpus(b), "1-2");
  EXPECT_EQ(world_.cpus(a), "0,3-7");
  EXPECT_EQ(world_.cpus(world_.pause_group(b)), "0,3-7");
  EXPECT_EQ(counters().found_unpinned, 1U);
  EXPECT_THAT(world_.follower->take_events(),
              IsSupersetOf({verbs::Event{EventKind::kFoundUnpinned, b.uid, "c"},
                            verbs::Event{EventKind::kAdopted, b.uid, "c"}}));
  EXPECT_THAT(world_.log, Contains(HasSubstr("ran on CPUs 0-7, expected 1-2")));
}

TEST_P(NriSynchronize, ARestartOfTheServiceChangesNothing) {
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  world_.run(a);
  world_.run(b);
  const NodeState before = world_.agent->state().node;
  world_.restart();
  world_.kernel.log.clear();
  world_.synchronize({a, b});
  EXPECT_EQ(world_.agent->state().node.cpu.assignments, before.cpu.assignments);
  EXPECT_EQ(world_.agent->state().node.pods.size(), 2U);
  EXPECT_TRUE(world_.agent->state().adopted.contains({b.uid, "c"}));
  EXPECT_THAT(world_.kernel.log, IsEmpty());
  EXPECT_EQ(counters().found_unpinned, 0U);
  EXPECT_EQ(counters().reverted, 0U);
}

TEST_P(NriSynchronize, WhatIsRejectedAtSynchronizeIsConfined) {
  const PodSpec b = exclusive("b", 2);
  const PodSpec big = exclusive("big", 6);
  world_.run(b);
  world_.run_unseen(big);
  world_.synchronize({b, big});
  EXPECT_EQ(world_.cpus(big), "0,3-7");
  EXPECT_EQ(counters().found_unpinned, 1U);
  EXPECT_EQ(world_.cpus(b), "1-2");
}

TEST_P(NriSynchronize, SynchronizesFiveHundredContainers) {
  std::vector<PodSpec> pods = {exclusive("x", 2)};
  for (int i = 0; i < 499; ++i) pods.push_back(shared("s" + std::to_string(i)));
  for (const PodSpec& spec : pods) world_.run_unseen(spec);
  world_.synchronize(pods);
  for (const PodSpec& spec : pods) {
    ASSERT_EQ(world_.cpus(spec), spec.uid == PodUid("x") ? "1-2" : "0,3-7") << spec.uid.value;
    ASSERT_EQ(world_.cpus(world_.pause_group(spec)), "0,3-7") << spec.uid.value;
  }
  EXPECT_EQ(counters().found_unpinned, 500U);
}

INSTANTIATE_TEST_SUITE_P(Versions, NriSynchronize,
                         testing::Values(enforce::CgroupVersion::kV1, enforce::CgroupVersion::kV2),
                         [](const auto& version) {
                           return version.param == enforce::CgroupVersion::kV1 ? "V1" : "V2";
                         });

}  // namespace
}  // namespace pinfold::nri
