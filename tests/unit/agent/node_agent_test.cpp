#include "pinfold/agent/node_agent.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "agent_world.hpp"
#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/agent/reconcile.hpp"
#include "pinfold/checkpoint/journal.hpp"
#include "pinfold/checkpoint/kubelet_files.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "pinfold/enforce/live_process.hpp"

namespace pinfold::agent {
namespace {

using test::best_effort;
using test::guaranteed;
using test::ModelKernel;
using test::must_admit;
using test::pod;
using test::World;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class NodeAgentTest : public testing::TestWithParam<enforce::CgroupVersion> {
 protected:
  World world_{GetParam()};
};

TEST_P(NodeAgentTest, AdmitsPodsAndReturnsTheirCpus) {
  NodeAgent agent = world_.open();
  must_admit(agent, pod("s", {best_effort("c")}));
  EXPECT_EQ(world_.cpus("pods/c"), "0-7");
  must_admit(agent, pod("x", {guaranteed("a", 2), guaranteed("b", 1)}));
  EXPECT_EQ(world_.cpus("podx/a"), "1-2");
  EXPECT_EQ(world_.cpus("podx/b"), "3");
  EXPECT_EQ(world_.cpus("podx"), "1-3");
  EXPECT_EQ(world_.cpus("pods/c"), "0,4-7");
  const auto removed = agent.remove_pod(PodUid("x"), RunningProcesses::kRefuse);
  ASSERT_TRUE(removed.has_value()) << removed.error().message;
  EXPECT_FALSE(removed->not_enforced);
  EXPECT_EQ(world_.cpus("podx"), "gone");
  EXPECT_EQ(world_.cpus("pods/c"), "0-7");
}

/// Counts the lines of `log`, from index `begin` on, that start with `start`.
std::ptrdiff_t count_of(const std::vector<std::string>& log, std::size_t begin,
                        const std::string& start) {
  return std::count_if(log.begin() + static_cast<std::ptrdiff_t>(begin), log.end(),
                       [&](const std::string& line) { return line.starts_with(start); });
}

/// 250 pods with shared containers make room for an exclusive one: one write per container and per
/// pod. The admission of another shared pod neither reads nor writes their groups.
TEST_P(NodeAgentTest, WritesOnceToEachGroupThatChanges) {
  constexpr int kPods = 250;
  NodeAgent agent = world_.open();
  for (int i = 0; i < kPods; ++i) {
    must_admit(agent, pod("s" + std::to_string(i), {best_effort("c")}));
  }
  int reads = 0;
  world_.kernel.fault = [&](const char* access, const std::string& group, const std::string&) {
    if (std::string_view(access) == "read" && group.starts_with("pods")) ++reads;
    return 0;
  };
  const auto& log = world_.kernel.log;
  const std::size_t before = log.size();
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  EXPECT_EQ(count_of(log, before, "write pods"), 2 * kPods);
  EXPECT_LE(reads, 6 * kPods) << "a written value is read back";
  for (int i = 0; i < kPods; ++i) {
    ASSERT_EQ(world_.cpus("pods" + std::to_string(i) + "/c"), "0,3-7");
  }
  const std::size_t between = log.size();
  reads = 0;
  must_admit(agent, pod("y", {best_effort("c")}));
  EXPECT_EQ(count_of(log, between, "write pods"), 0);
  EXPECT_EQ(reads, 0);
}

TEST_P(NodeAgentTest, ContinuesAfterARestart) {
  {
    NodeAgent agent = world_.open();
    must_admit(agent, pod("s", {best_effort("c")}));
    must_admit(agent, pod("x", {guaranteed("a", 2)}));
  }
  const std::string before = world_.file("cpu_manager_state");
  EXPECT_THAT(before, HasSubstr(R"("entries":{"x":{"a":"1-2"}})"));
  const auto log = world_.kernel.log;
  NodeAgent agent = world_.open();
  EXPECT_FALSE(agent.layout()->is_dirty());
  EXPECT_EQ(agent.state().node.pods.size(), 2U);
  EXPECT_EQ(world_.kernel.log, log) << "a start writes nothing";
  EXPECT_EQ(world_.file("cpu_manager_state"), before);
  const auto report = reconcile(agent);
  ASSERT_TRUE(report.has_value());
  EXPECT_TRUE(report->drift.empty()) << testing::PrintToString(report->drift);
  EXPECT_TRUE(report->done.empty()) << testing::PrintToString(report->done);
  ASSERT_TRUE(agent.remove_pod(PodUid("x"), RunningProcesses::kRefuse).has_value());
  EXPECT_EQ(world_.cpus("pods/c"), "0-7");
}

TEST_P(NodeAgentTest, ChangesNothingOnARejection) {
  NodeAgent agent = world_.open();
  must_admit(agent, pod("s", {best_effort("c")}));
  const auto log = world_.kernel.log;
  const std::string before = world_.file("cpu_manager_state");
  const auto outcome = agent.admit(pod("x", {guaranteed("a", 9)}));
  ASSERT_TRUE(outcome.has_value());
  ASSERT_TRUE(outcome->rejection);
  EXPECT_EQ(outcome->rejection->reason, "UnexpectedAdmissionError");
  EXPECT_EQ(world_.kernel.log, log);
  EXPECT_EQ(world_.file("cpu_manager_state"), before);
}

TEST_P(NodeAgentTest, RejectsPodsWhoseRequestsDoNotFit) {
  NodeAgent agent = world_.open();
  Container shared = guaranteed("c", 6);
  shared.resources.limits.clear();
  must_admit(agent, pod("s", {shared}));
  const auto outcome = agent.admit(pod("x", {guaranteed("a", 2)}));
  ASSERT_TRUE(outcome && outcome->rejection);
  EXPECT_EQ(outcome->rejection->reason, "OutOfcpu");
  EXPECT_EQ(outcome->rejection->message,
            "Node didn't have enough resource: cpu, requested: 2000, used: 6000, capacity: 7000");
  must_admit(agent, pod("y", {guaranteed("a", 1)}));
}

TEST_P(NodeAgentTest, RemovesOneContainerAndNarrowsItsPod) {
  NodeAgent agent = world_.open();
  must_admit(agent, pod("x", {guaranteed("a", 2), guaranteed("b", 2)}));
  ASSERT_TRUE(agent.remove_container({PodUid("x"), "a"}, RunningProcesses::kRefuse).has_value());
  EXPECT_EQ(world_.cpus("podx/a"), "gone");
  EXPECT_EQ(world_.cpus("podx"), "3-4");
  must_admit(agent, pod("y", {guaranteed("c", 2)}));
  EXPECT_EQ(world_.cpus("pody/c"), "1-2");
  EXPECT_TRUE(agent.find_drift().value().empty());
}

TEST_P(NodeAgentTest, RemovesNothingThatStillRuns) {
  NodeAgent agent = world_.open();
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  ASSERT_TRUE(agent.attach({PodUid("x"), "a"}, 4711).has_value());
  const std::string before = world_.file("cpu_manager_state");
  const auto removed = agent.remove_pod(PodUid("x"), RunningProcesses::kRefuse);
  ASSERT_FALSE(removed.has_value());
  EXPECT_EQ(removed.error().code, ErrorCode::kBusy);
  EXPECT_EQ(removed.error().message,
            "'podx/a' still has 1 process (4711): stop the container first");
  EXPECT_EQ(world_.file("cpu_manager_state"), before);
  EXPECT_EQ(world_.cpus("podx/a"), "1-2");
}

TEST_P(NodeAgentTest, AttachesALiveProcess) {
  NodeAgent agent = world_.open();
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    while (true) ::pause();
  }
  const auto process = enforce::LiveProcess::open(child);
  ASSERT_TRUE(process.has_value()) << process.error().message;
  EXPECT_TRUE(attach(agent, {PodUid("x"), "a"}, *process).has_value());
  (void)::kill(child, SIGKILL);
  (void)::waitpid(child, nullptr, 0);
  const auto late = attach(agent, {PodUid("x"), "a"}, *process);
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code, ErrorCode::kNotFound);
}

TEST_P(NodeAgentTest, ConfinesProcessesOfInactivePods) {
  NodeAgent agent = world_.open();
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  auto fs = world_.kernel.fs();
  for (const char* group : {"podold", "podold/c"}) {
    ASSERT_TRUE(fs->make_group(group).has_value());
    if (GetParam() == enforce::CgroupVersion::kV2) {
      ASSERT_TRUE(fs->write("podold", "cgroup.subtree_control", "+cpuset").has_value());
    }
    ASSERT_TRUE(fs->write(group, "cpuset.cpus", "0-7").has_value());
    ASSERT_TRUE(fs->write(group, "cpuset.mems", "0-1").has_value());
  }
  ASSERT_TRUE(fs->write("podold/c", "cgroup.procs", "4711").has_value());
  const auto report = reconcile(agent);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(world_.cpus("podold/c"), "0,3-7");
  EXPECT_THAT(report->remaining, ElementsAre(HasSubstr("podold/c: belongs to no active pod")));
  world_.kernel.find("podold/c")->processes.clear();
  const auto again = reconcile(agent);
  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(again->remaining.empty());
  EXPECT_EQ(world_.cpus("podold"), "gone");
}

TEST_P(NodeAgentTest, ReconcilesDriftAndThenFindsNone) {
  NodeAgent agent = world_.open();
  must_admit(agent, pod("s", {best_effort("c")}));
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  auto fs = world_.kernel.fs();
  ASSERT_TRUE(fs->write("pods", "cpuset.cpus", "0-7").has_value());
  ASSERT_TRUE(fs->write("pods/c", "cpuset.cpus", "0-7").has_value());
  ASSERT_TRUE(fs->remove_group("podx/a").has_value());
  const auto report = reconcile(agent);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_THAT(report->drift, ElementsAre("pods: cpuset.cpus is '0-7', expected '0,3-7'",
                                         "pods/c: cpuset.cpus is '0-7', expected '0,3-7'",
                                         "podx/a: does not exist"));
  EXPECT_TRUE(report->remaining.empty());
  EXPECT_EQ(world_.cpus("pods/c"), "0,3-7");
  EXPECT_EQ(world_.cpus("podx/a"), "1-2");
  EXPECT_TRUE(reconcile(agent)->done.empty());
}

/// Whichever write fails, the decision remains, nothing overlaps, and reconcile completes it.
TEST_P(NodeAgentTest, ReconcilesAfterAFailedWrite) {
  const PodSpec shared = pod("s", {best_effort("c")});
  const PodSpec exclusive = pod("x", {guaranteed("a", 2), test::half_a_cpu("b")});
  int failures = 0;
  for (int fail_at = 0;; ++fail_at) {
    World world(GetParam());
    NodeAgent agent = world.open();
    must_admit(agent, shared);
    world.kernel.writes_until_failure = fail_at;
    const auto outcome = agent.admit(exclusive);
    ASSERT_TRUE(outcome.has_value()) << fail_at << ": " << outcome.error().message;
    if (!outcome->not_enforced) break;  // every write has failed once
    ++failures;
    // If only writes of values fail, the state of the kernel is known.
    const std::string& message = outcome->not_enforced->message;
    const bool is_value =
        message.find("cpuset.") == std::string::npos && message.find("create") == std::string::npos;
    EXPECT_NE(agent.layout()->is_dirty(), is_value) << fail_at << ": " << message;
    EXPECT_TRUE(agent.checkpoint_journal());
    EXPECT_THAT(world.file("cpu_manager_state"), HasSubstr(R"("x":{"a":"1-2"})")) << fail_at;
    if (world.cpus("podx/a") == "1-2") {
      EXPECT_EQ(world.cpus("pods/c"), "0,3-7") << fail_at;
    }
    world.kernel.writes_until_failure = -1;
    const auto report = reconcile(agent);
    ASSERT_TRUE(report.has_value()) << fail_at << ": " << report.error().message;
    EXPECT_TRUE(report->remaining.empty()) << fail_at << testing::PrintToString(report->remaining);
    EXPECT_EQ(world.cpus("podx/a"), "1-2") << fail_at;
    EXPECT_EQ(world.cpus("podx/b"), "0,3-7") << fail_at;
    EXPECT_EQ(world.cpus("pods/c"), "0,3-7") << fail_at;
    EXPECT_FALSE(agent.layout()->is_dirty()) << fail_at;
  }
  EXPECT_GT(failures, 8);
}

TEST_P(NodeAgentTest, TheNextAdmissionAlsoReconcilesAFailedWrite) {
  NodeAgent agent = world_.open();
  must_admit(agent, pod("s", {best_effort("c")}));
  world_.kernel.writes_until_failure = 3;
  ASSERT_TRUE(agent.admit(pod("x", {guaranteed("a", 2)}))->not_enforced);
  world_.kernel.writes_until_failure = -1;
  must_admit(agent, pod("y", {guaranteed("a", 2)}));
  EXPECT_EQ(world_.cpus("podx/a"), "1-2");
  EXPECT_EQ(world_.cpus("pody/a"), "3-4");
  EXPECT_EQ(world_.cpus("pods/c"), "0,5-7");
}

TEST_P(NodeAgentTest, RemovesTheInitContainerWhenTheNextOneStarts) {
  NodeAgent agent = world_.open();
  must_admit(agent, pod("x", {guaranteed("init", 2, ContainerKind::kInit), guaranteed("main", 2)}));
  EXPECT_EQ(world_.cpus("podx/init"), "1-2");
  ASSERT_TRUE(agent.start({PodUid("x"), "init"}).has_value());
  EXPECT_EQ(world_.cpus("podx/init"), "1-2");
  ASSERT_TRUE(agent.start({PodUid("x"), "main"}).has_value());
  EXPECT_EQ(world_.cpus("podx/init"), "gone");
  EXPECT_EQ(world_.cpus("podx/main"), "1-2");
}

INSTANTIATE_TEST_SUITE_P(Versions, NodeAgentTest,
                         testing::Values(enforce::CgroupVersion::kV1, enforce::CgroupVersion::kV2),
                         [](const auto& version) {
                           return version.param == enforce::CgroupVersion::kV1 ? "V1" : "V2";
                         });

TEST(NodeAgent, RefusesAStateFileThatIsDamaged) {
  const struct {
    const char* file;
    const char* bytes;
    const char* says;
  } cases[] = {
      {"cpu_manager_state", "{", "start: cpumanager: could not restore state from checkpoint"},
      {"memory_manager_state", "nonsense", "start: memorymanager: could not restore state"},
      {"cpu_manager_state", R"({"policyName":"none","defaultCpuSet":"","checksum":1353318690})",
       "start: cpumanager: "},
  };
  for (const auto& c : cases) {
    World world;
    std::ofstream(world.state / c.file) << c.bytes;
    const auto agent = world.try_open();
    ASSERT_FALSE(agent.has_value()) << c.file << ": " << c.bytes;
    EXPECT_EQ(agent.error().code, ErrorCode::kCorrupt) << c.file;
    EXPECT_THAT(agent.error().message, HasSubstr(c.says)) << c.file << ": " << c.bytes;
    EXPECT_EQ(world.file(c.file), c.bytes);
  }
}

TEST(NodeAgent, RefusesALaterVersionOfItsOwnFile) {
  World world;
  std::ofstream(world.state / ".pinfold_pods") << "{\"version\":9}";
  const auto agent = world.try_open();
  ASSERT_FALSE(agent.has_value());
  EXPECT_EQ(agent.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(agent.error().message, HasSubstr("/.pinfold_pods': version: '9': expected 1"));
}

TEST(NodeAgent, HoldsWhatAFileOfDamagedPodsDoesNotName) {
  World world;
  {
    NodeAgent agent = world.open();
    must_admit(agent, pod("x", {guaranteed("a", 2)}));
  }
  std::string bytes = world.file(".pinfold_pods");
  bytes[bytes.find("\"cpu\"")] = '#';
  std::ofstream(world.state / ".pinfold_pods") << bytes;
  std::vector<std::string> warnings;
  AgentOptions options;
  options.log = [&](LogLevel level, std::string_view message) {
    if (level == LogLevel::kWarning) warnings.emplace_back(message);
  };
  NodeAgent agent = world.try_open({}, options).value();
  EXPECT_THAT(warnings,
              ElementsAre(AllOf(HasSubstr("/.pinfold_pods' is damaged: wrong checksum: "),
                                HasSubstr("the assignments in the kubelet's files are held"))));
  EXPECT_EQ(agent.state().node.held, std::set{PodUid("x")});
  must_admit(agent, pod("y", {guaranteed("a", 2)}));
  EXPECT_EQ(world.cpus("pody/a"), "3-4");
  EXPECT_EQ(world.file(".pinfold_pods.damaged").substr(0, 8), "#pinfold");
  EXPECT_THAT(world.file(".pinfold_pods.damaged"), HasSubstr(bytes));
}

TEST(NodeAgent, MissesAFileOfTheKubeletsThatItsPodsNeed) {
  World world;
  {
    NodeAgent agent = world.open();
    must_admit(agent, pod("x", {guaranteed("a", 2)}));
  }
  std::filesystem::remove(world.state / "cpu_manager_state");
  const auto agent = world.try_open();
  ASSERT_FALSE(agent.has_value());
  EXPECT_EQ(agent.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(agent.error().message, HasSubstr("/cpu_manager_state' is missing, but "));
  EXPECT_THAT(agent.error().message, HasSubstr("names active pods (1)"));
}

TEST(NodeAgent, ChangesNothingWhenTheStateCannotBeStored) {
  World world;
  NodeAgent agent = world.open();
  const auto log = world.kernel.log;
  std::filesystem::remove_all(world.state.path());
  const auto outcome = agent.admit(pod("x", {guaranteed("a", 2)}));
  ASSERT_FALSE(outcome.has_value());
  EXPECT_THAT(outcome.error().message, HasSubstr("admit pod 'x': persist: "));
  EXPECT_EQ(world.kernel.log, log);
  EXPECT_EQ(agent.state().node.find(PodUid("x")), nullptr);
}

TEST(NodeAgent, ReportsUnknownPodsAndContainers) {
  World world;
  NodeAgent agent = world.open();
  EXPECT_EQ(agent.remove_pod(PodUid("x"), RunningProcesses::kRefuse).error().code,
            ErrorCode::kNotFound);
  EXPECT_EQ(agent.start({PodUid("x"), "c"}).error().code, ErrorCode::kNotFound);
  must_admit(agent, pod("x", {best_effort("a")}));
  EXPECT_EQ(agent.remove_container({PodUid("x"), "b"}, RunningProcesses::kRefuse).error().message,
            "pod 'x' has no container 'b'");
}

TEST(NodeAgent, DecidesAndStoresWithoutCgroups) {
  World world;
  auto agent = NodeAgent::open(
      test::static_node(), checkpoint::Store::open(world.state.path()).value(), std::nullopt, {});
  ASSERT_TRUE(agent.has_value()) << agent.error().message;
  must_admit(*agent, pod("x", {guaranteed("a", 2)}));
  EXPECT_FALSE(agent->enforces());
  EXPECT_EQ(reconcile(*agent).error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(agent->find_drift().value().empty());
}

TEST(AdmitTogether, IsOneCommitWithAnAnswerForEachPod) {
  World world;
  NodeAgent agent = world.open();
  std::vector<Trace> traces;
  const auto outcomes = agent.admit({pod("a", {guaranteed("c", 2)}), pod("b", {guaranteed("c", 9)}),
                                     pod("d", {guaranteed("c", 3)})},
                                    &traces);
  ASSERT_TRUE(outcomes) << outcomes.error().message;
  EXPECT_FALSE((*outcomes)[0].rejection);
  EXPECT_TRUE((*outcomes)[1].rejection);
  EXPECT_FALSE((*outcomes)[2].rejection);
  EXPECT_EQ(traces.size(), 3U);
  EXPECT_EQ(checkpoint::decode_journal(world.file(".pinfold_journal"))->size(), 1U);
  EXPECT_EQ(world.cpus("poda/c"), "1-2");
  EXPECT_EQ(world.cpus("podd/c").size(), std::string("3-5").size());
  EXPECT_EQ(world.cpus("podb/c"), "gone");
}

}  // namespace
}  // namespace pinfold::agent
