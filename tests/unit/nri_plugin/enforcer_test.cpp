#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../../crash/memory_fs.hpp"
#include "pinfold/agent/reconcile.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "runtime_world.hpp"

/// The handling of a runtime's requests, on the model of both cgroup versions.
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
using testing::IsSupersetOf;
using testing::Not;
using verbs::EventKind;

class NriEnforcer : public testing::TestWithParam<enforce::CgroupVersion> {
 protected:
  RuntimeWorld world_{GetParam()};
  [[nodiscard]] const worker::FollowerCounters& counters() { return world_.follower->counters(); }
  static std::string cpus_of(const Result<api::CreateContainerResponse>& answer) {
    return answer ? answer->adjust().linux().resources().cpu().cpus() : answer.error().message;
  }
};

TEST_P(NriEnforcer, PinsAContainerAndShrinksTheOthersBeforeTheAnswer) {
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  world_.run(a);
  EXPECT_EQ(world_.cpus(a), "0-7");
  world_.run_sandbox(b);
  EXPECT_EQ(cpus_of(world_.create(b)), "1-2");
  EXPECT_EQ(world_.cpus(a), "0,3-7") << "before the new container has a group";
  EXPECT_EQ(world_.cpus(world_.pause_group(a)), "0,3-7") << "its sandbox too";
  ASSERT_TRUE(world_.start(b).has_value());
  EXPECT_EQ(world_.cpus(b), "1-2");
  EXPECT_EQ(world_.cpus(world_.pause_group(a)), "0,3-7");
  EXPECT_EQ(world_.cpus(world_.pause_group(b)), "0,3-7");
  EXPECT_TRUE(world_.agent->verify({b.uid, "c"}).has_value());
  EXPECT_EQ(counters().found_unpinned, 0U);
  EXPECT_EQ(counters().reverted, 0U);
}

/// All processes are in one group and may run only on CPU 1 until their affinity is widened.
class InheritingProcesses final : public enforce::ProcessTable {
 public:
  [[nodiscard]] std::optional<enforce::ProcessId> identify(pid_t pid) const override {
    return enforce::ProcessId{pid, 1};
  }
  [[nodiscard]] std::string cpuset_path(pid_t /*pid*/,
                                        enforce::CgroupVersion /*cpusets*/) const override {
    return path;
  }
  [[nodiscard]] std::vector<CpuSet> allowed_cpus(pid_t /*pid*/) const override {
    return {CpuSet{1}};
  }
  [[nodiscard]] Result<void> widen_affinity(pid_t pid) const override {
    widened.insert(pid);
    return {};
  }

  std::string path;
  mutable std::set<pid_t> widened;
};

TEST_P(NriEnforcer, ResetsTheAffinityThatAContainerHasInheritedWhenItStarts) {
  InheritingProcesses processes;
  world_.kernel.processes = &processes;
  world_.restart();
  world_.synchronize({});
  const PodSpec b = exclusive("b", 2);
  world_.run_sandbox(b);
  ASSERT_TRUE(world_.create(b).has_value());
  processes.path = "/" + world_.group(b);
  EXPECT_TRUE(processes.widened.empty()) << "its process does not exist yet";
  ASSERT_TRUE(world_.start(b).has_value());
  EXPECT_EQ(processes.widened, world_.kernel.find(world_.group(b))->processes);
  world_.kernel.processes = &enforce::this_kernel();
  world_.restart();
}

TEST_P(NriEnforcer, ASandboxIsConfinedWhenItRuns) {
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  world_.run(b);
  world_.run_sandbox(a);
  EXPECT_EQ(world_.cpus(world_.pause_group(a)), "0,3-7") << "before it has a container";
  EXPECT_EQ(counters().found_unpinned, 0U);
}

TEST_P(NriEnforcer, ARunningContainerThatTurnsOutToBeSharedReleasesItsCpus) {
  const PodSpec a = shared("a");
  const PodSpec team = named("t", {limited("main", "1", "64Mi"), limited("log", "2", "64Mi")});
  world_.counted[team.uid] = named("t", {limited("all", "2", "256Mi")});
  world_.run(a);
  world_.run_sandbox(team);
  EXPECT_EQ(cpus_of(world_.create(team, "main")), "1");
  ASSERT_TRUE(world_.start(team, "main").has_value());
  EXPECT_EQ(world_.cpus(a), "0,2-7");
  EXPECT_EQ(cpus_of(world_.create(team, "log")), "0-7");
  ASSERT_TRUE(world_.start(team, "log").has_value());
  EXPECT_EQ(world_.cpus(team, "main"), "0-7");
  EXPECT_EQ(world_.cpus(a), "0-7");
  EXPECT_TRUE(world_.agent->verify({team.uid, "main"}).has_value());
}

TEST_P(NriEnforcer, AFailedShrinkRefusesTheContainer) {
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  world_.run(a);
  world_.run_sandbox(b);
  world_.kernel.distort = [](const std::string& file, const std::string& value) {
    return file == "cpuset.cpus" && value == "0,3-7" ? "0-7" : value;
  };
  const auto refused = world_.create(b);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("exclusive to 'podb/c'"));
  EXPECT_EQ(counters().create_refusals, 1U);
  world_.kernel.distort = {};
  EXPECT_EQ(cpus_of(world_.create(b)), "1-2") << "the kubelet tries again";
  EXPECT_EQ(world_.cpus(a), "0,3-7");
}

TEST_P(NriEnforcer, AStartIsAnEventAndSoIsTheAdoptionOfTheGroup) {
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  for (const PodSpec& spec : {a, b}) {
    world_.run(spec);
    EXPECT_THAT(world_.follower->take_events(),
                IsSupersetOf({verbs::Event{EventKind::kAdmitted, spec.uid, ""},
                              verbs::Event{EventKind::kAdopted, spec.uid, "c"},
                              verbs::Event{EventKind::kStarted, spec.uid, "c"}}));
  }
}

TEST_P(NriEnforcer, AStartThatIsNotStoredIsNoEvent) {
  const auto is_full = std::make_shared<bool>(false);  // the store outlives this function
  world_.open_store = [is_full, disk = std::make_shared<checkpoint::testing::Disk>()] {
    return checkpoint::Store::open(
               std::make_unique<checkpoint::testing::MemoryFs>(
                   disk,
                   [is_full](const std::string& /*operation*/) {
                     return checkpoint::testing::MemoryFs::Fault{*is_full ? EIO : 0, false};
                   }))
        .value();
  };
  world_.restart();
  world_.synchronize({});
  const PodSpec a = shared("a");
  world_.run_sandbox(a);
  ASSERT_TRUE(world_.create(a).has_value());
  (void)world_.follower->take_events();
  *is_full = true;
  ASSERT_TRUE(world_.start(a).has_value()) << "it has no exclusive CPUs to lose";
  EXPECT_THAT(world_.log, Contains(HasSubstr("start container 'c'")));
  EXPECT_THAT(world_.follower->take_events(),
              Not(Contains(verbs::Event{EventKind::kStarted, a.uid, "c"})));
}

TEST_P(NriEnforcer, ARevertedChangeIsAnEvent) {
  const PodSpec b = exclusive("b", 2);
  world_.run(b);
  (void)world_.follower->take_events();
  ASSERT_TRUE(world_.send(api::Event::POST_UPDATE_CONTAINER, b, "c").has_value());
  EXPECT_THAT(world_.follower->take_events(), IsEmpty()) << "without drift";
  world_.kernel.find(world_.group(b))->files["cpuset.cpus"] = "1";
  ASSERT_TRUE(world_.send(api::Event::POST_UPDATE_CONTAINER, b, "c").has_value());
  EXPECT_EQ(world_.cpus(b), "1-2");
  EXPECT_THAT(world_.follower->take_events(),
              ElementsAre(verbs::Event{EventKind::kReconciled, {}, ""}));
}

TEST_P(NriEnforcer, ARejectedContainerIsNotCreated) {
  const PodSpec big = exclusive("big", 9);
  world_.run_sandbox(big);
  EXPECT_THAT(cpus_of(world_.create(big)), HasSubstr("pod 'default/big' is rejected"));
  EXPECT_THAT(world_.follower->take_events(),
              Contains(verbs::Event{EventKind::kRejected, big.uid, ""}));
}

/// The kubelet admits a pod in place of one that it is ending, and tries again after a refusal.
TEST_P(NriEnforcer, APodThatIsBeingDeletedCountsUntilItsSandboxHasStopped) {
  const PodSpec deleted = exclusive("deleted", 4);
  const PodSpec next = named("next", {limited("c", "2", "64Mi"), limited("d", "1500m", "64Mi")});
  world_.run(deleted);
  world_.run_sandbox(next);
  ASSERT_EQ(cpus_of(world_.create(next)), "1-2");
  const std::string reason =
      "pod 'default/next' is rejected, OutOfcpu: Node didn't have enough resource: cpu, requested: "
      "3500, used: 4000, capacity: 7000";
  EXPECT_EQ(cpus_of(world_.create(next, "d")), reason);
  world_.stop(deleted);
  EXPECT_EQ(cpus_of(world_.create(next, "d")), reason);
  world_.remove_sandbox(deleted);
  EXPECT_TRUE(world_.create(next, "d").has_value());
}

TEST_P(NriEnforcer, AnAnnouncedPodThatIsRejectedIsRefusedAtItsContainer) {
  const PodSpec big = exclusive("big", 9);
  world_.announce(big);
  world_.run_sandbox(big);  // without an error
  EXPECT_THAT(world_.log, Contains(HasSubstr("pod 'default/big' is rejected")));
  EXPECT_THAT(cpus_of(world_.create(big)), HasSubstr("is rejected"));
}

TEST_P(NriEnforcer, TheGateSetsRightWhatTheRuntimeHasLost) {
  const PodSpec b = exclusive("b", 2);
  world_.run_sandbox(b);
  ASSERT_TRUE(world_.create(b).has_value());
  world_.record[RuntimeWorld::id_of(b)] = "0-7";  // another plugin, or an update that was lost
  ASSERT_TRUE(world_.start(b).has_value());
  EXPECT_EQ(world_.cpus(b), "1-2");
}

TEST_P(NriEnforcer, TheGateRefusesWhatCannotBePinned) {
  const PodSpec b = exclusive("b", 2);
  world_.run_sandbox(b);
  ASSERT_TRUE(world_.create(b).has_value());
  world_.record[RuntimeWorld::id_of(b)] = "0-7";
  world_.kernel.distort = [](const std::string& file, const std::string& value) {
    return file == "cpuset.cpus" && value == "1-2" ? "0-7" : value;
  };
  EXPECT_THAT(world_.start(b).error().message, HasSubstr("expected 1-2"));
  EXPECT_EQ(counters().start_refusals, 1U);
  EXPECT_FALSE(world_.agent->state().adopted.contains({b.uid, "c"})) << "it was ended";
}

TEST_P(NriEnforcer, TheGateRefusesWhileAnotherGroupHasItsCpus) {
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  world_.run(a);
  world_.run_sandbox(b);
  ASSERT_TRUE(world_.create(b).has_value());
  world_.kernel.find(world_.group(a))->files["cpuset.cpus"] = "0-7";  // another plugin
  world_.kernel.distort = [](const std::string& file, const std::string& value) {
    return file == "cpuset.cpus" && value == "0,3-7" ? "0-7" : value;
  };
  EXPECT_THAT(world_.start(b).error().message, HasSubstr("exclusive to 'podb/c'"));
  world_.kernel.distort = {};
  EXPECT_EQ(world_.agent->state().node.find(b.uid), nullptr) << "its CPUs have returned";
  world_.record.erase(RuntimeWorld::id_of(b));  // the kubelet recreates it
  ASSERT_TRUE(world_.create(b).has_value());
  ASSERT_TRUE(world_.start(b).has_value());
  EXPECT_EQ(world_.cpus(a), "0,3-7");
}

TEST_P(NriEnforcer, AContainerWithoutAPathDoesNotStart) {
  const PodSpec b = exclusive("b", 2);
  world_.run_sandbox(b);
  ASSERT_TRUE(world_.create(b).has_value());
  api::StateChangeEvent event;
  event.set_event(api::Event::START_CONTAINER);
  *event.mutable_pod() = world_.sandbox(b);
  *event.mutable_container() = world_.container(b);
  event.mutable_container()->mutable_linux()->clear_cgroups_path();
  EXPECT_FALSE(world_.follower->change(*world_.agent, event).has_value());
  event.mutable_container()->mutable_linux()->set_cgroups_path("/kubepods/nowhere");
  world_.kernel.find(world_.pause_group(b))->processes.clear();
  EXPECT_EQ(world_.follower->change(*world_.agent, event).error().code, ErrorCode::kUnsupported);
}

TEST_P(NriEnforcer, ThePoolGrowsWithTheEndOfAPod) {
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  world_.run(a);
  world_.run(b);
  EXPECT_EQ(world_.cpus(a), "0,3-7");
  world_.stop(b);
  EXPECT_EQ(world_.cpus(a), "0,3-7") << "it may start again";
  world_.remove_sandbox(b);
  EXPECT_EQ(world_.cpus(a), "0-7");
  EXPECT_EQ(world_.agent->state().node.pods.size(), 1U);
}

TEST_P(NriEnforcer, AContainerThatStartsAgainKeepsItsCpus) {
  const PodSpec b = exclusive("b", 2);
  world_.run(b);
  world_.end(b);
  ASSERT_TRUE(reconcile(*world_.agent).has_value()) << "before the runtime has noticed";
  ASSERT_TRUE(world_.send(api::Event::STOP_CONTAINER, b, "c").has_value());
  world_.run(exclusive("other", 1));
  world_.suffix = "-again";
  EXPECT_EQ(cpus_of(world_.create(b)), "1-2");
  ASSERT_TRUE(world_.start(b).has_value());
  EXPECT_EQ(world_.cpus(b), "1-2");
  // The removal of the first container arrives late.
  world_.suffix = "";
  ASSERT_TRUE(world_.send(api::Event::REMOVE_CONTAINER, b, "c").has_value());
  EXPECT_TRUE(world_.agent->state().adopted.contains({b.uid, "c"}));
  EXPECT_THAT(world_.log, Not(Contains(HasSubstr("has stopped")))) << "it runs, and is left alone";
}

/// No plugin was asked about the container.
TEST_P(NriEnforcer, LookingConfinesUnknownContainers) {
  const PodSpec b = exclusive("b", 2);
  world_.run(b);
  const PodSpec unseen = shared("unseen");
  world_.run_unseen(unseen);
  world_.follower->look(*world_.agent);
  EXPECT_EQ(world_.cpus(unseen), "0,3-7");
  EXPECT_EQ(world_.cpus(world_.pause_group(unseen)), "0,3-7");
  EXPECT_EQ(counters().found_unpinned, 0U) << "the runtime may be about to report it";
  world_.follower->look(*world_.agent);
  EXPECT_EQ(counters().found_unpinned, 0U) << "it may have appeared just before the first look";
  world_.follower->look(*world_.agent);
  EXPECT_EQ(counters().found_unpinned, 2U) << "its sandbox is unknown too";
  EXPECT_THAT(world_.follower->take_events(),
              Contains(verbs::Event{EventKind::kFoundUnpinned, {}, ""}));
  world_.run(exclusive("d", 1));  // the pool shrinks
  EXPECT_EQ(world_.cpus(unseen), "0,4-7");
  EXPECT_EQ(counters().found_unpinned, 2U) << "counted once";
  EXPECT_EQ(world_.cpus(b), "1-2");
}

/// The sandbox's group exists before the runtime reports the sandbox.
TEST_P(NriEnforcer, ASandboxThatIsFoundBeforeItsReportIsNoUnknownContainer) {
  const PodSpec a = shared("a");
  world_.run(exclusive("b", 2));
  world_.kernel.make_path(world_.pause_group(a));
  world_.kernel.find(world_.pause_group(a))->processes = {1'500'000'000};
  world_.follower->look(*world_.agent);
  EXPECT_EQ(world_.cpus(world_.pause_group(a)), "0,3-7");
  ASSERT_TRUE(world_.send(api::Event::RUN_POD_SANDBOX, a).has_value());
  world_.follower->look(*world_.agent);
  world_.follower->look(*world_.agent);
  EXPECT_EQ(counters().found_unpinned, 0U);
  EXPECT_THAT(world_.log, IsEmpty());
}

/// The runtime makes their groups before it reports the starts.
TEST_P(NriEnforcer, ContainersThatStartAtTheSameTimeKeepTheirCpus) {
  const PodSpec b = exclusive("b", 2);
  const PodSpec d = exclusive("d", 1);
  for (const PodSpec& pod : {b, d}) {
    world_.run_sandbox(pod);
    ASSERT_TRUE(world_.create(pod).has_value());
    world_.make_group(pod);
  }
  const std::string others = world_.cpus(d);
  ASSERT_TRUE(world_.send(api::Event::START_CONTAINER, b, "c").has_value());
  EXPECT_EQ(world_.cpus(b), "1-2");
  EXPECT_EQ(world_.cpus(d), others) << "it has its own already";
  world_.follower->look(*world_.agent);
  EXPECT_EQ(world_.cpus(d), others);
  EXPECT_EQ(counters().found_unpinned, 0U);
  EXPECT_THAT(world_.log, IsEmpty());
}

TEST_P(NriEnforcer, AnUpdateByOthersIsSetBack) {
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  world_.run(a);
  world_.run(b);
  api::UpdateContainerRequest request;
  *request.mutable_pod() = world_.sandbox(a);
  *request.mutable_container() = world_.container(a);
  request.mutable_linux_resources()->mutable_cpu()->set_cpus("0-7");
  const auto answer = world_.follower->update(*world_.agent, request).value();
  ASSERT_EQ(answer.update_size(), 1);
  EXPECT_EQ(answer.update(0).container_id(), RuntimeWorld::id_of(a));
  EXPECT_EQ(answer.update(0).linux().resources().cpu().cpus(), "0,3-7");
  EXPECT_EQ(counters().reverted, 1U);
  // A change without a request.
  world_.kernel.find(world_.group(a))->files["cpuset.cpus"] = "0-7";
  ASSERT_TRUE(world_.send(api::Event::POST_UPDATE_CONTAINER, a, "c").has_value());
  EXPECT_EQ(world_.cpus(a), "0,3-7");
  EXPECT_EQ(counters().reverted, 2U);
  EXPECT_THAT(world_.log, Contains(HasSubstr("drift: poda/c")));
}

// A kubelet that resizes a pod sends the shares and the quota of the new amount.
TEST_P(NriEnforcer, AResizeOfTheKubeletResizesTheContainer) {
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  world_.run(a);
  world_.run(b);
  ASSERT_EQ(world_.cpus(b), "1-2");
  ASSERT_TRUE(world_.resize_by_cri(b, 4).has_value());
  EXPECT_EQ(world_.cpus(b), "1-4");
  EXPECT_EQ(world_.cpus(a), "0,5-7");
  EXPECT_EQ(world_.record[RuntimeWorld::id_of(b)], "1-4");
  ASSERT_TRUE(world_.resize_by_cri(b, 4).has_value()) << "the kubelet repeats it";
  world_.restart();
  world_.synchronize({a, b});
  EXPECT_EQ(world_.cpus(b), "1-4");
  ASSERT_TRUE(world_.resize_by_cri(b, 2).has_value());
  EXPECT_EQ(world_.cpus(b), "1-2");
  EXPECT_EQ(world_.cpus(a), "0,3-7");
  EXPECT_EQ(counters().resize_refusals, 0U);
}

TEST_P(NriEnforcer, AResizeThatDoesNotFitIsRefusedAndChangesNothing) {
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  world_.run(a);
  world_.run(b);
  const auto refused = world_.resize_by_cri(b, 9);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message,
              HasSubstr("is not resized to 9 CPUs, Infeasible: Node didn't have enough capacity"));
  EXPECT_EQ(world_.cpus(b), "1-2");
  EXPECT_EQ(world_.cpus(a), "0,3-7");
  EXPECT_FALSE(world_.resize_by_cri(b, 1).has_value()) << "less than at its admission";
  EXPECT_TRUE(world_.resize_by_cri(a, 3).has_value()) << "it has no exclusive CPUs";
  EXPECT_EQ(counters().resize_refusals, 2U);
}

TEST_P(NriEnforcer, TheRecordOfTheRuntimeFollowsWithAnswers) {
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  world_.run(a);
  world_.run_sandbox(b);
  const auto created = world_.create(b);
  ASSERT_TRUE(created.has_value());
  ASSERT_EQ(created->update_size(), 1);
  EXPECT_EQ(created->update(0).container_id(), RuntimeWorld::id_of(a));
  EXPECT_EQ(created->update(0).linux().resources().cpu().cpus(), "0,3-7");
  EXPECT_EQ(world_.cpus(a), "0,3-7") << "the kernel had it before";
  ASSERT_TRUE(world_.start(b).has_value());
  world_.stop(b);
  EXPECT_EQ(world_.record[RuntimeWorld::id_of(a)], "0,3-7") << "b can start again";
  world_.remove_sandbox(b);
  EXPECT_EQ(world_.cpus(a), "0-7");
  EXPECT_EQ(world_.record[RuntimeWorld::id_of(a)], "0,3-7") << "an event has no such answer";
  const PodSpec d = shared("d");
  world_.run(d);
  EXPECT_EQ(world_.record[RuntimeWorld::id_of(a)], "0-7");
}

TEST_P(NriEnforcer, TheRecordFollowsAtSynchronizeAndAtUpdatesAndStopsOfOthers) {
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  const PodSpec d = shared("d");
  for (const PodSpec& spec : {a, b, d}) world_.run(spec);
  std::string& on_record = world_.record[RuntimeWorld::id_of(a)];
  EXPECT_EQ(on_record, "0,3-7");
  const auto become_stale = [&] {
    on_record = "0-7";  // another plugin's
    ASSERT_TRUE(world_.send(api::Event::POST_UPDATE_CONTAINER, a, "c").has_value());
  };
  become_stale();
  api::UpdateContainerRequest request;
  *request.mutable_pod() = world_.sandbox(d);
  *request.mutable_container() = world_.container(d);
  const auto answer = world_.follower->update(*world_.agent, request).value();
  ASSERT_EQ(answer.update_size(), 2);
  EXPECT_EQ(answer.update(0).container_id(), RuntimeWorld::id_of(d)) << "its own";
  EXPECT_EQ(answer.update(1).container_id(), RuntimeWorld::id_of(a));
  become_stale();
  world_.stop(d);
  EXPECT_EQ(on_record, "0,3-7");
  on_record = "0-7";
  world_.restart();
  world_.synchronize({a, b});
  EXPECT_EQ(on_record, "0,3-7");
}

/// After a restart of containerd no event reports the end of earlier sandboxes.
TEST_P(NriEnforcer, APodWhoseGroupIsGoneHasEnded) {
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  world_.run(a);
  world_.run(b);
  world_.restart();
  world_.synchronize({a, b});
  world_.end(b);
  world_.follower->look(*world_.agent);
  EXPECT_EQ(world_.agent->state().node.pods.size(), 2U) << "its sandbox lives";
  world_.remove_groups(b);
  world_.follower->look(*world_.agent);
  EXPECT_EQ(world_.agent->state().node.pods.size(), 1U);
  EXPECT_EQ(world_.cpus(a), "0-7");
}

TEST_P(NriEnforcer, ASandboxThatRunsAgainStartsWithItsInitContainer) {
  const PodSpec spec = test::pod("{initContainers: [" + limited("i", "2", "64Mi") +
                                 "], containers: [" + limited("c", "1", "64Mi") + "]}");
  world_.announce(spec);
  const auto run_announced = [&] {
    world_.run_sandbox(spec);
    for (const char* const name : {"i", "c"}) {
      const auto created = world_.create(spec, name);
      ASSERT_TRUE(created.has_value()) << created.error().message;
      const auto started = world_.start(spec, name);
      ASSERT_TRUE(started.has_value()) << started.error().message;
      if (*name == 'i') world_.stop(spec, name);
    }
  };
  run_announced();
  EXPECT_EQ(world_.cpus(spec, "c"), "1");
  world_.stop(spec, "c");
  run_announced();
  EXPECT_EQ(world_.cpus(spec, "c"), "1");
}

TEST_P(NriEnforcer, RefusesAContainerThatTheKubeletHasPinned) {
  const PodSpec b = exclusive("b", 2);
  world_.run_sandbox(b);
  world_.kubelet_cpus = "3-4";
  EXPECT_THAT(cpus_of(world_.create(b)), HasSubstr("set cpuManagerPolicy: none"));
}

INSTANTIATE_TEST_SUITE_P(Versions, NriEnforcer,
                         testing::Values(enforce::CgroupVersion::kV1, enforce::CgroupVersion::kV2),
                         [](const auto& version) {
                           return version.param == enforce::CgroupVersion::kV1 ? "V1" : "V2";
                         });

TEST(NriConfine, ASandboxThatCannotBeConfinedKeepsOthersFromItsCpus) {
  RuntimeWorld world(enforce::CgroupVersion::kV2);
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  world.run(a);
  world.run_sandbox(b);
  ASSERT_TRUE(world.create(b).has_value());
  auto* const pause = world.kernel.find(world.pause_group(a));
  pause->files.erase("cpuset.cpus");  // its hierarchy does not have this file
  EXPECT_THAT(world.start(b).error().message, HasSubstr("other groups can run on its exclusive"));
  EXPECT_EQ(world.follower->counters().stopped, 0U) << "a sandbox is not killed";
  EXPECT_THAT(world.log, Contains(HasSubstr("is not confined")));
}

TEST(NriConfine, AnUnknownContainerThatCannotBeConfinedIsStopped) {
  RuntimeWorld world(enforce::CgroupVersion::kV2);
  const PodSpec b = exclusive("b", 2);
  world.run(b);
  const PodSpec unseen = shared("unseen");
  world.run_unseen(unseen);
  world.kernel.find(world.group(unseen))->files.erase("cpuset.cpus");
  world.follower->look(*world.agent);
  EXPECT_EQ(world.follower->counters().stopped, 1U);
  EXPECT_THAT(world.log, Contains(HasSubstr("is not confined")));
}

TEST(NriFollower, NeedsTheFixedProfileAndCgroups) {
  const auto make = [&](Profile profile, bool has_cgroups) {
    pinfold::test::TempDir state;
    test::RuntimeWorld other;
    Config config;
    config.profile = profile;
    agent::AgentOptions options;
    options.state_dir = state.path();
    std::optional<enforce::Cgroups> cgroups;
    if (has_cgroups) cgroups = other.kernel.cgroups("pinfold");
    auto agent = agent::NodeAgent::open(pinfold::test::static_node(config),
                                        checkpoint::Store::open(state.path()).value(),
                                        std::move(cgroups), std::move(options));
    return make_follower(settings::NriMode::kEnforce, agent.value(), other.follower_options());
  };
  EXPECT_TRUE(make(Profile::kFixed, true).has_value());
  EXPECT_EQ(make(Profile::kFixed, false).error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(make(Profile::kKubelet136, true).error().message, HasSubstr("expected the profile"));
}

}  // namespace
}  // namespace pinfold::nri
