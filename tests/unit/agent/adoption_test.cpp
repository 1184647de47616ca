#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "model_kernel.hpp"
#include "node_samples.hpp"
#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/agent/node_agent.hpp"
#include "pinfold/agent/reconcile.hpp"
#include "pinfold/agent/status.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "pinfold/verbs/event.hpp"
#include "pinfold/verbs/execute.hpp"
#include "temp_dir.hpp"

/// Adoption of cgroups made by a container runtime.
namespace pinfold::agent {
namespace {

using test::best_effort;
using test::guaranteed;
using test::ModelKernel;
using test::pod;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

void must(const Result<AdmitOutcome>& outcome) {
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  ASSERT_FALSE(outcome->rejection) << outcome->rejection->message;
  ASSERT_FALSE(outcome->not_enforced) << outcome->not_enforced->message;
}

class AdoptionTest : public testing::TestWithParam<enforce::CgroupVersion> {
 protected:
  [[nodiscard]] NodeAgent open(Abandoned abandoned = Abandoned::kRemove) {
    AgentOptions options;
    options.abandoned = abandoned;
    options.state_dir = state_.path();
    return NodeAgent::open(test::static_node(), checkpoint::Store::open(state_.path()).value(),
                           kernel_.cgroups(), std::move(options))
        .value();
  }
  /// Makes a group and attaches a process to it, as a runtime does.
  void make_group(const std::string& name, int process) {
    (void)kernel_.cgroups();  // enables the controllers
    ASSERT_TRUE(kernel_.fs()->make_group(name).has_value());
    if (GetParam() == enforce::CgroupVersion::kV1) {
      ASSERT_TRUE(kernel_.fs()->write(name, "cpuset.cpus", "0-7").has_value());
      ASSERT_TRUE(kernel_.fs()->write(name, "cpuset.mems", "0-1").has_value());
    }
    ASSERT_TRUE(kernel_.fs()->write(name, "cgroup.procs", std::to_string(process)).has_value());
  }
  /// Adopts "run-a" for container a/c, whose only process is in a group below "run-a".
  void adopt_with_process_below(NodeAgent& agent) {
    make_group("run-a", 100);
    must(agent.admit_adopted(pod("a", {guaranteed("c", 2)}), {"c", "/model/run-a"}));
    ASSERT_TRUE(kernel_.fs()->make_group("run-a/init.scope").has_value());
    kernel_.find("run-a")->processes.clear();
    kernel_.find("run-a/init.scope")->processes.insert(101);
  }
  [[nodiscard]] std::string cpus(const std::string& group) {
    ModelKernel::Dir* const dir = kernel_.find(group);
    return dir == nullptr ? "gone" : kernel_.effective(*dir, "cpuset.cpus").to_string();
  }

  test::TempDir state_;
  ModelKernel kernel_{GetParam(), CpuSet::range(0, 7), CpuSet{0, 1}};
};

/// No process would ever be in it.
TEST_P(AdoptionTest, APodWhoseContainersAreAllAdoptedHasNoGroup) {
  make_group("run-c", 100);
  make_group("run-d", 101);
  {
    NodeAgent agent = open();
    must(agent.admit_adopted(pod("a", {guaranteed("c", 2), guaranteed("d", 1)}),
                             {"c", "/model/run-c"}));
    EXPECT_EQ(cpus("poda/d"), "3");
    EXPECT_EQ(pod_status(agent, PodUid("a"))->cgroup_path, "/model/poda");
    ASSERT_FALSE(adopt(agent, {{PodUid("a"), "d"}, "/model/run-d"}).value().not_enforced);
    EXPECT_EQ(cpus("poda"), "gone");
    EXPECT_EQ(cpus("run-c"), "1-2");
    EXPECT_EQ(cpus("run-d"), "3");
    EXPECT_EQ(pod_status(agent, PodUid("a"))->cgroup_path, "");
    EXPECT_EQ(agent.find_drift().value(), std::vector<std::string>());
  }
  NodeAgent agent = open();
  EXPECT_EQ(agent.find_drift().value(), std::vector<std::string>());
  must(agent.admit(pod("b", {guaranteed("c", 1)})));
  EXPECT_EQ(cpus("poda"), "gone");
  EXPECT_EQ(cpus("run-d"), "3");
}

TEST_P(AdoptionTest, AContainerIsAdoptedAndStartedInOneTransaction) {
  make_group("run-c", 100);
  NodeAgent agent = open();
  must(agent.admit_adopted(pod("a", {guaranteed("c", 2)}), {"c", "/model/run-c"}));
  EXPECT_TRUE(agent.state().node.find(PodUid("a"))->started.contains("c"));
}

/// 250 shared containers make room for an exclusive one: one write each, and nothing else.
TEST_P(AdoptionTest, WritesOnceToEachContainerThatChanges) {
  constexpr int kContainers = 250;
  NodeAgent agent = open();
  for (int i = 0; i < kContainers; ++i) {
    const std::string name = "s" + std::to_string(i);
    make_group("run-" + name, 200 + i);
    must(agent.admit_adopted(pod(name, {best_effort("c")}), {"c", "/model/run-" + name}));
  }
  make_group("run-a", 100);
  const std::size_t before = kernel_.log.size();
  must(agent.admit_adopted(pod("a", {guaranteed("c", 2)}), {"c", "/model/run-a"}));
  const auto wrote =
      std::count_if(kernel_.log.begin() + static_cast<std::ptrdiff_t>(before), kernel_.log.end(),
                    [](const std::string& line) { return line.starts_with("write run-s"); });
  EXPECT_EQ(wrote, kContainers);
  EXPECT_EQ(cpus("run-s249"), "0,3-7");
}

TEST_P(AdoptionTest, FollowsDecisionsDuringThePodsLifetime) {
  make_group("run-a", 100);
  make_group("run-s", 200);
  NodeAgent agent = open();
  must(agent.admit_adopted(pod("s", {best_effort("c")}), {"c", "/model/run-s"}));
  EXPECT_EQ(cpus("run-s"), "0-7");
  must(agent.admit_adopted(pod("a", {guaranteed("c", 2)}), {"c", "/model/run-a"}));
  EXPECT_EQ(cpus("run-a"), "1-2");
  EXPECT_EQ(cpus("run-s"), "0,3-7");  // the shared pool has shrunk
  EXPECT_EQ(cpus("poda/c"), "gone");
  EXPECT_THAT(agent.find_drift().value(), IsEmpty());
  EXPECT_EQ(remove_adopted(agent, {PodUid("a"), "c"}, RunningProcesses::kRefuse).error().code,
            ErrorCode::kBusy);
  kernel_.find("run-a")->processes.clear();
  ASSERT_TRUE(remove_adopted(agent, {PodUid("a"), "c"}, RunningProcesses::kRefuse).has_value());
  EXPECT_EQ(agent.state().node.find(PodUid("a")), nullptr);
  EXPECT_EQ(cpus("run-s"), "0-7");
  EXPECT_NE(kernel_.find("run-a"), nullptr);  // removing it is the runtime's job
}

/// Groups of a kubelet's pods next to the agent's root. The agent does not follow their runtime.
class BesideAdopted : public AdoptionTest {
 protected:
  [[nodiscard]] NodeAgent open_beside() {
    AgentOptions options;
    options.state_dir = state_.path();
    return NodeAgent::open(test::static_node(), checkpoint::Store::open(state_.path()).value(),
                           kernel_.cgroups("pinfold"), std::move(options))
        .value();
  }
  void make_container(const std::string& group, int process) {
    kernel_.make_path(group);
    kernel_.find(group)->processes.insert(process);
  }
  void adopt_shared() {
    make_container("kubepods/pods/c", 200);
    must(
        open_beside().admit_adopted(pod("s", {best_effort("c")}), {"c", "/model/kubepods/pods/c"}));
  }
};

TEST_P(BesideAdopted, AreKeptOffExclusiveCpus) {
  adopt_shared();
  make_container("kubepods/pods/sandbox", 201);
  make_container("elsewhere", 300);
  must(open_beside().admit(pod("a", {guaranteed("c", 2)})));
  EXPECT_EQ(cpus("pinfold/poda/c"), "1-2");
  EXPECT_EQ(cpus("kubepods/pods/sandbox"), "0,3-7");
  EXPECT_EQ(cpus("elsewhere"), "0-7");  // not a kubelet's group
  ASSERT_TRUE(open_beside().remove_pod(PodUid("a"), RunningProcesses::kRefuse).has_value());
  EXPECT_EQ(cpus("kubepods/pods/sandbox"), "0-7");  // an earlier agent had confined it
  NodeAgent agent = open_beside();
  must(agent.admit(pod("a", {guaranteed("c", 1)})));
  must(agent.admit(pod("b", {guaranteed("c", 2)})));
  EXPECT_EQ(cpus("kubepods/pods/sandbox"), "0,4-7");
}

/// The runtime has made the group, but the service that would adopt it is gone.
TEST_P(BesideAdopted, KeepTheCpusOfAContainerThatStarts) {
  adopt_shared();
  must(open_beside().admit(pod("a", {guaranteed("c", 2)})));
  make_container("kubepods/pods/a", 201);
  ASSERT_TRUE(kernel_.fs()->write("kubepods/pods/a", "cpuset.cpus", "1-2").has_value());
  must(open_beside().admit(pod("b", {guaranteed("c", 2)})));
  EXPECT_EQ(cpus("kubepods/pods/a"), "1-2");
}

TEST_P(AdoptionTest, SurvivesARestart) {
  make_group("run-a", 100);
  { must(open().admit_adopted(pod("a", {guaranteed("c", 2)}), {"c", "/model/run-a"})); }
  NodeAgent agent = open();
  EXPECT_FALSE(agent.layout()->is_dirty());
  ASSERT_TRUE(kernel_.fs()->write("run-a", "cpuset.cpus", "5").has_value());
  const auto report = reconcile(agent);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_THAT(report->drift, ElementsAre(HasSubstr("cpuset.cpus is '5', expected '1-2'")));
  EXPECT_EQ(cpus("run-a"), "1-2");
}

TEST_P(AdoptionTest, EndsIfTheRuntimeDied) {
  make_group("run-a", 100);
  make_group("run-b", 200);
  {
    NodeAgent agent = open();
    must(agent.admit_adopted(pod("a", {guaranteed("c", 2)}), {"c", "/model/run-a"}));
    must(agent.admit_adopted(pod("b", {guaranteed("c", 2)}), {"c", "/model/run-b"}));
  }
  kernel_.find("run-a")->processes.clear();  // the group still exists
  kernel_.find("run-b")->processes.clear();
  ASSERT_TRUE(kernel_.fs()->remove_group("run-b").has_value());  // this group was also removed
  NodeAgent agent = open();
  const auto report = reconcile(agent);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_THAT(report->drift, Contains(HasSubstr("poda/c: the container that a runtime ran there")));
  EXPECT_THAT(report->drift, Contains(HasSubstr("podb/c: the container that a runtime ran there")));
  EXPECT_THAT(report->remaining, IsEmpty());
  EXPECT_THAT(agent.state().node.pods, IsEmpty());
  EXPECT_TRUE(agent.state().adopted.empty());
  EXPECT_EQ(agent.state().node.cpu.default_set, CpuSet::range(0, 7));
}

TEST_P(AdoptionTest, OfAContainerWithoutAProcessEndsWithItsGroup) {
  make_group("run-a", 0);
  kernel_.find("run-a")->processes.clear();
  {
    NodeAgent agent = open();
    must(agent.admit_adopted(pod("a", {guaranteed("c", 2)}), {"c", "/model/run-a"}));
    ASSERT_TRUE(reconcile(agent).has_value());
  }
  kernel_.find("run-a")->processes = {100};  // its runtime starts it
  NodeAgent agent = open();
  ASSERT_TRUE(reconcile(agent).has_value());
  EXPECT_EQ(cpus("run-a"), "1-2");
  kernel_.find("run-a")->processes.clear();  // it has ended, but still exists
  ASSERT_TRUE(reconcile(agent).has_value());
  EXPECT_EQ(agent.state().node.pods.size(), 1U);
  ASSERT_TRUE(kernel_.fs()->remove_group("run-a").has_value());
  ASSERT_TRUE(reconcile(agent).has_value());
  EXPECT_THAT(agent.state().node.pods, IsEmpty());
  EXPECT_EQ(agent.state().node.cpu.default_set, CpuSet::range(0, 7));
}

TEST_P(AdoptionTest, OfAnEmptyGroupForAPodThatStaysAwaitsTheFirstProcess) {
  make_group("run-a", 0);
  kernel_.find("run-a")->processes.clear();
  const ContainerId container{PodUid("a"), "c"};
  {
    NodeAgent agent = open();
    must(agent.admit(pod("a", {guaranteed("c", 2)})));
    ASSERT_TRUE(adopt(agent, {container, "/model/run-a"}).has_value());
    ASSERT_TRUE(reconcile(agent).has_value());
  }
  NodeAgent agent = open();
  ASSERT_TRUE(reconcile(agent).has_value());
  ASSERT_NE(agent.state().node.cpu.assignments.find(container), nullptr);
  EXPECT_EQ(agent.state().node.cpu.assignments.find(container)->to_string(), "1-2");
  EXPECT_TRUE(agent.state().adopted.contains(container));
  EXPECT_EQ(cpus("run-a"), "1-2");
  ASSERT_TRUE(kernel_.fs()->remove_group("run-a").has_value());
  ASSERT_TRUE(reconcile(agent).has_value());
  EXPECT_EQ(agent.state().node.cpu.default_set, CpuSet::range(0, 7));
  EXPECT_EQ(agent.state().node.pods.size(), 1U) << "who admitted it removes it";
}

TEST_P(AdoptionTest, OfAGroupAgainOnceItHasAProcessEndsWithItsProcesses) {
  make_group("run-a", 0);
  kernel_.find("run-a")->processes.clear();
  NodeAgent agent = open();
  const ContainerId container{PodUid("a"), "c"};
  must(agent.admit_adopted(pod("a", {guaranteed("c", 2)}), {"c", "/model/run-a"}));
  kernel_.find("run-a")->processes = {100};
  ASSERT_TRUE(adopt(agent, {container, "/model/run-a"}).has_value());
  kernel_.find("run-a")->processes.clear();
  ASSERT_TRUE(reconcile(agent).has_value());
  EXPECT_THAT(agent.state().node.pods, IsEmpty());
  EXPECT_THAT(agent.state().end_with_group, IsEmpty());
}

/// A group whose processes cannot be read at its adoption, so it is unknown whether it has any.
class UnreadAdoption : public AdoptionTest {
 protected:
  void fail_reading(int error, int times) {
    kernel_.fault = [error, times](const char* what, const std::string& group,
                                   const std::string& file) mutable {
      const bool is_meant =
          what == std::string("read") && group == "run-a" && file == "cgroup.procs";
      return is_meant && times-- > 0 ? error : 0;
    };
  }
  void adopt_unread(NodeAgent& agent) {
    fail_reading(EIO, 1);
    must(agent.admit_adopted(pod("a", {guaranteed("c", 2)}), {"c", "/model/run-a"}));
    EXPECT_THAT(agent.state().unread, ElementsAre(container_));
    EXPECT_THAT(agent.state().end_with_group, IsEmpty());
  }

  const ContainerId container_{PodUid("a"), "c"};
};

TEST_P(UnreadAdoption, EndsWithItsProcessesOnceTheyAreSeen) {
  make_group("run-a", 100);
  NodeAgent agent = open();
  adopt_unread(agent);
  ASSERT_TRUE(reconcile(agent).has_value());
  EXPECT_THAT(agent.state().unread, IsEmpty());
  kernel_.find("run-a")->processes.clear();
  ASSERT_TRUE(reconcile(agent).has_value());
  EXPECT_THAT(agent.state().node.pods, IsEmpty());
}

TEST_P(UnreadAdoption, HasNotEndedBecauseItHasNoProcess) {
  make_group("run-a", 0);
  kernel_.find("run-a")->processes.clear();
  {
    NodeAgent agent = open();
    adopt_unread(agent);
  }
  NodeAgent agent = open();  // the record outlives the agent
  ASSERT_TRUE(reconcile(agent).has_value());
  EXPECT_THAT(agent.state().unread, ElementsAre(container_));
  EXPECT_EQ(cpus("run-a"), "1-2");
  ASSERT_TRUE(kernel_.fs()->remove_group("run-a").has_value());
  ASSERT_TRUE(reconcile(agent).has_value());
  EXPECT_THAT(agent.state().node.pods, IsEmpty());
}

TEST_P(UnreadAdoption, IsAskedAgainWhenItStarts) {
  make_group("run-a", 100);
  NodeAgent agent = open();
  adopt_unread(agent);
  ASSERT_TRUE(agent.start(container_).has_value());
  EXPECT_THAT(agent.state().unread, IsEmpty());
  EXPECT_THAT(agent.state().end_with_group, IsEmpty());
}

TEST_P(UnreadAdoption, ThatStartsWithoutAProcessAwaitsOne) {
  make_group("run-a", 0);
  kernel_.find("run-a")->processes.clear();
  NodeAgent agent = open();
  adopt_unread(agent);
  ASSERT_TRUE(agent.start(container_).has_value());
  EXPECT_THAT(agent.state().unread, IsEmpty());
  EXPECT_THAT(agent.state().end_with_group, ElementsAre(container_));
}

/// The kernel lists the processes of a threaded group in the group above.
TEST_P(UnreadAdoption, IsNoneOfAThreadedGroup) {
  make_group("run-a", 100);
  NodeAgent agent = open();
  fail_reading(EOPNOTSUPP, 1000);
  must(agent.admit_adopted(pod("a", {guaranteed("c", 2)}), {"c", "/model/run-a"}));
  EXPECT_TRUE(agent.state().adopted.contains(container_));
  EXPECT_THAT(agent.state().unread, IsEmpty());
  EXPECT_THAT(agent.state().end_with_group, ElementsAre(container_));
}

TEST_P(AdoptionTest, OfOneContainerLeavesTheOthersAndAPodThatStaysAlone) {
  make_group("run-a", 100);
  NodeAgent agent = open();
  must(agent.admit(pod("a", {guaranteed("c", 1), guaranteed("d", 1)})));
  EXPECT_EQ(cpus("poda/c"), "1");
  const auto adopted = adopt(agent, {{PodUid("a"), "c"}, "/model/run-a"});
  ASSERT_TRUE(adopted.has_value()) << adopted.error().message;
  EXPECT_EQ(cpus("run-a"), "1");
  EXPECT_EQ(cpus("poda/c"), "gone");
  EXPECT_EQ(cpus("poda/d"), "2");
  kernel_.find("run-a")->processes.clear();
  EXPECT_THAT(remove_abandoned(agent), ElementsAre(ContainerId{PodUid("a"), "c"}));
  EXPECT_NE(agent.state().node.find(PodUid("a")), nullptr);
  EXPECT_EQ(cpus("poda/d"), "2");
}

TEST_P(AdoptionTest, AReconciliationSaysWhatHadEnded) {
  make_group("run-a", 100);
  make_group("run-b", 101);
  NodeAgent agent = open();
  must(agent.admit_adopted(pod("a", {guaranteed("c", 1)}), {"c", "/model/run-a"}));
  must(agent.admit(pod("b", {guaranteed("c", 1), guaranteed("d", 1)})));
  ASSERT_TRUE(adopt(agent, {{PodUid("b"), "c"}, "/model/run-b"}).has_value());
  kernel_.find("run-a")->processes.clear();
  kernel_.find("run-b")->processes.clear();
  const verbs::Action action = verbs::Reconcile{};
  const auto answer = verbs::execute(agent, action);
  ASSERT_TRUE(answer.has_value());
  verbs::Events events;
  verbs::add_events(action, *answer, events);
  EXPECT_THAT(events, ElementsAre(verbs::Event{verbs::EventKind::kReconciled, {}, ""},
                                  verbs::Event{verbs::EventKind::kRemoved, PodUid("a"), ""},
                                  verbs::Event{verbs::EventKind::kRemoved, PodUid("b"), "c"}));
}

TEST_P(AdoptionTest, CountsProcessesOfGroupsBelow) {
  NodeAgent agent = open();
  adopt_with_process_below(agent);
  EXPECT_THAT(remove_abandoned(agent), IsEmpty());
}

/// For a process outside the reader's PID namespace the kernel writes 0 (cgroup v2) or nothing
/// (cgroup v1).
TEST_P(AdoptionTest, AProcessThatIsNotVisibleKeepsItsContainer) {
  make_group("run-a", 0);
  kernel_.lists_all_processes = GetParam() == enforce::CgroupVersion::kV2;
  NodeAgent agent = open();
  must(agent.admit(pod("a", {guaranteed("c", 2)})));
  ASSERT_TRUE(adopt(agent, {{PodUid("a"), "c"}, "/model/run-a"}).has_value());
  EXPECT_THAT(remove_abandoned(agent), IsEmpty());
  if (!kernel_.lists_all_processes) {
    EXPECT_EQ(cpus("run-a"), "1-2");
    kernel_.find("run-a")->processes.clear();
    EXPECT_THAT(remove_abandoned(agent), IsEmpty());  // it looks the same
    ASSERT_TRUE(kernel_.fs()->remove_group("run-a").has_value());
    EXPECT_THAT(remove_abandoned(agent), ElementsAre(ContainerId{PodUid("a"), "c"}));
    return;
  }
  for (const auto running : {RunningProcesses::kRefuse, RunningProcesses::kKill}) {
    const auto refused = agent.remove_pod(PodUid("a"), running);
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error().message, HasSubstr("processes of another PID namespace"));
  }
  EXPECT_EQ(cpus("run-a"), "1-2");
}

TEST_P(AdoptionTest, AGroupThatCannotBeListedIsNotTakenForEmpty) {
  NodeAgent agent = open();
  adopt_with_process_below(agent);
  must(agent.admit(pod("b", {guaranteed("c", 1)})));
  kernel_.find("podb/c")->processes.insert(102);
  kernel_.unlistable = "run-a";
  EXPECT_THAT(remove_abandoned(agent), IsEmpty());
  kernel_.unlistable = "podb";
  const auto refused = agent.remove_pod(PodUid("b"), RunningProcesses::kRefuse);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kIo);
  const auto drift = agent.find_drift();
  ASSERT_TRUE(drift.has_value()) << drift.error().message;
  EXPECT_THAT(*drift, testing::Contains(testing::StartsWith("podb: list podb")));
  kernel_.unlistable.clear();
  EXPECT_THAT(agent.find_drift().value(), testing::Not(testing::Contains(HasSubstr("podb"))));
}

TEST_P(AdoptionTest, NeedsAGroupAndAContainer) {
  NodeAgent agent = open();
  const auto outcome = agent.admit_adopted(pod("a", {guaranteed("c", 2)}), {"c", "/model/nowhere"});
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(agent.state().node.pods, IsEmpty());
  must(agent.admit(pod("a", {guaranteed("c", 2)})));
  EXPECT_EQ(adopt(agent, {{PodUid("a"), "x"}, "/model/nowhere"}).error().code,
            ErrorCode::kNotFound);
  EXPECT_EQ(adopt(agent, {{PodUid("a"), "c"}, "/model/nowhere"}).error().code,
            ErrorCode::kNotFound);
  EXPECT_EQ(adopt(agent, {{PodUid("b"), "c"}, "/model/nowhere"}).error().code,
            ErrorCode::kNotFound);
}

/// The same pod file is used twice, or a pod file has the UID of another pod.
TEST_P(AdoptionTest, NeverGivesOneContainersCpusToTwoGroups) {
  make_group("run-a", 100);
  make_group("run-b", 200);
  NodeAgent agent = open();
  const PodSpec spec = pod("a", {guaranteed("c", 2)});
  must(agent.admit_adopted(spec, {"c", "/model/run-a"}));
  const auto second = agent.admit_adopted(spec, {"c", "/model/run-b"});
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kBusy);
  EXPECT_THAT(second.error().message, HasSubstr("already runs in '/model/run-a'"));
  EXPECT_EQ(adopt(agent, {{PodUid("a"), "c"}, "/model/run-b"}).error().code, ErrorCode::kBusy);
  EXPECT_EQ(cpus("run-a"), "1-2");
  EXPECT_EQ(cpus("run-b"), "0,3-7") << "a group of another";
  must(agent.admit_adopted(spec, {"c", "/model/run-a"}));  // the same request again

  kernel_.find("run-a")->processes.clear();  // the container has ended, and its successor starts
  must(agent.admit_adopted(spec, {"c", "/model/run-b"}));
  EXPECT_EQ(cpus("run-b"), "1-2");
}

TEST_P(AdoptionTest, RefusesAGroupThatIsNotTheContainersOwn) {
  make_group("run-a", 100);
  NodeAgent agent = open();
  must(agent.admit_adopted(pod("a", {guaranteed("c", 2)}), {"c", "/model/run-a"}));
  ASSERT_TRUE(kernel_.fs()->make_group("run-a/below").has_value());
  for (const char* directory : {"/model/run-a", "/model/run-a/below", "/model", "/"}) {
    const auto refused = agent.admit_adopted(pod("b", {guaranteed("c", 1)}), {"c", directory});
    ASSERT_FALSE(refused.has_value()) << directory;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument) << directory;
  }
  EXPECT_EQ(agent.state().node.pods.size(), 1U);
  EXPECT_EQ(enforce::open_named_cgroup_fs("/etc").error().code, ErrorCode::kInvalidArgument);
}

TEST_P(AdoptionTest, KeepsNothingOfARejectedPod) {
  make_group("run-a", 100);
  NodeAgent agent = open();
  const auto outcome = agent.admit_adopted(pod("a", {guaranteed("c", 20)}), {"c", "/model/run-a"});
  ASSERT_TRUE(outcome.has_value());
  EXPECT_TRUE(outcome->rejection);
  EXPECT_TRUE(agent.state().adopted.empty());
  EXPECT_THAT(agent.state().ending, IsEmpty());
  EXPECT_EQ(cpus("run-a"), "0-7");
}

TEST_P(AdoptionTest, DisownForgetsTheGroupAndKeepsTheCpus) {
  make_group("run-a", 100);
  make_group("run-b", 200);
  {
    NodeAgent agent = open();
    must(agent.admit(pod("a", {guaranteed("c", 2)})));
    ASSERT_TRUE(adopt(agent, {{PodUid("a"), "c"}, "/model/run-a"}).has_value());
    const ContainerId container{PodUid("a"), "c"};
    EXPECT_EQ(agent.disown(container).error().code, ErrorCode::kBusy) << "it runs";
    EXPECT_TRUE(agent.state().adopted.contains(container));
    kernel_.find("run-a")->processes.clear();
    const auto disowned = agent.disown(container);
    ASSERT_TRUE(disowned.has_value()) << disowned.error().message;
    EXPECT_FALSE(disowned->not_enforced);
    EXPECT_EQ(agent.disown(container).error().code, ErrorCode::kNotFound) << "once";
    EXPECT_TRUE(agent.state().removed.empty());
  }
  NodeAgent agent = open();  // the change is durable
  EXPECT_TRUE(agent.state().adopted.empty());
  EXPECT_EQ(agent.state().node.cpu.default_set, CpuSet::parse("0,3-7").value());
  const auto adopted =
      adopt(agent, {{PodUid("a"), "c"}, "/model/run-b"});  // the group was made again
  ASSERT_TRUE(adopted.has_value()) << adopted.error().message;
  EXPECT_EQ(cpus("run-b"), "1-2");
}

TEST_P(AdoptionTest, AContainerThatMayComeBackIsDisownedByAReconciliation) {
  make_group("run-a", 100);
  make_group("run-b", 200);
  NodeAgent agent = open(Abandoned::kDisown);
  must(agent.admit(pod("a", {guaranteed("c", 2)})));
  ASSERT_TRUE(adopt(agent, {{PodUid("a"), "c"}, "/model/run-a"}).has_value());
  must(agent.admit_adopted(pod("b", {guaranteed("c", 1)}), {"c", "/model/run-b"}));
  kernel_.find("run-a")->processes.clear();
  kernel_.find("run-b")->processes.clear();
  ASSERT_TRUE(reconcile(agent).has_value());
  EXPECT_TRUE(agent.state().adopted.empty());
  EXPECT_NE(agent.state().node.find(PodUid("a")), nullptr);
  EXPECT_TRUE(agent.state().removed.empty());
  EXPECT_EQ(agent.state().node.find(PodUid("b")), nullptr) << "the hook's pods end";
  EXPECT_EQ(agent.state().node.cpu.default_set, CpuSet::parse("0,3-7").value());
}

TEST_P(AdoptionTest, AnAdmissionForgetsNoGroupInWhichProcessesRun) {
  make_group("run-a", 100);
  NodeAgent agent = open();
  must(agent.admit_adopted(pod("a", {guaranteed("c", 1), guaranteed("d", 1)}),
                           {"c", "/model/run-a"}));
  const PodSpec without = pod("a", {guaranteed("d", 1)});
  const AgentState before = agent.state();
  const auto refused = agent.admit(std::vector{pod("b", {guaranteed("c", 1)}), without});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kBusy);
  EXPECT_THAT(refused.error().message, HasSubstr("its container 'c' is not in the new spec"));
  EXPECT_EQ(agent.state(), before);
  kernel_.find("run-a")->processes.clear();
  must(agent.admit(without));
  EXPECT_THAT(agent.state().ending, IsEmpty()) << "who admits it again removes it";
  ASSERT_TRUE(reconcile(agent).has_value());
  EXPECT_NE(agent.state().node.find(PodUid("a")), nullptr);
}

TEST_P(AdoptionTest, APodInWhichOthersRunEndsAfterThem) {
  make_group("run-a", 100);
  NodeAgent agent = open();
  must(agent.admit_adopted(pod("a", {guaranteed("c", 1), guaranteed("d", 1)}),
                           {"c", "/model/run-a"}));
  const ContainerId other{PodUid("a"), "d"};
  ASSERT_TRUE(agent.start(other).has_value());
  ASSERT_TRUE(agent.attach(other, 200).has_value());
  const auto refused = remove_adopted(agent, {PodUid("a"), "c"}, RunningProcesses::kRefuse);
  EXPECT_EQ(refused.error().code, ErrorCode::kBusy);
  kernel_.find("run-a")->processes.clear();
  ASSERT_TRUE(remove_adopted(agent, {PodUid("a"), "c"}, RunningProcesses::kKill).has_value());
  EXPECT_EQ(agent.state().node.cpu.default_set, CpuSet::parse("0-1,3-7").value());
  ASSERT_TRUE(reconcile(agent).has_value());
  EXPECT_THAT(agent.find_drift().value(), IsEmpty());
  EXPECT_EQ(cpus("poda/d"), "2");
  kernel_.find("poda/d")->processes.clear();
  ASSERT_TRUE(reconcile(agent).has_value());
  EXPECT_EQ(agent.state().node.find(PodUid("a")), nullptr);
  EXPECT_THAT(agent.state().ending, IsEmpty());
}

/// Other names of "/model/run-a", and of groups above and below it.
constexpr const char* kSpellings[] = {
    "/model/run-a/",
    "/model//run-a",
    "//model/run-a",
    "/model/./run-a",
    "/model/run-b/../run-a",
    "/model/../model/run-a/.",
    "/proc/self/root/model/run-a",
    "/link",
    "/link/",
    "/link/below",
    "/mount/run-a",
    "/mount/run-a/below",
    "/mount/run-b/../run-a",
};

TEST_P(AdoptionTest, GivesNoGroupToTwoContainersHoweverItIsSpelt) {
  make_group("run-a", 100);
  make_group("run-b", 200);
  ASSERT_TRUE(kernel_.fs()->make_group("run-a/below").has_value());
  kernel_.links = {{"/link", "/model/run-a"}, {"/mount", "/model"}, {"/proc/self/root", ""}};
  NodeAgent agent = open();
  must(agent.admit_adopted(pod("a", {guaranteed("c", 2)}), {"c", "/mount/../link"}));
  EXPECT_EQ(*agent.state().adopted.find({PodUid("a"), "c"}), "/model/run-a");
  must(agent.admit(pod("b", {best_effort("c")})));
  for (const char* directory : kSpellings) {
    SCOPED_TRACE(directory);
    const auto expect_refusal = [](const auto& outcome) {
      ASSERT_FALSE(outcome.has_value());
      EXPECT_EQ(outcome.error().code, ErrorCode::kInvalidArgument) << outcome.error().message;
    };
    expect_refusal(adopt(agent, {{PodUid("b"), "c"}, directory}));
    expect_refusal(agent.admit_adopted(pod("x", {best_effort("c")}), {"c", directory}));
    const auto several = agent.adopt({{{PodUid("b"), "c"}, directory}});
    ASSERT_TRUE(several.has_value()) << several.error().message;
    EXPECT_EQ(several->refused.size(), 1U);
  }
  EXPECT_EQ(agent.state().adopted.find(PodUid("b")), nullptr);
  EXPECT_EQ(cpus("run-a"), "1-2");
}

TEST_P(AdoptionTest, OfOneContainerAgainUnderAnotherSpellingIsTheSameGroup) {
  make_group("run-a", 100);
  kernel_.links = {{"/link", "/model/run-a"}};
  NodeAgent agent = open();
  const PodSpec spec = pod("a", {guaranteed("c", 2)});
  must(agent.admit_adopted(spec, {"c", "/model/run-a"}));
  must(agent.admit_adopted(spec, {"c", "/link"}));  // not "already runs in '/model/run-a'"
  EXPECT_EQ(*agent.state().adopted.find({PodUid("a"), "c"}), "/model/run-a");
}

TEST_P(AdoptionTest, OfSeveralGroupsAtOnceComparesTheirCanonicalNames) {
  make_group("run-a", 100);
  ASSERT_TRUE(kernel_.fs()->make_group("run-a/below").has_value());
  kernel_.links = {{"/link", "/model/run-a"}};
  NodeAgent agent = open();
  must(agent.admit(pod("a", {guaranteed("c", 2)})));
  must(agent.admit(pod("b", {best_effort("c"), best_effort("d")})));
  const auto outcome = agent.adopt({{{PodUid("a"), "c"}, "/model/run-a"},
                                    {{PodUid("b"), "c"}, "/link"},
                                    {{PodUid("b"), "d"}, "/link/below"}});
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  EXPECT_EQ(outcome->refused.size(), 2U);
  EXPECT_EQ(agent.state().adopted.find(PodUid("b")), nullptr);
}

TEST_P(AdoptionTest, RefusesTheGroupsOfOtherPodsAndThoseThatContainPods) {
  for (const char* group :
       {"kubepods/podb/x", "kubepods.slice/kubepods-podb.slice/x", "kubepods/burstable/poda/x"}) {
    kernel_.make_path(group);
  }
  NodeAgent agent = open();
  must(agent.admit(pod("a", {best_effort("c"), best_effort("d")})));
  must(agent.admit(pod("b", {best_effort("c")})));
  for (const char* group :
       {"", "poda", "podb", "podb/c", "podb/new", "poda/d", "kubepods", "kubepods/burstable",
        "kubepods.slice", "kubepods/podb", "kubepods/podb/x", "kubepods.slice/kubepods-podb.slice",
        "kubepods.slice/kubepods-podb.slice/x"}) {
    const auto adopted = adopt(agent, {{PodUid("a"), "c"}, std::string("/model/") + group});
    ASSERT_FALSE(adopted.has_value()) << group;
    EXPECT_EQ(adopted.error().code, ErrorCode::kInvalidArgument) << adopted.error().message;
  }
  const auto adopted = adopt(agent, {{PodUid("a"), "c"}, "/model/kubepods/burstable/poda/x"});
  EXPECT_TRUE(adopted.has_value()) << adopted.error().message;
}

TEST_P(AdoptionTest, RelativePathsAreNeverStored) {
  make_group("run-a", 100);
  NodeAgent agent = open();
  for (const char* directory : {"model/run-a", "run-a", "", ".", "../model/run-a"}) {
    const auto adopted = agent.admit_adopted(pod("a", {guaranteed("c", 2)}), {"c", directory});
    ASSERT_FALSE(adopted.has_value()) << directory;
    EXPECT_EQ(adopted.error().code, ErrorCode::kInvalidArgument) << directory;
  }
  EXPECT_THAT(agent.state().node.pods, IsEmpty());
}

/// Names stored by a version that compared them as text.
TEST_P(AdoptionTest, StoredNamesBecomeCanonicalWhenTheStateIsOpened) {
  make_group("run-a", 100);
  {
    // The names referred to different groups then.
    NodeAgent agent = open();
    make_group("other", 300);
    must(agent.admit(pod("b", {best_effort("c")})));
    must(agent.admit_adopted(pod("z", {guaranteed("c", 2)}), {"c", "/model/run-a"}));
    ASSERT_TRUE(adopt(agent, {{PodUid("b"), "c"}, "/model/other"}).has_value());
  }
  kernel_.links = {{"/model/other", "/model/run-a"}};
  NodeAgent agent = open();
  EXPECT_EQ(*agent.state().adopted.find({PodUid("z"), "c"}), "/model/run-a")
      << "the container with exclusive CPUs keeps it";
  EXPECT_EQ(agent.state().adopted.find(PodUid("b")), nullptr);
  ASSERT_TRUE(reconcile(agent).has_value());
  EXPECT_EQ(cpus("run-a"), "1-2");
}

TEST_P(AdoptionTest, OfSeveralGroupsAdoptsThoseThatItCan) {
  for (const char* name : {"run-a", "run-b", "run-d"}) make_group(name, 100);
  ASSERT_TRUE(kernel_.fs()->make_group("run-d/below").has_value());
  NodeAgent agent = open();
  must(agent.admit(pod("a", {guaranteed("c", 2), guaranteed("d", 1), guaranteed("e", 1)})));
  must(agent.admit(pod("b", {best_effort("c"), best_effort("d")})));
  const ContainerId gone{PodUid("a"), "d"};
  const ContainerId below{PodUid("b"), "d"};
  const auto outcome = agent.adopt({{{PodUid("a"), "c"}, "/model/run-a"},
                                    {gone, "/model/nowhere"},
                                    {{PodUid("a"), "e"}, "/model/run-d"},
                                    {below, "/model/run-d/below"},
                                    {{PodUid("b"), "c"}, "/model/run-b"}});
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  EXPECT_FALSE(outcome->change.not_enforced);
  ASSERT_EQ(outcome->refused.size(), 2U);
  EXPECT_EQ(outcome->refused[0].first, gone);
  EXPECT_EQ(outcome->refused[1].first, below);
  EXPECT_EQ(cpus("run-a"), "1-2");
  EXPECT_EQ(cpus("run-d"), "4");
  EXPECT_EQ(cpus("run-b"), "0,5-7");
  EXPECT_FALSE(agent.state().adopted.contains(gone));
  EXPECT_FALSE(agent.state().adopted.contains(below));
}

TEST_P(AdoptionTest, VerifyReadsBackTheContainerAndAllOthers) {
  make_group("run-a", 100);
  make_group("run-s", 200);
  NodeAgent agent = open();
  must(agent.admit(pod("s", {best_effort("c")})));
  must(agent.admit(pod("a", {guaranteed("c", 2)})));
  const ContainerId container{PodUid("a"), "c"};
  ASSERT_TRUE(adopt(agent, {{PodUid("a"), "c"}, "/model/run-a"}).has_value());
  ASSERT_TRUE(adopt(agent, {{PodUid("s"), "c"}, "/model/run-s"}).has_value());
  const auto verified = agent.verify(container);
  EXPECT_TRUE(verified.has_value()) << verified.error().message;
  EXPECT_EQ(agent.verify({PodUid("x"), "c"}).error().code, ErrorCode::kNotFound);

  kernel_.find("run-s")->files["cpuset.cpus"] = "0-3";
  EXPECT_THAT(agent.verify(container).error().message,
              HasSubstr("'/model/run-s' can run on CPUs 1-2, which are exclusive to 'poda/c'"));
  kernel_.find("run-s")->files["cpuset.cpus"] = "0";
  EXPECT_TRUE(agent.verify(container).has_value()) << "less than it should have";
  EXPECT_TRUE(agent.verify({PodUid("s"), "c"}).has_value()) << "it harms no other container";
  kernel_.find("run-s")->files["cpuset.cpus"] = "0-1";
  EXPECT_THAT(agent.verify({PodUid("s"), "c"}).error().message,
              HasSubstr("can run on CPU 1, which is exclusive to other containers"));
  kernel_.find("run-s")->files["cpuset.cpus"] = "0";
  kernel_.find("run-a")->files["cpuset.cpus"] = "1";
  EXPECT_THAT(agent.verify(container).error().message, HasSubstr("expected 1-2"));
  kernel_.find("run-a")->files["cpuset.cpus"] = "1-2";
  make_group("other", 300);
  kernel_.find("other")->files["cpuset.cpus"] = "2-3";
  EXPECT_THAT(agent.verify(container).error().message, HasSubstr("'/model/other' can run on"));
}

const auto kVersions = testing::Values(enforce::CgroupVersion::kV1, enforce::CgroupVersion::kV2);
std::string version_name(const testing::TestParamInfo<enforce::CgroupVersion>& param) {
  return param.param == enforce::CgroupVersion::kV1 ? "V1" : "V2";
}
INSTANTIATE_TEST_SUITE_P(Versions, AdoptionTest, kVersions, version_name);
INSTANTIATE_TEST_SUITE_P(Versions, BesideAdopted, kVersions, version_name);
INSTANTIATE_TEST_SUITE_P(Versions, UnreadAdoption, kVersions, version_name);

}  // namespace
}  // namespace pinfold::agent
