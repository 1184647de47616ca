#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "pinfold/agent/reconcile.hpp"
#include "runtime_world.hpp"

/// Groups confined to the shared pool follow it, on the model of both cgroup versions.
namespace pinfold::nri {
namespace {

using test::exclusive;
using test::RuntimeWorld;
using test::shared;

class NriConfined : public testing::TestWithParam<enforce::CgroupVersion> {
 protected:
  RuntimeWorld world_{GetParam()};
  const PodSpec a_ = shared("a");
  const PodSpec b_ = exclusive("b", 2);

  std::string& written(const std::string& group) {
    return world_.kernel.find(group)->files["cpuset.cpus"];
  }
  /// Ends the pod with CPUs 1-2.
  void end_b() {
    world_.stop(b_);
    world_.remove_sandbox(b_);
  }
  void look() { world_.follower->look(*world_.agent); }
  static ContainerId name_of(const PodSpec& spec) { return {spec.uid, "c"}; }
  /// Returns the containers reported as having run unpinned since the last call.
  std::vector<ContainerId> found_unpinned() {
    std::vector<ContainerId> found;
    for (const verbs::Event& change : world_.follower->take_events()) {
      if (change.kind == verbs::EventKind::kFoundUnpinned) {
        found.push_back({change.pod, change.container});
      }
    }
    return found;
  }
};

TEST_P(NriConfined, ASandboxFollowsThePoolBothWays) {
  const PodSpec d = exclusive("d", 1);
  world_.run(a_);
  world_.run(b_);
  world_.run(d);
  EXPECT_EQ(world_.cpus(world_.pause_group(a_)), "0,4-7");
  world_.stop(d);
  EXPECT_EQ(world_.cpus(world_.pause_group(a_)), "0,4-7") << "it may start again";
  world_.remove_sandbox(d);
  EXPECT_EQ(world_.cpus(world_.pause_group(a_)), "0,3-7");
  end_b();
  EXPECT_EQ(world_.cpus(world_.pause_group(a_)), "0-7");
  world_.run(d);
  EXPECT_EQ(world_.cpus(world_.pause_group(a_)), "0,2-7");
}

TEST_P(NriConfined, AnUnknownContainerFollowsThePoolBothWays) {
  const PodSpec unseen = shared("unseen");
  const std::string nested = world_.group(unseen) + "/init.scope";
  world_.run(b_);
  world_.run_unseen(unseen);
  world_.kernel.make_path(nested);
  world_.kernel.find(nested)->processes = {1'500'000'000};
  look();
  EXPECT_EQ(world_.cpus(world_.group(unseen)), "0,3-7");
  EXPECT_EQ(world_.cpus(nested), "0,3-7");
  end_b();
  EXPECT_EQ(world_.cpus(world_.group(unseen)), "0-7");
  EXPECT_EQ(world_.cpus(nested), "0-7");
  world_.run(b_);
  EXPECT_EQ(world_.cpus(world_.group(unseen)), "0,3-7");
  EXPECT_EQ(world_.cpus(nested), "0,3-7");
  EXPECT_THAT(world_.kernel.find(nested)->processes, testing::SizeIs(1)) << "it was not killed";
}

/// See ModelKernel::Dir::processes.
TEST_P(NriConfined, AContainerWhoseProcessesAreNotVisibleFollowsThePool) {
  const PodSpec unseen = shared("unseen");
  world_.kernel.lists_all_processes = GetParam() == enforce::CgroupVersion::kV2;
  world_.restart();
  world_.synchronize({});
  world_.run(b_);
  world_.run_unseen(unseen);
  world_.kernel.find(world_.group(unseen))->processes = {0};
  look();
  EXPECT_EQ(world_.cpus(world_.group(unseen)), "0,3-7");
}

/// A container gets CPUs that were shared and returns others, which the sandbox may then use.
TEST_P(NriConfined, ASandboxLeavesBeforeAContainerIsMoved) {
  world_.run(a_);
  world_.run(b_);
  NodeState next = world_.agent->state().node;
  next.cpu.assignments[ContainerId{b_.uid, "c"}] = CpuSet::range(3, 4);
  next.cpu.default_set = CpuSet{0, 1, 2, 5, 6, 7};
  world_.kernel.log.clear();
  ASSERT_TRUE(
      world_.agent->reconfigure(std::nullopt, next, agent::RunningProcesses::kRefuse).has_value());
  const auto& log = world_.kernel.log;
  const auto find = [&](const std::string& end) {
    return std::find_if(log.begin(), log.end(),
                        [&](const std::string& line) { return line.ends_with(end); });
  };
  const auto leaves = find(world_.pause_group(a_) + " cpuset.cpus 0,5-7");
  const auto moves = find(world_.group(b_) + " cpuset.cpus 3-4");
  ASSERT_NE(moves, log.end());
  EXPECT_LT(leaves, moves);
  look();
  EXPECT_EQ(world_.cpus(world_.pause_group(a_)), "0-2,5-7");
  EXPECT_EQ(world_.cpus(world_.pause_group(b_)), "0-2,5-7");
}

TEST_P(NriConfined, ThePoolShrinksAndGrowsAtOnce) {
  const PodSpec d = exclusive("d", 4);
  world_.run_sandbox(a_);
  world_.run(b_);
  // One synchronization shows that one pod has ended and that another one exists.
  world_.end(b_);
  world_.remove_groups(b_);
  world_.run_unseen(d);
  world_.synchronize({d});
  EXPECT_EQ(world_.cpus(d), "4-7");
  EXPECT_EQ(world_.cpus(world_.pause_group(a_)), "0-3");
}

/// Koordinator confines only the group of all best-effort pods (cgroup v2) and may lift that at any
/// moment. No group below may then have exclusive CPUs, not even until the next look.
TEST(NriHeldNarrower, ASandboxIsOffExclusiveCpusWhenAllIsGivenBack) {
  RuntimeWorld world(enforce::CgroupVersion::kV2);
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  const PodSpec d = exclusive("d", 2);
  const std::string sandbox = world.pause_group(a);
  const std::string pod = sandbox.substr(0, sandbox.rfind('/'));
  const auto hold = [&](const char* cpus) { world.kernel.find(pod)->files["cpuset.cpus"] = cpus; };
  world.run(b);
  world.kernel.make_path(pod);
  hold("0");
  world.run_sandbox(a);
  EXPECT_EQ(world.cpus(sandbox), "0");
  hold("");
  EXPECT_EQ(world.cpus(sandbox), "0,3-7") << "it was made while its pod was held narrower";
  hold("0");
  world.run(d);
  hold("");
  EXPECT_EQ(world.cpus(sandbox), "0,5-7") << "its pod was held narrower when more became exclusive";
  world.stop(d);
  world.remove_sandbox(d);
  EXPECT_EQ(world.cpus(sandbox), "0,3-7");
}

/// The group gets back exactly the cpuset from before it was confined.
TEST_P(NriConfined, ACpusetOfAnotherIsGivenBackAndNotExceeded) {
  world_.run_sandbox(a_);
  written(world_.pause_group(a_)) = "1-4";
  world_.run(b_);
  EXPECT_EQ(world_.cpus(world_.pause_group(a_)), "3-4");
  end_b();
  EXPECT_EQ(world_.cpus(world_.pause_group(a_)), "1-4");
  world_.run(exclusive("d", 1));
  EXPECT_EQ(world_.cpus(world_.pause_group(a_)), "2-4");
}

TEST_P(NriConfined, WhatItsOwnerHasChangedSinceIsLeftAlone) {
  world_.run_sandbox(a_);
  world_.run(b_);
  EXPECT_EQ(world_.cpus(world_.pause_group(a_)), "0,3-7");
  written(world_.pause_group(a_)) = "5";
  end_b();
  EXPECT_EQ(world_.cpus(world_.pause_group(a_)), "5");
}

TEST_P(NriConfined, WhatItsOwnerHasWidenedSinceIsConfinedAgain) {
  world_.run_sandbox(a_);
  world_.run(b_);
  written(world_.pause_group(a_)) = "1-5";
  look();
  EXPECT_EQ(world_.cpus(world_.pause_group(a_)), "3-5");
  end_b();
  EXPECT_EQ(world_.cpus(world_.pause_group(a_)), "1-5");
}

TEST_P(NriConfined, AGroupThatIsMadeAgainIsAnother) {
  world_.run_sandbox(a_);
  world_.run(b_);
  world_.remove_groups(a_);
  look();
  world_.kernel.make_path(world_.pause_group(a_));
  written(world_.pause_group(a_)) = "0,3-7";
  end_b();
  EXPECT_EQ(world_.cpus(world_.pause_group(a_)), "0,3-7");
}

TEST_P(NriConfined, NothingGrowsWhileTheOldOwnerRuns) {
  world_.run_sandbox(a_);
  world_.run(b_);
  ASSERT_TRUE(world_.send(api::Event::REMOVE_POD_SANDBOX, b_).has_value());
  EXPECT_THAT(world_.log, testing::Contains(testing::HasSubstr("remove pod 'b'")));
  EXPECT_EQ(world_.cpus(b_), "1-2");
  EXPECT_EQ(world_.cpus(world_.pause_group(a_)), "0,3-7");
  look();
  EXPECT_EQ(world_.cpus(world_.pause_group(a_)), "0,3-7");
}

TEST_P(NriConfined, NothingGrowsBeforeContainersHaveWhatIsDesired) {
  const PodSpec d = shared("d");
  world_.run_sandbox(a_);
  world_.run(d);
  world_.run(b_);
  world_.stop(b_);
  world_.kernel.writes_until_failure = 0;
  world_.remove_sandbox(b_);
  world_.kernel.writes_until_failure = -1;
  EXPECT_EQ(world_.agent->state().node.pods.size(), 1U) << "it is decided";
  EXPECT_EQ(world_.cpus(d), "0,3-7");
  look();
  EXPECT_EQ(world_.cpus(world_.pause_group(a_)), "0,3-7") << "nothing was read back yet";
  ASSERT_TRUE(reconcile(*world_.agent).has_value());
  look();
  EXPECT_EQ(world_.cpus(d), "0-7");
  EXPECT_EQ(world_.cpus(world_.pause_group(a_)), "0-7");
}

TEST_P(NriConfined, WhatHasBeenAdoptedSinceHasWhatIsDecided) {
  const PodSpec d = exclusive("d", 1);
  world_.run(b_);
  world_.run_unseen(d);
  look();
  EXPECT_EQ(world_.cpus(d), "0,3-7");
  world_.synchronize({b_, d});
  EXPECT_EQ(world_.cpus(d), "3");
  EXPECT_EQ(world_.cpus(world_.pause_group(d)), "0,4-7");
  end_b();
  EXPECT_EQ(world_.cpus(d), "3");
  EXPECT_EQ(world_.cpus(world_.pause_group(d)), "0-2,4-7");
}

/// It ran before it was known, even if it has the right CPUs when the runtime reports it.
TEST_P(NriConfined, AContainerThatWasConfinedBeforeItWasKnownIsCounted) {
  const PodSpec unseen = shared("unseen");
  world_.run(b_);
  world_.run_unseen(unseen);
  look();
  EXPECT_EQ(world_.cpus(unseen), "0,3-7");
  EXPECT_EQ(world_.follower->counters().found_unpinned, 0U);
  world_.synchronize({b_, unseen});
  EXPECT_EQ(world_.follower->counters().found_unpinned, 1U);
  EXPECT_THAT(world_.follower->take_events(),
              testing::Contains(verbs::Event{verbs::EventKind::kFoundUnpinned, unseen.uid, "c"}));
  for (int i = 0; i < 3; ++i) look();
  EXPECT_EQ(world_.follower->counters().found_unpinned, 1U) << "once";
}

/// Without the runtime, sandboxes and containers look alike, and containers have no names.
TEST_P(NriConfined, ThoseThatAreFoundBeforeTheRuntimeIsConnectedAreCountedWhenItIs) {
  const PodSpec unseen = shared("unseen");
  world_.run(b_);
  world_.run_unseen(unseen);
  world_.restart();
  for (int i = 0; i < 3; ++i) look();
  EXPECT_EQ(world_.cpus(unseen), "0,3-7");
  EXPECT_EQ(world_.follower->counters().found_unpinned, 0U);
  world_.synchronize({b_, unseen});
  for (int i = 0; i < 3; ++i) look();
  EXPECT_EQ(world_.follower->counters().found_unpinned, 1U);
  EXPECT_EQ(found_unpinned(), std::vector{name_of(unseen)});
}

TEST_P(NriConfined, AContainerThatWasCountedBeforeItWasKnownGetsItsNameOnce) {
  const PodSpec unseen = shared("unseen");
  world_.run(b_);
  world_.run_unseen(unseen);
  for (int i = 0; i < 3; ++i) look();
  EXPECT_EQ(found_unpinned(), (std::vector<ContainerId>(2))) << "with its sandbox";
  for (int i = 0; i < 2; ++i) world_.synchronize({b_, unseen});
  EXPECT_EQ(found_unpinned(), std::vector{name_of(unseen)});
  EXPECT_EQ(world_.follower->counters().found_unpinned, 2U);
}

TEST_P(NriConfined, AfterARestartThatOfTheStateIsItsOwn) {
  world_.run(a_);
  world_.run(b_);
  world_.restart();
  world_.synchronize({a_, b_});
  EXPECT_EQ(world_.cpus(world_.pause_group(a_)), "0,3-7");
  end_b();
  EXPECT_EQ(world_.cpus(world_.pause_group(a_)), "0-7");
}

TEST_P(NriConfined, WhatHasEndedMeanwhileIsGivenToThemAtTheRestart) {
  world_.run(a_);
  world_.run(b_);
  world_.end(b_);
  world_.remove_groups(b_);
  world_.restart();
  look();
  EXPECT_EQ(world_.cpus(world_.pause_group(a_)), "0,3-7") << "the runtime has not said so";
  world_.synchronize({a_});
  EXPECT_EQ(world_.cpus(a_), "0-7");
  EXPECT_EQ(world_.cpus(world_.pause_group(a_)), "0-7");
}

TEST_P(NriConfined, AfterARestartAnotherCpusetIsAnothers) {
  world_.run(a_);
  world_.run(b_);
  written(world_.pause_group(a_)) = "3-5";
  world_.restart();
  world_.synchronize({a_, b_});
  end_b();
  EXPECT_EQ(world_.cpus(world_.pause_group(a_)), "3-5");
}

/// Later, a cpuset equal to the shared pool may be another program's.
TEST_P(NriConfined, OnlyTheFirstSynchronizationAssumesSo) {
  world_.run(b_);
  world_.restart();
  world_.synchronize({b_});
  world_.run_unseen(a_);
  written(world_.pause_group(a_)) = "0,3-7";
  world_.synchronize({b_, a_});
  end_b();
  EXPECT_EQ(world_.cpus(world_.pause_group(a_)), "0,3-7");
}

TEST_P(NriConfined, WhatFailsIsTriedAgainWithTheNextChange) {
  const PodSpec d = exclusive("d", 1);
  world_.run_sandbox(a_);
  world_.run(b_);
  world_.run(d);
  world_.stop(d);
  world_.kernel.writes_until_failure = 0;
  world_.remove_sandbox(d);
  look();
  EXPECT_THAT(world_.log, testing::SizeIs(2)) << "one for each sandbox";
  EXPECT_THAT(world_.log, testing::Each(testing::HasSubstr("does not get CPUs 0,3-7")));
  world_.kernel.writes_until_failure = -1;
  EXPECT_EQ(world_.cpus(world_.pause_group(a_)), "0,4-7");
  end_b();
  EXPECT_EQ(world_.cpus(world_.pause_group(a_)), "0-7");
}

INSTANTIATE_TEST_SUITE_P(Versions, NriConfined,
                         testing::Values(enforce::CgroupVersion::kV1, enforce::CgroupVersion::kV2),
                         [](const auto& version) {
                           return version.param == enforce::CgroupVersion::kV1 ? "V1" : "V2";
                         });

}  // namespace
}  // namespace pinfold::nri
