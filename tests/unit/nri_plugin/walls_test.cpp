#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "naive_plugin.hpp"
#include "pinfold/agent/reconcile.hpp"
#include "pinfold/nri/session.hpp"
#include "runtime_world.hpp"

/// The obstacles that CPU-pinning plugins meet (docs/nri.md, "Walls"). Each is tested with Pinfold,
/// which must hold, and with a naive plugin in the same world, which must break.
namespace pinfold::nri {
namespace {

using test::exclusive;
using test::Habit;
using test::NaivePlugin;
using test::RuntimeWorld;
using test::shared;
using testing::HasSubstr;
using testing::IsEmpty;

enum class Who { kPinfold, kNaive };
using Case = std::tuple<Who, enforce::CgroupVersion>;

std::string name_of(const testing::TestParamInfo<Case>& info) {
  const auto& [who, version] = info.param;
  return std::string(who == Who::kPinfold ? "Pinfold" : "Naive") +
         (version == enforce::CgroupVersion::kV1 ? "V1" : "V2");
}

class NriWalls : public testing::TestWithParam<Case> {
 protected:
  [[nodiscard]] static bool is_pinfold() { return std::get<Who>(GetParam()) == Who::kPinfold; }
  /// Returns the plugin of this case; only a naive one has the habit.
  [[nodiscard]] static RuntimeWorld::MakeFollower plugin(Habit habit) {
    if (is_pinfold()) return {};
    return [habit](RuntimeWorld& world) { return std::make_unique<NaivePlugin>(world, habit); };
  }
  static RuntimeWorld world_with(Habit habit = Habit::kNone) {
    return RuntimeWorld(std::get<enforce::CgroupVersion>(GetParam()), settings::NriMode::kEnforce,
                        {}, plugin(habit));
  }

  /// Judges these running pods by the kernel alone. Returns "" if each exclusive container has as
  /// many CPUs as it should, no other container has any of them, and shared containers have all
  /// remaining CPUs.
  static std::string broken(RuntimeWorld& world, const std::vector<PodSpec>& pods) {
    CpuSet pool = CpuSet::range(0, 7);
    for (const PodSpec& pod : pods) {
      const std::size_t count = exclusive_count(pod);
      const CpuSet has = cpus(world, pod);
      if (count == 0) continue;
      if (has.size() != count || !pool.contains_all(has)) {
        return fmt::format("{}: CPUs {}, expected {} of {}", pod.uid.value, has.to_string(), count,
                           pool.to_string());
      }
      pool -= has;
    }
    for (const PodSpec& pod : pods) {
      const CpuSet has = cpus(world, pod);
      if (exclusive_count(pod) > 0 || has == pool) continue;
      return fmt::format("{}: CPUs {}, the shared pool is {}", pod.uid.value, has.to_string(),
                         pool.to_string());
    }
    return "";
  }
  /// Expects that Pinfold breaks nothing and that the naive plugin breaks `naive`.
  static void expect(RuntimeWorld& world, const std::vector<PodSpec>& pods,
                     const std::string& naive) {
    EXPECT_EQ(broken(world, pods), is_pinfold() ? "" : naive);
  }
  /// Runs the periodic work once.
  static void pass_time(RuntimeWorld& world) {
    world.follower->look(*world.agent);
    ASSERT_TRUE(reconcile(*world.agent).has_value());
  }
  static CpuSet cpus(RuntimeWorld& world, const PodSpec& pod) {
    return CpuSet::parse(world.cpus(pod)).value_or(CpuSet());
  }

 private:
  static std::size_t exclusive_count(const PodSpec& pod) {
    return static_cast<std::size_t>(
        amount_of(pod.containers.front().resources.limits, "cpu").value());
  }
};

/// The runtime fails open: it does not wait for a plugin that is dead or too slow.
TEST_P(NriWalls, WhatWasMadeWithoutThePluginIsPinnedWhenItIsBack) {
  auto world = world_with();
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  world.run(a);
  world.run_unseen(b);
  world.restart();
  world.synchronize({a, b});
  pass_time(world);
  expect(world, {a, b}, "b: CPUs 0-7, expected 2 of 0-7");
}

TEST_P(NriWalls, WhatWasCreatedWithoutThePluginIsPinnedBeforeItsProgramRuns) {
  auto world = world_with();
  const PodSpec b = exclusive("b", 2);
  world.run(b);
  world.restart();
  world.synchronize({b});
  const PodSpec d = exclusive("d", 3);
  ASSERT_TRUE(world.start(d).has_value());
  expect(world, {b, d}, "d: CPUs 0-7, expected 3 of 0,3-7");
}

TEST_P(NriWalls, WhatNoEventTellsOfIsConfined) {
  auto world = world_with();
  const PodSpec b = exclusive("b", 2);
  const PodSpec unseen = shared("unseen");
  world.run(b);
  world.is_connected = false;
  world.run_unseen(unseen);
  pass_time(world);
  expect(world, {b, unseen}, "unseen: CPUs 0-7, the shared pool is 0,3-7");
}

/// If the update of another container fails, the runtime creates the container nevertheless and
/// does not notify the plugin.
TEST_P(NriWalls, WithoutItsCpusBeingFreeAContainerIsNotCreated) {
  auto world = world_with();
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  world.run(a);
  world.run_sandbox(b);
  world.kernel.distort = [](const std::string& file, const std::string& value) {
    return file == "cpuset.cpus" && value == "0,3-7" ? "0-7" : value;
  };
  const auto created = world.create(b);
  EXPECT_EQ(created.has_value(), !is_pinfold());
  if (!created) {
    EXPECT_THAT(created.error().message, HasSubstr("exclusive to 'podb/c'"));
    return;
  }
  ASSERT_TRUE(world.start(b).has_value());
  expect(world, {a, b}, "a: CPUs 0-7, the shared pool is 0,3-7");
}

/// The runtime answers such an update but does not apply it.
TEST_P(NriWalls, AnUpdateWhileAContainerIsBeingCreatedIsMadeUpFor) {
  auto world = world_with();
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  world.run_sandbox(a);
  world.run_sandbox(b);
  const auto created = world.ask_to_create(a);
  ASSERT_TRUE(created.has_value());
  ASSERT_TRUE(world.create(b).has_value());
  world.finish_creation(a, *created);
  ASSERT_TRUE(world.start(b).has_value());
  ASSERT_TRUE(world.start(a).has_value());
  expect(world, {a, b}, "a: CPUs 0-7, the shared pool is 0,3-7");
}

/// Another plugin may have changed the answer.
TEST_P(NriWalls, AnAnswerIsReadBackBeforeTheProgramRuns) {
  auto world = world_with();
  const PodSpec b = exclusive("b", 2);
  world.run_sandbox(b);
  ASSERT_TRUE(world.create(b).has_value());
  world.put(RuntimeWorld::cpus_update(RuntimeWorld::id_of(b), "0-7"));
  ASSERT_TRUE(world.start(b).has_value());
  expect(world, {b}, "b: CPUs 0-7, expected 2 of 0-7");
}

/// The runtime waits for the plugin, which waits for the runtime.
TEST_P(NriWalls, NothingIsAskedOfTheRuntimeWhileItWaits) {
  auto world = world_with(Habit::kUpdatesByItself);
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  world.run(a);
  world.run(b);
  EXPECT_EQ(world.is_connected, is_pinfold());
  expect(world, {a, b}, "b: CPUs 0-7, expected 2 of 0-7");
}

/// containerd sends Synchronize in parts from 4 MiB on. The library joins them; the naive plugin
/// reads the socket itself.
TEST_P(NriWalls, SynchronizeInPartsIsOne) {
  auto world = world_with(Habit::kForgetsAtSynchronize);
  const PodSpec b = exclusive("b", 2);
  const PodSpec d = exclusive("d", 3);
  const PodSpec e = exclusive("e", 1);
  for (const PodSpec& pod : {b, d}) world.run(pod);
  std::vector<api::SynchronizeRequest> parts = {world.to_synchronize({b}),
                                                world.to_synchronize({d})};
  parts[0].set_more(true);
  if (!is_pinfold()) {
    for (const auto& part : parts) world.synchronize_with(part);
  } else {
    const auto now = TimePoint() + std::chrono::seconds(1);
    Session session({"pinfold", "10"}, now, now + std::chrono::seconds(5));
    std::string bytes;
    for (std::uint32_t i = 0; i < parts.size(); ++i) {
      const ttrpc::TtrpcRequest request{
          "nri.pkg.api.v1alpha1.Plugin", "Synchronize", parts[i].SerializeAsString(), 0, {}};
      multiplex(ConnectionId::kPlugin,
                ttrpc::encode(
                    ttrpc::Frame{2 * i + 1, ttrpc::FrameType::kRequest, 0, ttrpc::encode(request)}),
                bytes);
    }
    const auto events = session.receive(bytes).value();
    ASSERT_EQ(events.size(), 1U);
    world.synchronize_with(std::get<api::SynchronizeRequest>(std::get<Asked>(events[0]).request));
  }
  world.run(e);
  expect(world, {b, d, e}, "e: CPUs 1, expected 1 of 0,6-7");
}

/// Synchronize leaves out exited containers; the kubelet starts them again in the same sandbox.
TEST_P(NriWalls, AContainerThatExitedBeforeTheRuntimesRestartKeepsItsCpus) {
  auto world = world_with(Habit::kForgetsAtSynchronize);
  const PodSpec b = exclusive("b", 4);
  const PodSpec d = exclusive("d", 4);
  world.run(b);
  world.end(b);
  api::SynchronizeRequest without_it;
  *without_it.add_pods() = world.sandbox(b);
  world.restart_runtime();
  world.synchronize_with(without_it);
  world.run_sandbox(d);
  EXPECT_EQ(world.create(d).has_value(), !is_pinfold());
  world.suffix = "-again";
  const auto again = world.create(b);
  EXPECT_EQ(again.has_value(), is_pinfold());
  if (!again) return;
  ASSERT_TRUE(world.start(b).has_value());
  EXPECT_EQ(broken(world, {b}), "");
}

/// A runtime that could not load a shim in time shows neither its pod nor its containers, which
/// still run.
TEST_P(NriWalls, WhatTheRuntimeHasForgottenKeepsItsCpus) {
  auto world = world_with(Habit::kForgetsAtSynchronize);
  const PodSpec b = exclusive("b", 4);
  const PodSpec d = exclusive("d", 2);
  world.run(b);
  world.restart_runtime();
  world.synchronize_with({});
  pass_time(world);
  world.run(d);
  expect(world, {b, d}, "d: CPUs 1-2, expected 2 of 0,5-7");
}

/// After a restart of the runtime no event reports the end of an earlier sandbox, either.
TEST_P(NriWalls, APodThatEndsWithoutAnEventReleasesItsCpus) {
  auto world = world_with();
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  world.run(a);
  world.run(b);
  world.end(b);
  world.restart_runtime();
  api::SynchronizeRequest request = world.to_synchronize({a});
  *request.add_pods() = world.sandbox(b);
  world.synchronize_with(request);
  world.remove_sandbox(b);
  pass_time(world);
  expect(world, {a}, "a: CPUs 0,3-7, the shared pool is 0-7");
}

/// Its creation was answered before the plugin was restarted, and Synchronize does not show it yet.
TEST_P(NriWalls, AContainerThatWasBeingCreatedKeepsItsCpusOverARestart) {
  auto world = world_with();
  const PodSpec b = exclusive("b", 2);
  const PodSpec d = exclusive("d", 2);
  world.run_sandbox(b);
  const auto created = world.ask_to_create(b);
  ASSERT_TRUE(created.has_value());
  world.restart();
  api::SynchronizeRequest without_it;
  *without_it.add_pods() = world.sandbox(b);
  world.synchronize_with(without_it);
  world.finish_creation(b, *created);
  world.run(d);
  ASSERT_TRUE(world.start(b).has_value());
  expect(world, {b, d}, "d: CPUs 1-2, expected 2 of 0,3-7");
}

/// An update without a cpuset changes nothing.
TEST_P(NriWalls, TheSharedPoolIsWrittenAlsoIfItIsEverything) {
  auto world = world_with(Habit::kClearsCpusets);
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  world.run(b);
  world.run(a);
  world.stop(b);
  ASSERT_TRUE(world.send(api::Event::REMOVE_CONTAINER, b, "c").has_value());
  world.remove_sandbox(b);
  expect(world, {a}, "a: CPUs 0,3-7, the shared pool is 0-7");
}

/// The kubelet removes it after it has created the next container of the same name.
TEST_P(NriWalls, TheLateRemovalOfAnEarlierContainerReleasesNothing) {
  auto world = world_with();
  const PodSpec b = exclusive("b", 2);
  const PodSpec d = exclusive("d", 2);
  world.run(b);
  world.stop(b);
  world.suffix = "-again";
  ASSERT_TRUE(world.create(b).has_value());
  ASSERT_TRUE(world.start(b).has_value());
  world.suffix = "";
  ASSERT_TRUE(world.send(api::Event::REMOVE_CONTAINER, b, "c").has_value());
  world.run(d);
  const CpuSet theirs = cpus(world, d);
  world.suffix = "-again";
  EXPECT_EQ(world.cpus(b), "1-2");
  EXPECT_EQ(theirs.size(), 2U);
  EXPECT_EQ(theirs.intersects({1, 2}), !is_pinfold()) << theirs.to_string();
}

/// No event reports the updates of other plugins.
TEST_P(NriWalls, ACpusetThatAnotherPluginSetsIsSetBack) {
  auto world = world_with();
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  world.run(a);
  world.run(b);
  world.put(RuntimeWorld::cpus_update(RuntimeWorld::id_of(a), "0-7"));
  pass_time(world);
  expect(world, {a, b}, "a: CPUs 0-7, the shared pool is 0,3-7");
}

TEST_P(NriWalls, UpdateContainerResourcesKeepsTheCpuset) {
  auto world = world_with();
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  world.run(a);
  world.run(b);
  world.update_by_cri(a, "1-4");
  expect(world, {a, b}, "a: CPUs 1-4, the shared pool is 0,3-7");
}

/// Such a kubelet would overwrite the plugin's cpusets again and again.
TEST_P(NriWalls, AKubeletWithAStaticPolicyIsRefused) {
  auto world = world_with();
  const PodSpec b = exclusive("b", 2);
  world.run_sandbox(b);
  world.kubelet_cpus = "3-4";
  const auto created = world.create(b);
  EXPECT_EQ(created.has_value(), !is_pinfold());
  if (!created) {
    EXPECT_THAT(created.error().message, HasSubstr("set cpuManagerPolicy: none"));
    return;
  }
  ASSERT_TRUE(world.start(b).has_value());
  EXPECT_EQ(world.cpus(b), "1-2");
  world.update_by_cri(b, "3-4");
  EXPECT_EQ(world.cpus(b), "3-4");
  const PodSpec d = exclusive("d", 2);
  world.kubelet_cpus = "";
  world.run(d);
  expect(world, {b, d}, "d: CPUs 3-4, expected 2 of 0-2,5-7");
}

/// If a plugin fails a sandbox, the runtime leaves its group and process behind.
TEST_P(NriWalls, ASandboxThatDoesNotFitIsNotFailed) {
  auto world = world_with(Habit::kRejectsSandboxes);
  const PodSpec big = exclusive("big", 9);
  world.announce(big);
  EXPECT_EQ(world.try_sandbox(big).has_value(), is_pinfold());
  EXPECT_NE(world.cpus(world.pause_group(big)), "gone");
  if (!is_pinfold()) return;
  EXPECT_THAT(world.create(big).error().message, HasSubstr("is rejected"));
  world.remove_sandbox(big);
  EXPECT_EQ(world.cpus(world.pause_group(big)), "gone");
}

/// NRI shows no cgroup of a sandbox, and cannot update it.
TEST_P(NriWalls, SandboxesStayOffExclusiveCpus) {
  auto world = world_with();
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  world.run(a);
  world.run(b);
  for (const PodSpec& pod : {a, b}) {
    EXPECT_EQ(world.cpus(world.pause_group(pod)), is_pinfold() ? "0,3-7" : "0-7");
  }
}

INSTANTIATE_TEST_SUITE_P(Plugins, NriWalls,
                         testing::Combine(testing::Values(Who::kPinfold, Who::kNaive),
                                          testing::Values(enforce::CgroupVersion::kV1,
                                                          enforce::CgroupVersion::kV2)),
                         name_of);

}  // namespace
}  // namespace pinfold::nri
