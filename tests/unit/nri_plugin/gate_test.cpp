#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "../../crash/memory_fs.hpp"
#include "pinfold/agent/reconcile.hpp"
#include "pinfold/agent/status.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "pinfold/nri_plugin/premises.hpp"
#include "runtime_world.hpp"
#include "temp_dir.hpp"

/// The gate is strict only where exclusive CPUs are at stake, on the model of both cgroup versions.
namespace pinfold::nri {
namespace {

using test::exclusive;
using test::limited;
using test::named;
using test::RuntimeWorld;
using test::shared;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kBestEffort = "kubepods/besteffort";
constexpr const char* kNarrowed = "'/model/kubepods/besteffort' has CPU 0";

class NriGate : public testing::TestWithParam<enforce::CgroupVersion> {
 protected:
  RuntimeWorld world_{GetParam()};
  const PodSpec a_ = shared("a");
  const PodSpec b_ = exclusive("b", 2);

  void must_run(const PodSpec& spec) { ASSERT_NO_FATAL_FAILURE(world_.run(spec)); }
  /// Runs the periodic work once.
  agent::ReconcileReport pass_time() {
    world_.follower->look(*world_.agent);
    return reconcile(*world_.agent).value();
  }
  std::vector<std::string> logged(const std::string& part) {
    std::vector<std::string> found;
    std::copy_if(world_.log.begin(), world_.log.end(), std::back_inserter(found),
                 [&](const std::string& line) { return line.find(part) != line.npos; });
    return found;
  }
  const worker::FollowerCounters& counters() { return world_.follower->counters(); }
  /// Returns the CPUs that are exclusive to no container, according to the state.
  std::string pool() { return world_.agent->state().node.cpu.default_set.to_string(); }
  /// Gives a pod a runtime class that makes no group per container.
  void set_class(const PodSpec& spec, const std::string& handler) {
    world_.handlers[spec.uid] = handler;
    world_.groupless.insert(handler);
  }
  void declare(const std::string& handler) {
    world_.declared = {handler};
    world_.restart();
    world_.synchronize({});
  }
};

TEST_P(NriGate, OnlyAPodThatDemandsQuietCpusDoesNotStartWithoutThem) {
  const quiet::Knob managed{quiet::KnobKind::kInterrupt, "24"};
  world_.knobs.values = {{managed, "0-7"}};
  world_.knobs.fixed = {managed};
  world_.quiet_levels = {{b_.uid, "isolated"}, {PodUid("c"), "system"}};
  ASSERT_NO_FATAL_FAILURE(world_.run_sandbox(b_));
  ASSERT_TRUE(world_.create(b_).has_value());
  const auto started = world_.start(b_);
  ASSERT_FALSE(started.has_value());
  EXPECT_THAT(started.error().message,
              HasSubstr("its pod requires quiet CPUs, but CPUs 1-2: fixed"));
  must_run(exclusive("c", 2));
  must_run(a_);
}

TEST_P(NriGate, APodThatDemandsQuietCpusStartsOnceEverythingCanLeaveThem) {
  const quiet::Knob busy{quiet::KnobKind::kInterrupt, "24"};
  const quiet::Knob partition{quiet::KnobKind::kPartition, "/model/" + world_.group(b_)};
  world_.knobs.values = {{busy, "0-7"}, {partition, "member"}};
  world_.knobs.fixed = {busy};
  world_.quiet_levels = {{b_.uid, "isolated"}};
  ASSERT_NO_FATAL_FAILURE(world_.run_sandbox(b_));
  ASSERT_TRUE(world_.create(b_).has_value());
  world_.knobs.fixed.clear();
  const auto started = world_.start(b_);
  EXPECT_TRUE(started.has_value()) << started.error().message;
  EXPECT_EQ(world_.knobs.values.at(busy), "0,3-7");
  EXPECT_EQ(world_.knobs.values.at(partition), "isolated");
}

TEST_P(NriGate, APodThatDemandsIsolatedCpusDoesNotStartWithoutAPartition) {
  world_.quiet_levels = {{b_.uid, "isolated"}};
  ASSERT_NO_FATAL_FAILURE(world_.run_sandbox(b_));
  ASSERT_TRUE(world_.create(b_).has_value());
  const auto started = world_.start(b_);
  ASSERT_FALSE(started.has_value());
  EXPECT_THAT(started.error().message, HasSubstr("has no 'cpuset.cpus.partition'"));
}

TEST_P(NriGate, ASharedContainerStartsBelowAGroupThatAnotherHasNarrowed) {
  must_run(a_);
  must_run(b_);
  world_.write_cpus(kBestEffort, "0");
  const PodSpec c = shared("c");
  must_run(c);
  EXPECT_EQ(world_.cpus(c), "0");
  EXPECT_EQ(world_.cpus(a_), "0");
  EXPECT_EQ(world_.cpus(b_), "1-2");
  EXPECT_EQ(counters().start_refusals, 0U);
  EXPECT_THAT(logged(kNarrowed), testing::SizeIs(1)) << "of container c";

  const auto report = pass_time();
  EXPECT_THAT(report.narrowed, testing::SizeIs(2));
  EXPECT_THAT(report.narrowed, testing::Each(HasSubstr(kNarrowed)));
  EXPECT_EQ(report.remaining, report.narrowed);
  EXPECT_THAT(pass_time().drift, IsEmpty()) << "it is not written again at each look";
  EXPECT_THAT(world_.agent->find_drift().value(), testing::Each(HasSubstr(kNarrowed)));
  const auto status = agent::pod_status(*world_.agent, c.uid);
  EXPECT_THAT(status->containers.front().problem, HasSubstr(kNarrowed));
  EXPECT_THAT(logged("podc/c: runs on CPU 0"), IsEmpty()) << "the gate has said it once";
}

TEST_P(NriGate, APartitionOfAnotherThatTakesCpusIsNamed) {
  if (GetParam() == enforce::CgroupVersion::kV1) return;  // the file does not exist there
  must_run(b_);
  world_.kernel.make_path("judge/below");
  ASSERT_TRUE(world_.kernel.fs()->write("judge", "cpuset.cpus", "2").has_value());
  ASSERT_TRUE(world_.kernel.fs()->write("judge", "cpuset.cpus.partition", "isolated").has_value());
  EXPECT_THAT(pass_time().remaining,
              Contains(HasSubstr("runs on CPU 1, expected 1-2: '/model' has CPUs 0-1,3-7, as "
                                 "'/model/judge' is a partition")));
}

TEST_P(NriGate, AnExclusiveContainerStartsNextToNarrowedOnes) {
  must_run(a_);
  world_.write_cpus(kBestEffort, "0");
  must_run(shared("c"));
  must_run(b_);
  EXPECT_EQ(world_.cpus(b_), "1-2");
  EXPECT_THAT(pass_time().drift, IsEmpty());
}

TEST_P(NriGate, ANarrowedContainerFollowsThePoolWhenTheGroupAboveIsWideAgain) {
  must_run(a_);
  world_.write_cpus(kBestEffort, "0");
  must_run(b_);
  world_.write_cpus(kBestEffort, "0-7");
  world_.write_cpus(std::string(kBestEffort) + "/poda", "0-7");
  (void)pass_time();
  EXPECT_EQ(world_.cpus(a_), "0,3-7");
  EXPECT_THAT(pass_time().remaining, IsEmpty());
}

/// Otherwise the runtime could not write the container's cpuset on record.
TEST_P(NriGate, OnCgroupV1TheRuntimeGetsWhatTheGroupAboveHas) {
  must_run(a_);
  world_.write_cpus(kBestEffort, "0");
  const PodSpec c = shared("c");
  world_.run_sandbox(c);
  const auto created = world_.create(c);
  ASSERT_TRUE(created.has_value());
  const bool is_v1 = GetParam() == enforce::CgroupVersion::kV1;
  EXPECT_EQ(created->adjust().linux().resources().cpu().cpus(), is_v1 ? "0" : "0-7");
}

/// Facts that the runtime shows again need no disk; exclusive CPUs do.
TEST_P(NriGate, OnAFullDiskASharedContainerStarts) {
  namespace disk = checkpoint::testing;
  const auto is_full = std::make_shared<bool>(false);  // the last agent settles after this test
  const auto memory = std::make_shared<disk::Disk>();
  world_.open_store = [memory, is_full] {
    return checkpoint::Store::open(
               std::make_unique<disk::MemoryFs>(memory,
                                                [is_full](const std::string& /*operation*/) {
                                                  const int error = *is_full ? ENOSPC : 0;
                                                  return disk::MemoryFs::Fault{error, false};
                                                }))
        .value();
  };
  const PodSpec c = shared("c");
  const PodSpec d = exclusive("d", 2);
  world_.restart();
  world_.synchronize({});
  must_run(a_);
  must_run(b_);

  *is_full = true;
  must_run(c);
  EXPECT_EQ(world_.cpus(c), "0,3-7");
  EXPECT_THAT(logged("pod 'c'"), Contains(HasSubstr("No space left on device")));
  world_.run_sandbox(d);
  const auto created = world_.create(d);
  ASSERT_FALSE(created.has_value());
  EXPECT_THAT(created.error().message, HasSubstr("No space left on device"));
  EXPECT_EQ(pool(), "0,3-7");
  EXPECT_FALSE(world_.agent->checkpoint_journal()) << "the state is not stored";

  *is_full = false;
  EXPECT_TRUE(world_.agent->checkpoint_journal());
  world_.restart();
  EXPECT_NE(world_.agent->state().node.find(c.uid), nullptr);
  *is_full = true;
  const PodSpec e = shared("e");
  must_run(e);
  world_.agent.reset();
  *is_full = false;
  world_.restart();
  EXPECT_EQ(world_.agent->state().node.find(e.uid), nullptr);
  world_.synchronize({a_, b_, c, e});
  EXPECT_NE(world_.agent->state().node.find(e.uid), nullptr);
  EXPECT_EQ(world_.cpus(e), "0,3-7");
  must_run(d);
}

TEST_P(NriGate, WhatHasLostItsCpusGetsNoneThatAreHeld) {
  must_run(b_);
  world_.agent.reset();
  std::filesystem::remove(world_.state / std::string(checkpoint::kPodsFileName));
  world_.restart();
  ASSERT_THAT(world_.agent->state().node.held, ElementsAre(b_.uid));
  const PodSpec d = exclusive("d", 2);
  must_run(d);
  ASSERT_EQ(world_.cpus(d), "3-4");
  world_.write_cpus("kubepods/podd", "0-2");
  (void)reconcile(*world_.agent);
  EXPECT_EQ(world_.cpus(d), "0");
}

TEST_P(NriGate, ASharedContainerThatCanOnlyRunOnExclusiveCpusDoesNotStart) {
  must_run(a_);
  must_run(b_);
  world_.write_cpus(kBestEffort, "1");
  const PodSpec c = shared("c");
  world_.run_sandbox(c);
  ASSERT_TRUE(world_.create(c).has_value());
  const auto started = world_.start(c);
  ASSERT_FALSE(started.has_value());
  EXPECT_THAT(started.error().message, HasSubstr("exclusive to other containers"));
  EXPECT_EQ(world_.agent->state().node.find(c.uid), nullptr) << "its decision was taken back";
}

TEST_P(NriGate, AnExclusiveContainerIsToldWhoHasNarrowedIt) {
  must_run(a_);
  world_.run_sandbox(b_);
  ASSERT_TRUE(world_.create(b_).has_value());
  world_.make_group(b_);
  world_.write_cpus("kubepods/podb", "2-7");
  const auto started = world_.send(api::Event::START_CONTAINER, b_, "c");
  ASSERT_FALSE(started.has_value());
  EXPECT_THAT(started.error().message, HasSubstr("'/model/kubepods/podb' has CPUs 2-7"));
  world_.stop(b_);
  EXPECT_EQ(pool(), "0-7");
}

/// The group of a third pod keeps its CPUs: only the container that needs them is rejected, and it
/// then has none.
TEST_P(NriGate, ARefusedCreationGivesItsCpusBackAndHindersNoOther) {
  must_run(a_);
  world_.run_sandbox(b_);
  world_.kernel.distort = [](const std::string& file, const std::string& value) {
    return file == "cpuset.cpus" && value == "0,3-7" ? "0-7" : value;
  };
  const auto created = world_.create(b_);
  ASSERT_FALSE(created.has_value());
  EXPECT_THAT(created.error().message, HasSubstr("exclusive to 'podb/c'"));
  EXPECT_EQ(world_.agent->state().node.find(b_.uid), nullptr);
  EXPECT_EQ(pool(), "0-7");
  world_.kernel.distort = nullptr;
  must_run(shared("later"));
  ASSERT_TRUE(world_.create(b_).has_value()) << "the kubelet tries again";
  ASSERT_TRUE(world_.start(b_).has_value());
  EXPECT_EQ(world_.cpus(b_), "1-2");
}

TEST_P(NriGate, ARefusedContainerLeavesTheOthersOfItsPod) {
  const PodSpec p = named("p", {limited("c", "1", "64Mi"), limited("d", "2", "64Mi")});
  must_run(a_);
  must_run(p);
  const std::string had = world_.cpus(p);
  const std::string free = pool();
  world_.kernel.distort = [&](const std::string& file, const std::string& value) {
    const bool shrinks = file == "cpuset.cpus" && CpuSet::parse(value).value().size() == 5;
    return shrinks ? free : value;
  };
  ASSERT_FALSE(world_.create(p, "d").has_value());
  world_.kernel.distort = nullptr;
  EXPECT_EQ(pool(), free);
  EXPECT_EQ(world_.cpus(p), had);
  ASSERT_TRUE(world_.create(p, "d").has_value());
  ASSERT_TRUE(world_.start(p, "d").has_value());
  EXPECT_EQ(world_.cpus(p, "d").size(), 3U) << world_.cpus(p, "d");
}

TEST_P(NriGate, WithoutContainerGroupsASharedContainerStarts) {
  for (const std::string handler : {"kata-qemu", "gvisor", "unheard-of"}) {
    const PodSpec s = shared("s-" + handler);
    set_class(s, handler);
    must_run(s);
    EXPECT_FALSE(world_.agent->state().adopted.contains(ContainerId{s.uid, "c"})) << handler;
  }
  must_run(b_);
  EXPECT_EQ(world_.cpus(world_.pause_group(shared("s-kata-qemu"))), "0,3-7") << "as any sandbox";
  EXPECT_EQ(counters().start_refusals, 0U);
  EXPECT_THAT(pass_time().remaining, IsEmpty());
}

TEST_P(NriGate, WithoutContainerGroupsTheSandboxHasTheExclusiveCpusOfAllContainers) {
  const PodSpec vm = named("vm", {limited("c", "2", "64Mi"), limited("d", "1", "64Mi")});
  set_class(vm, "kata-qemu");
  must_run(a_);
  must_run(vm);
  const std::string sandbox = world_.pause_group(vm);
  EXPECT_EQ(world_.cpus(sandbox), "1-2");
  ASSERT_TRUE(world_.create(vm, "d").has_value());
  ASSERT_TRUE(world_.start(vm, "d").has_value());
  EXPECT_EQ(world_.cpus(sandbox), "1-3");
  EXPECT_EQ(world_.cpus(a_), "0,4-7");
  EXPECT_THAT(pass_time().remaining, IsEmpty());
  EXPECT_EQ(world_.cpus(sandbox), "1-3") << "it is no group to confine";
  const auto status = agent::pod_status(*world_.agent, vm.uid);
  for (const auto& container : status->containers) {
    EXPECT_EQ(container.cgroup_path, "/model/" + sandbox);
    EXPECT_EQ(container.problem, "");
  }
  world_.restart();
  world_.synchronize_with({});
  EXPECT_EQ(world_.cpus(a_), "0,4-7");
}

/// No event reports what ends while the runtime is dead.
TEST_P(NriGate, AContainerThatEndsUnreportedIsNotRunByItsSandbox) {
  must_run(a_);
  must_run(b_);
  const std::string sandbox = world_.cpus(world_.pause_group(b_));
  world_.end(b_);
  for (int i = 0; i < 3; ++i) (void)pass_time();
  EXPECT_EQ(world_.cpus(world_.pause_group(b_)), sandbox);
  EXPECT_EQ(counters().found_unpinned, 0U);
  EXPECT_THAT(logged("no group per container"), IsEmpty());
}

TEST_P(NriGate, TheCpusOfASandboxReturnWithItsPod) {
  const PodSpec vm = exclusive("vm", 2);
  set_class(vm, "kata-qemu");
  must_run(a_);
  must_run(vm);
  world_.stop(vm);
  EXPECT_EQ(world_.cpus(world_.pause_group(vm)), "1-2") << "it may start again";
  world_.suffix = "-2";
  ASSERT_TRUE(world_.create(vm).has_value());
  ASSERT_TRUE(world_.start(vm).has_value());
  EXPECT_EQ(world_.cpus(world_.pause_group(vm)), "1-2");
  world_.stop(vm);
  world_.remove_sandbox(vm);
  EXPECT_EQ(pool(), "0-7");
  world_.suffix = "";
  EXPECT_EQ(world_.cpus(a_), "0-7");
}

TEST_P(NriGate, ARunningSandboxIsFoundAtSynchronize) {
  const PodSpec vm = exclusive("vm", 2);
  set_class(vm, "kata-qemu");
  world_.restart();
  world_.kernel.make_path(world_.pause_group(vm));
  world_.kernel.find(world_.pause_group(vm))->processes = {1'400'000'000};
  world_.synchronize({vm});
  EXPECT_EQ(world_.cpus(world_.pause_group(vm)), "1-2");
}

/// runsc makes an empty group for each container, and runs all of them in the sandbox's group.
TEST_P(NriGate, AnEmptyGroupIsNoContainers) {
  const PodSpec vm = exclusive("vm", 2);
  set_class(vm, "runsc");
  world_.kernel.make_path(world_.group(vm));
  must_run(vm);
  EXPECT_EQ(world_.cpus(world_.pause_group(vm)), "1-2");
  EXPECT_EQ(*world_.agent->state().adopted.find(ContainerId{vm.uid, "c"}),
            "/model/" + world_.pause_group(vm));
}

TEST_P(NriGate, WithoutAnyGroupAnExclusivePodIsRefusedWithItsClass) {
  const PodSpec vm = exclusive("vm", 2);
  set_class(vm, "kata-qemu");
  world_.run_sandbox(vm);
  world_.kernel.find(world_.pause_group(vm))->processes.clear();
  ASSERT_TRUE(world_.create(vm).has_value());
  const auto started = world_.start(vm);
  ASSERT_FALSE(started.has_value());
  EXPECT_THAT(started.error().message,
              HasSubstr("runtime class 'kata-qemu' creates no group per container"));
  EXPECT_EQ(pool(), "0-7");
}

TEST_P(NriGate, ADeclaredClassIsRefusedAtCreation) {
  declare("vmm");
  const PodSpec vm = exclusive("vm", 2);
  set_class(vm, "vmm");
  world_.run_sandbox(vm);
  world_.kernel.find(world_.pause_group(vm))->processes.clear();
  const auto created = world_.create(vm);
  ASSERT_FALSE(created.has_value());
  EXPECT_THAT(created.error().message,
              HasSubstr("runtime class 'vmm' creates no group per container"));
  EXPECT_EQ(pool(), "0-7");
  world_.kernel.find(world_.pause_group(vm))->processes = {1'400'000'000};
  ASSERT_TRUE(world_.create(vm).has_value());
  EXPECT_EQ(world_.cpus(world_.pause_group(vm)), "1-2") << "before the container starts";
}

/// An adopted group shows the cgroupRoot of its kubelet; the groups below that are confined.
TEST_P(NriGate, GroupsBelowAnAdoptedOnesKubeletAreConfined) {
  must_run(b_);
  const std::string other = "pfnk/kubepods/pody/abc";
  world_.kernel.make_path("pfnk/kubepods/podx/c");
  world_.kernel.find("pfnk/kubepods/podx/c")->processes = {1'400'000'000};
  world_.end(b_);
  ASSERT_TRUE(adopt(*world_.agent, {{b_.uid, "c"}, "/model/pfnk/kubepods/podx/c"}).has_value());
  world_.kernel.make_path(other);
  world_.kernel.find(other)->processes = {1'400'000'001};
  EXPECT_EQ(world_.cpus(other), "0-7");
  world_.restart();
  world_.follower->look(*world_.agent);
  EXPECT_EQ(world_.cpus(other), "0,3-7");
}

/// The kernel would give it all CPUs of the parent group, which belong to another container.
TEST_P(NriGate, AContainerThatLosesItsCpusGetsThoseOfNobody) {
  const PodSpec d = exclusive("d", 1);
  must_run(b_);
  must_run(d);
  world_.write_cpus("kubepods/podd", "0-2");
  const auto report = pass_time();
  EXPECT_EQ(world_.cpus(d), "0");
  EXPECT_EQ(world_.cpus(b_), "1-2");
  EXPECT_THAT(report.narrowed, ElementsAre(HasSubstr("'/model/kubepods/podd' has CPUs 0-2")));
  EXPECT_THAT(pass_time().drift, IsEmpty());
  world_.write_cpus("kubepods/podd", "0-7");
  (void)pass_time();
  EXPECT_EQ(world_.cpus(d), "3");
}

/// The container's group is empty, like those of a runtime class without groups.
TEST_P(NriGate, AContainerThatHasJustEndedIsNotTakenForOneInTheSandbox) {
  world_.run_sandbox(b_);
  ASSERT_TRUE(world_.create(b_).has_value());
  world_.kernel.make_path(world_.group(b_));
  ASSERT_TRUE(world_.send(api::Event::START_CONTAINER, b_, "c").has_value());
  const std::string* const adopted = world_.agent->state().adopted.find({b_.uid, "c"});
  ASSERT_NE(adopted, nullptr);
  EXPECT_EQ(*adopted, "/model/" + world_.group(b_));
}

INSTANTIATE_TEST_SUITE_P(Versions, NriGate,
                         testing::Values(enforce::CgroupVersion::kV1, enforce::CgroupVersion::kV2),
                         [](const auto& version) {
                           return version.param == enforce::CgroupVersion::kV1 ? "V1" : "V2";
                         });

TEST(NriKubepods, AreThoseOfTheKubeletsCgroupRoot) {
  struct Case {
    const char* text;
    std::set<std::string> expected;
  };
  const std::vector<Case> cases = {
      {"cgroupRoot: /pfnk\n", {"/m/pfnk/kubepods", "/m/pfnk.slice/pfnk-kubepods.slice"}},
      {"{cgroupRoot: /a/b-c, cgroupDriver: systemd}",
       {"/m/a/b-c/kubepods", "/m/a.slice/a-b_c.slice/a-b_c-kubepods.slice"}},
      {"cgroupRoot: /\n", {"/m/kubepods", "/m/kubepods.slice"}},
      {"cgroupRoot: ''\n", {"/m/kubepods", "/m/kubepods.slice"}},
      {"cgroupRoot: 5\n", {}},
      {"kind: KubeletConfiguration\n", {}},
      {"[", {}},
  };
  const pinfold::test::TempDir dir;
  const std::string file = dir.path() + "/config.yaml";
  for (const Case& one : cases) {
    std::ofstream(file) << one.text;
    EXPECT_EQ(kubepods_of_configuration("/m", file), one.expected) << one.text;
  }
  EXPECT_THAT(kubepods_of_configuration("/m", file + ".absent"), IsEmpty());
}

}  // namespace
}  // namespace pinfold::nri
