#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime_world.hpp"

/// Containers that were created or started without the plugin: on the model of both cgroup
/// versions.
namespace pinfold::nri {
namespace {

using service::ChangeKind;
using test::exclusive;
using test::limited;
using test::named;
using test::RuntimeWorld;
using test::shared;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class NriSynchronize : public testing::TestWithParam<enforce::CgroupVersion> {
 protected:
  RuntimeWorld world_{GetParam()};
  [[nodiscard]] const service::FollowerCounters& counters() { return world_.follower->counters(); }
};

/// The plugin was dead between CreateContainer and START_CONTAINER, or while all of it happened.
TEST_P(NriSynchronize, AContainerThatWasCreatedWithoutItIsPinnedAtTheGate) {
  const PodSpec b = exclusive("b", 2);
  ASSERT_TRUE(world_.start(b).has_value());
  EXPECT_EQ(world_.cpus(b), "1-2");
  EXPECT_EQ(counters().found_unpinned, 1U);
  const PodSpec big = exclusive("big", 9);
  EXPECT_THAT(world_.start(big).error().message, HasSubstr("is rejected"));
}

/// containerd 1.7 goes on starting containers while a plugin synchronizes: one whose start it would
/// have reported before is shown as created.
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

/// The same, and its start is over before the plugin has answered.
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

/// The same, and the earlier one of its name ends only then.
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

/// The same with one that is not shown at all; the earlier one of its name has been removed.
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

/// Its creation was answered by an earlier service, and not yet done at Synchronize.
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

/// Of an earlier container: what it says is old.
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

/// The earlier one of its name ended during Synchronize too, of which no event tells.
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
  EXPECT_THAT(world_.follower->take_changes(),
              Contains(service::Change{ChangeKind::kFoundUnpinned, b.uid, "c"}));
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
