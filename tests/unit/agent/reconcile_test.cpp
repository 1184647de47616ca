#include "pinfold/agent/reconcile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "agent_world.hpp"
#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/agent/known_machine.hpp"
#include "pinfold/agent/node_file.hpp"
#include "pinfold/agent/offline.hpp"
#include "pinfold/agent/process_list.hpp"
#include "pinfold/agent/status.hpp"
#include "pinfold/enforce/page_placement.hpp"

/// What the agent handles and the kubelet does not: offline CPUs, moved processes, partitions.
namespace pinfold::agent {
namespace {

using test::best_effort;
using test::guaranteed;
using test::must_admit;
using test::pod;
using test::World;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

Config with(Partition partition) {
  Config config;
  config.partition = partition;
  return config;
}

class ReconcileTest : public testing::TestWithParam<enforce::CgroupVersion> {
 protected:
  World world_{GetParam()};
};

/// New exclusive CPUs could leave the shared pool without an online CPU.
TEST_P(ReconcileTest, OnlyWhatGetsExclusiveCpusWaitsForOfflineOnes) {
  {
    NodeAgent agent = world_.open();
    must_admit(agent, pod("x", {guaranteed("a", 2)}));
  }
  NodeAgent agent = world_.open({5});
  const auto refused = agent.admit(pod("y", {guaranteed("a", 1)}));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(refused.error().message,
              HasSubstr("CPU 5 of this node is offline (no container has it)"));
  must_admit(agent, pod("s", {best_effort("c")}));
  EXPECT_EQ(agent.state().node.find(PodUid("y")), nullptr);
}

/// Enough free CPUs alone would not help.
TEST_P(ReconcileTest, ARejectionSaysThatCpusAreOffline) {
  NodeAgent agent = world_.open({5});
  std::vector<Trace> traces;
  const auto preview = agent.preview({pod("y", {guaranteed("a", 8)})}, &traces);
  ASSERT_TRUE(preview.has_value()) << preview.error().message;
  const AdmitOutcome& outcome = preview->outcomes.front();
  ASSERT_TRUE(outcome.rejection);
  ASSERT_FALSE(outcome.notes.empty());
  EXPECT_THAT(
      outcome.notes.front(),
      HasSubstr("CPU 5 of this node is offline (no container has it): no container gets "
                "exclusive CPUs until it is back ('chcpu --enable 5'; if it will not return: "
                "'pinfold reconfigure')"));
  EXPECT_EQ(traces.front().facts.front().text, outcome.notes.front());
}

/// The pod has exclusive CPUs, which its containers share.
TEST_P(ReconcileTest, APodThatGetsExclusiveCpusWaitsForOfflineOnes) {
  Config config;
  config.topology_manager_policy = "best-effort";
  config.topology_manager_scope = "pod";
  config.feature_gates["PodLevelResourceManagers"] = true;
  PodSpec spec = pod("p", {best_effort("c")});
  spec.resources = guaranteed("", 2).resources;
  {
    NodeAgent agent = world_.try_open(config).value();
    must_admit(agent, spec);
    ASSERT_EQ(agent.state().node.cpu.pods.at(PodUid("p")).size(), 2);
    ASSERT_TRUE(agent.remove_pod(PodUid("p"), RunningProcesses::kRefuse).has_value());
  }
  NodeAgent agent = world_.try_open(config, {}, {5}).value();
  const auto refused = agent.admit(spec);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message,
              HasSubstr("CPU 5 of this node is offline (no container has it)"));
}

TEST_P(ReconcileTest, NotesLeaveWithTheirPod) {
  NodeAgent agent = world_.open();
  must_admit(agent, pod("x", {best_effort("a")}));
  ASSERT_TRUE(agent.note({{PodUid("x"), PodNote{}}, {PodUid("unknown"), PodNote{}}}).has_value());
  ASSERT_EQ(agent.state().notes.size(), 1U);
  ASSERT_TRUE(agent.remove_pod(PodUid("x"), RunningProcesses::kRefuse).has_value());
  EXPECT_TRUE(agent.state().notes.empty());
}

TEST_P(ReconcileTest, ContainersLoseCpusThatAreOffline) {
  {
    NodeAgent agent = world_.open();
    must_admit(agent, pod("s", {best_effort("c")}));
    must_admit(agent, pod("x", {guaranteed("a", 2), guaranteed("b", 1)}));  // 1-2 and 3
  }
  const CpuSet offline = {2, 3, 5};
  NodeAgent agent = world_.open(offline);
  EXPECT_THAT(
      lost_cpus(agent.node(), agent.state(), agent.offline()),
      UnorderedElementsAre(
          "default/x, container a: lost CPU 2 of its 1-2 and runs on 1",
          "default/x, container b: lost CPU 3 of its 3 and runs on 0,4,6-7 of the shared pool",
          "shared pool: lost CPU 5, 0,4,6-7 left"));
  const auto report = reconcile(agent);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->remaining.size(), 3U);
  EXPECT_EQ(world_.cpus("podx/a"), "1");
  EXPECT_EQ(world_.cpus("podx/b"), "0,4,6-7");
  EXPECT_EQ(world_.cpus("pods/c"), "0,4,6-7");
  EXPECT_THAT(agent.find_drift().value(), IsEmpty());
  ASSERT_TRUE(agent.remove_container({PodUid("x"), "b"}, RunningProcesses::kRefuse).has_value());
}

/// With strict-cpu-reservation the shared pool excludes the reserved CPU.
TEST_P(ReconcileTest, WithoutASharedPoolContainersRunOnWhatIsExclusiveToNobody) {
  Config config;
  config.cpu_manager_policy_options = {{"strict-cpu-reservation", "true"}};
  {
    NodeAgent agent = world_.try_open(config).value();
    must_admit(agent, pod("s", {best_effort("c")}));
    must_admit(agent, pod("x", {guaranteed("a", 3), guaranteed("b", 3)}));  // 1-6
    EXPECT_EQ(world_.cpus("pods/c"), "7");
    world_.kernel.set_online(CpuSet::range(0, 6));  // the agent does not know yet
    EXPECT_TRUE(reconcile(agent).has_value());
    EXPECT_EQ(world_.cpus("pods/c"), "0");
  }
  NodeAgent agent = world_.try_open(config, {}, {7}).value();
  EXPECT_THAT(lost_cpus(agent.node(), agent.state(), agent.offline()),
              ElementsAre("shared pool: lost CPU 7, none left: its containers run on 0"));
  EXPECT_TRUE(reconcile(agent).has_value());
  EXPECT_EQ(world_.cpus("pods/c"), "0");
  EXPECT_THAT(agent.find_drift().value(), IsEmpty());
}

TEST_P(ReconcileTest, NamesAGroupThatCannotBeRead) {
  NodeAgent agent = world_.open();
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  for (const char* file :
       {"cgroup.procs", "cpuset.cpus", "cpuset.mems",
        GetParam() == enforce::CgroupVersion::kV1 ? "cpu.shares" : "cpu.weight"}) {
    world_.kernel.unreadable = file;
    const auto drift = agent.find_drift();
    ASSERT_TRUE(drift.has_value()) << file << ": " << drift.error().message;
    EXPECT_THAT(*drift, testing::Contains(
                            testing::AllOf(testing::StartsWith("podx/a: read "), HasSubstr(file))));
  }
  world_.kernel.unreadable = "";
  EXPECT_THAT(agent.find_drift().value(), IsEmpty());
}

TEST_P(ReconcileTest, CpusThatAreOnlineAgainReturn) {
  {
    NodeAgent agent = world_.open();
    must_admit(agent, pod("x", {guaranteed("a", 2)}));
  }
  {
    NodeAgent agent = world_.open(CpuSet{2});
    ASSERT_TRUE(reconcile(agent).has_value());
  }
  EXPECT_EQ(world_.cpus("podx/a"), "1");
  NodeAgent agent = world_.open();
  const auto report = reconcile(agent);
  ASSERT_TRUE(report.has_value());
  EXPECT_THAT(report->remaining, IsEmpty());
  EXPECT_EQ(world_.cpus("podx/a"), "1-2");
}

TEST(Reconcile, ReportsCpusThatAnAncestorGroupLacks) {
  World world(enforce::CgroupVersion::kV2);
  NodeAgent agent = world.open();
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  world.kernel.cpus = CpuSet{0, 1, 3, 4, 5, 6, 7};
  const auto report = reconcile(agent);
  ASSERT_TRUE(report.has_value());
  EXPECT_THAT(report->remaining,
              ElementsAre("podx/a: runs on CPU 1, expected 1-2: '/model' has CPUs 0-1,3-7"));
  world.kernel.cpus = CpuSet::range(0, 7);
  EXPECT_THAT(reconcile(agent).value().remaining, IsEmpty());
}

/// A cpuset without online CPUs would give it all CPUs of its parent, including exclusive ones.
TEST(Reconcile, AContainerThatLostItsOnlyCpuGetsTheSharedPool) {
  World world(enforce::CgroupVersion::kV2);
  NodeAgent agent = world.open();
  must_admit(agent, pod("x", {guaranteed("a", 1)}));
  world.kernel.cpus = CpuSet{0, 2, 3, 4, 5, 6, 7};  // the agent does not know
  const auto report = reconcile(agent);
  ASSERT_TRUE(report.has_value());
  EXPECT_THAT(report->remaining,
              ElementsAre("podx/a: runs on CPUs 0,2-7, expected 1: '/model' has CPUs 0,2-7"));
  EXPECT_EQ(world.cpus("podx/a"), "0,2-7");
  world.kernel.cpus = CpuSet::range(0, 7);
  EXPECT_THAT(reconcile(agent).value().remaining, IsEmpty());
  EXPECT_EQ(world.cpus("podx/a"), "1");
}

/// A process that lives until the test ends.
class Sleeper {
 public:
  Sleeper() : pid_(::fork()) {
    while (pid_ == 0) ::pause();
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  ~Sleeper() { end(); }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

/// Groups with any name, also inside a pod's group.
TEST_P(ReconcileTest, GroupsOfOthersLeaveExclusiveCpus) {
  NodeAgent agent = world_.open();
  must_admit(agent, pod("x", {guaranteed("a", 2)}));  // 1-2
  const auto fs = world_.kernel.fs();
  for (const char* group : {"batch", "batch/job", "podx/cri:abc", "pod..evil"}) {
    ASSERT_TRUE(fs->make_group(group).has_value());
    if (GetParam() == enforce::CgroupVersion::kV2 && group == std::string("batch")) {
      ASSERT_TRUE(fs->write("batch", "cgroup.subtree_control", "+cpuset").has_value());
    }
    const bool is_in_pod = std::string(group).starts_with("podx/");
    ASSERT_TRUE(fs->write(group, "cpuset.cpus", is_in_pod ? "1-2" : "1-4").has_value());
    ASSERT_TRUE(fs->write(group, "cpuset.mems", "0-1").has_value());
  }
  ASSERT_TRUE(fs->write("batch/job", "cgroup.procs", "4711").has_value());
  const auto status = node_status(agent);
  ASSERT_TRUE(status.has_value()) << status.error().message;
  EXPECT_FALSE(status->ok);
  EXPECT_THAT(status->drift,
              ElementsAre("'/model/batch': a foreign group, 1 process, on CPUs 1-2 that are "
                          "exclusive to containers",
                          HasSubstr("'/model/pod..evil': a foreign group, 0 processes"),
                          HasSubstr("'/model/podx/cri:abc': a foreign group, 0 processes")));
  EXPECT_EQ(status->foreign.size(), 3U);

  const auto report = reconcile(agent);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_THAT(report->drift, status->drift);
  EXPECT_EQ(report->overlap.to_string(), "1-2");
  EXPECT_EQ(world_.cpus("batch"), "3-4");
  EXPECT_EQ(world_.cpus("batch/job"), "3-4");
  EXPECT_EQ(world_.cpus("pod..evil"), "3-4");
  EXPECT_EQ(world_.cpus("podx/a"), "1-2");
}

TEST_P(ReconcileTest, NamesExclusiveCpusOnWhichOthersCouldRun) {
  NodeAgent agent = world_.open();
  must_admit(agent, pod("s", {best_effort("c")}));
  must_admit(agent, pod("x", {guaranteed("a", 2), guaranteed("b", 1)}));  // 1-2 and 3
  EXPECT_TRUE(reconcile(agent)->overlap.empty());
  const auto fs = world_.kernel.fs();
  ASSERT_TRUE(fs->write("pods", "cpuset.cpus", "0-7").has_value());
  ASSERT_TRUE(fs->write("pods/c", "cpuset.cpus", "0,2-7").has_value());
  ASSERT_TRUE(fs->write("podx/a", "cpuset.cpus", "1").has_value());
  EXPECT_TRUE(reconcile(agent)->overlap.empty()) << "nothing runs there";
  world_.kernel.find("pods/c")->processes = {4711};
  ASSERT_TRUE(fs->write("pods", "cpuset.cpus", "0-7").has_value());
  ASSERT_TRUE(fs->write("pods/c", "cpuset.cpus", "0,2-7").has_value());
  EXPECT_EQ(reconcile(agent)->overlap.to_string(), "2-3");
  EXPECT_TRUE(reconcile(agent)->overlap.empty());
}

TEST_P(ReconcileTest, GroupsOfOthersLeaveCpusThatBecomeExclusive) {
  const auto fs = world_.kernel.fs();
  (void)world_.kernel.cgroups();  // enables the controllers
  ASSERT_TRUE(fs->make_group("batch").has_value());
  ASSERT_TRUE(fs->write("batch", "cpuset.cpus", "1").has_value());
  NodeAgent agent = world_.open();
  must_admit(agent, pod("x", {guaranteed("a", 2)}));  // 1-2
  EXPECT_EQ(world_.cpus("batch"), "0,3-7");
  EXPECT_THAT(agent.find_drift().value(), IsEmpty());
}

TEST_P(ReconcileTest, ProcessesInTheRootItselfAreReported) {
  NodeAgent agent = world_.open();
  world_.kernel.root.processes = {4711, 4712};
  EXPECT_THAT(agent.find_drift().value(), IsEmpty()) << "no CPU is exclusive";
  EXPECT_EQ(node_status(agent)->foreign.size(), 1U);
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  const auto report = reconcile(agent);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_THAT(report->remaining,
              ElementsAre("'/model': 2 processes in this group itself, on CPUs 1-2 that are "
                          "exclusive to containers: move them into another group"));
}

TEST(ReconcileV1, NamesARootWithoutCpus) {
  World world(enforce::CgroupVersion::kV1);
  NodeAgent agent = world.open();
  world.kernel.root.files["cpuset.cpus"] = "";
  EXPECT_THAT(agent.find_drift().value(), ElementsAre("'/model': its cpuset.cpus is empty"));
}

/// A crash can leave a group whose cpuset was never written.
TEST(ReconcileV1, FillsAPodsGroupWithAnUnknownContainer) {
  World world(enforce::CgroupVersion::kV1);
  NodeAgent agent = world.open();
  must_admit(agent, pod("x", {guaranteed("a", 2)}));  // 1-2
  ASSERT_TRUE(world.kernel.fs()->make_group("podx/old").has_value());
  world.kernel.find("podx")->files["cpuset.cpus"] = "";
  const auto report = reconcile(agent);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_TRUE(report->overlap.empty());
  EXPECT_EQ(world.cpus("podx/a"), "1-2");
}

TEST_P(ReconcileTest, AProcessThatWasMovedOutIsMovedBack) {
  Sleeper process;
  NodeAgent agent = world_.open();
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  ASSERT_TRUE(agent.attach({PodUid("x"), "a"}, process.pid()).has_value());
  ASSERT_THAT(reconcile(agent).value().drift, IsEmpty());
  world_.kernel.find("podx/a")->processes.clear();
  const auto report = reconcile(agent);
  ASSERT_TRUE(report.has_value());
  ASSERT_THAT(report->drift, ElementsAre(HasSubstr("podx/a: process ")));
  EXPECT_EQ(report->moved.size(), 1U);
  EXPECT_THAT(world_.kernel.find("podx/a")->processes, ElementsAre(process.pid()));
  EXPECT_THAT(reconcile(agent).value().drift, IsEmpty());
}

TEST_P(ReconcileTest, AnEndedProcessIsNoDrift) {
  Sleeper process;
  NodeAgent agent = world_.open();
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  ASSERT_TRUE(agent.attach({PodUid("x"), "a"}, process.pid()).has_value());
  ASSERT_TRUE(reconcile(agent).has_value());
  world_.kernel.find("podx/a")->processes.clear();
  process.end();
  EXPECT_THAT(reconcile(agent).value().drift, IsEmpty());
}

TEST_P(ReconcileTest, ExclusiveContainersBecomePartitionsAndEndAsOrdinaryGroups) {
  const bool v2 = GetParam() == enforce::CgroupVersion::kV2;
  const std::string file = v2 ? "cpuset.cpus.partition" : "cpuset.sched_load_balance";
  const auto value = [&](const char* group) { return world_.kernel.find(group)->files.at(file); };
  {
    NodeAgent agent = world_.try_open(with(Partition::kIsolated)).value();
    must_admit(agent, pod("s", {best_effort("c")}));
    must_admit(agent, pod("x", {guaranteed("a", 2)}));
    EXPECT_THAT(agent.layout()->partition_problems(), IsEmpty());
    EXPECT_EQ(value("podx/a"), v2 ? "isolated" : "0");
    EXPECT_EQ(value("pods/c"), v2 ? "member" : "1");
    if (v2) {
      EXPECT_EQ(world_.kernel.root.files.at("cpuset.cpus.exclusive"), "1-2");
    }
  }
  NodeAgent agent = world_.open();
  ASSERT_TRUE(reconcile(agent).has_value());
  EXPECT_EQ(value("podx/a"), v2 ? "member" : "1");
}

TEST_P(ReconcileTest, APartitionStaysWhileItsPodChanges) {
  NodeAgent agent = world_.try_open(with(Partition::kIsolated)).value();
  must_admit(agent, pod("x", {guaranteed("a", 2), test::half_a_cpu("b")}));
  must_admit(agent, pod("y", {guaranteed("a", 2)}));  // x/b, and so x, lose these CPUs
  EXPECT_EQ(world_.cpus("podx"), GetParam() == enforce::CgroupVersion::kV2 ? "0,5-7" : "0-2,5-7");
  if (GetParam() == enforce::CgroupVersion::kV2) {
    EXPECT_THAT(agent.layout()->partition_problems(), IsEmpty());
    EXPECT_EQ(world_.kernel.find("podx/a")->files.at("cpuset.cpus.partition"), "isolated");
    EXPECT_EQ(world_.kernel.find("podx")->files.at("cpuset.cpus.exclusive"), "1-2");
  } else {
    ASSERT_EQ(agent.layout()->partition_problems().size(), 1U);
    EXPECT_EQ(agent.layout()->partition_problems().begin()->second,
              "its pod also has the shared CPUs 0,5-7");
  }
  must_admit(agent, pod("s", {best_effort("c")}));
  EXPECT_FALSE(agent.layout()->is_dirty());
}

TEST_P(ReconcileTest, APodLosesAPartitionAndKeepsAnother) {
  NodeAgent agent = world_.try_open(with(Partition::kIsolated)).value();
  must_admit(agent, pod("x", {guaranteed("a", 2), guaranteed("b", 1)}));
  ASSERT_THAT(agent.layout()->partition_problems(), IsEmpty());
  const auto removed = agent.remove_container({PodUid("x"), "b"}, RunningProcesses::kRefuse);
  ASSERT_TRUE(removed.has_value()) << removed.error().message;
  EXPECT_THAT(agent.layout()->partition_problems(), IsEmpty());
  EXPECT_FALSE(agent.layout()->is_dirty());
  EXPECT_EQ(world_.cpus("podx/a"), "1-2");
}

TEST(Partitions, FallBackAndReportTheKernelsReason) {
  World world(enforce::CgroupVersion::kV2);
  world.kernel.has_exclusive = false;
  NodeAgent agent = world.try_open(with(Partition::kRoot)).value();
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  ASSERT_EQ(agent.layout()->partition_problems().size(), 1U);
  EXPECT_THAT(agent.layout()->partition_problems().begin()->second,
              HasSubstr("root invalid (Parent is not a partition root)"));
  EXPECT_EQ(world.kernel.find("podx/a")->files.at("cpuset.cpus.partition"), "member");
  EXPECT_EQ(world.cpus("podx/a"), "1-2");
  EXPECT_FALSE(agent.layout()->is_dirty());
}

TEST(Partitions, AreNoneIfTheKernelLeavesCpusOut) {
  World world(enforce::CgroupVersion::kV2);
  world.kernel.stripped = CpuSet{2};
  NodeAgent agent = world.try_open(with(Partition::kIsolated)).value();
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  ASSERT_EQ(agent.layout()->partition_problems().size(), 1U);
  EXPECT_THAT(agent.layout()->partition_problems().begin()->second,
              HasSubstr("lacks CPU 2, which another cgroup has exclusively"));
  EXPECT_EQ(world.kernel.find("podx/a")->files.at("cpuset.cpus.partition"), "member");
  EXPECT_EQ(world.cpus("podx/a"), "1-2");
}

INSTANTIATE_TEST_SUITE_P(BothVersions, ReconcileTest,
                         testing::Values(enforce::CgroupVersion::kV1, enforce::CgroupVersion::kV2),
                         [](const auto& version) {
                           return version.param == enforce::CgroupVersion::kV1 ? "V1" : "V2";
                         });

/// Returns a configuration in which a pod gets memory of one NUMA node; both NUMA nodes have room.
Config with_memory_manager() {
  Config config;
  config.topology_manager_policy = "single-numa-node";
  config.memory_manager_policy = "Static";
  config.system_reserved = {{"memory", "64Mi"}};
  config.eviction_hard.emplace()["memory.available"] = "64Mi";
  config.reserved_memory = {{0, {{"memory", "128Mi"}}}};
  return config;
}

TEST(MovePages, MovesThePagesOfAProcessOnlyIfAsked) {
  Sleeper process;
  if (enforce::pages_of(process.pid()).empty()) GTEST_SKIP() << "this kernel has no numa_maps";
  World world(enforce::CgroupVersion::kV2);
  const auto reconcile = [&](bool move_pages) {
    AgentOptions options;
    options.move_pages = move_pages;
    NodeAgent agent = world.try_open(with_memory_manager(), options).value();
    if (agent.state().node.pods.empty()) {
      must_admit(agent, pod("x", {guaranteed("a", 4)}));  // more CPUs than NUMA node 0 has free
      EXPECT_EQ(agent.desired().layout.at({PodUid("x"), "a"}).mems, (enforce::NodeSet{1}));
      EXPECT_TRUE(agent.attach({PodUid("x"), "a"}, process.pid()).has_value());
    }
    return agent::reconcile(agent).value();
  };
  ReconcileReport report = reconcile(false);
  EXPECT_THAT(report.moved, IsEmpty());
  EXPECT_THAT(report.remaining, IsEmpty());
  report = reconcile(true);
  // A machine with one NUMA node has no other node to move pages to.
  std::vector<std::string> lines = report.moved;
  lines.insert(lines.end(), report.remaining.begin(), report.remaining.end());
  EXPECT_THAT(lines, ElementsAre(HasSubstr(std::to_string(process.pid()))));
}

TEST(KnownMachine, IsTheOneOfTheStateWhileCpusAreMissing) {
  const test::TempDir dir;
  const Machine whole = test::two_sockets();
  MachineDescription description = whole.description();
  description.cpus.pop_back();
  const Machine part = Machine::make(description).value();
  const auto put = [&](const std::string& name, const std::string& text) {
    std::ofstream(dir / name) << text;
  };
  const auto known_to_be = [&](const Machine& observed) {
    auto store = checkpoint::Store::open(dir.path()).value();
    return known_machine(observed, store, {});
  };
  EXPECT_TRUE(known_to_be(part).offline.empty()) << "nothing is known";
  put(std::string(checkpoint::kNodeFileName),
      encode_node(whole, test::static_node().config(), nullptr));
  EXPECT_TRUE(known_to_be(part).offline.empty()) << "there is no state";
  put("cpu_manager_state", "{}");
  const KnownMachine known = known_to_be(part);
  EXPECT_EQ(known.offline, (CpuSet{7}));
  EXPECT_EQ(known.machine.all_cpus(), whole.all_cpus());
  EXPECT_TRUE(known_to_be(whole).offline.empty());
  description.cpus.front().numa = NumaId{1};
  EXPECT_TRUE(known_to_be(Machine::make(description).value()).offline.empty()) << "another machine";
  put(std::string(checkpoint::kNodeFileName), "{");
  EXPECT_TRUE(known_to_be(part).offline.empty());
}

TEST(ProcessList, RoundTripsAndSkipsInvalidLines) {
  const ProcessList list = {{"pod1/a", {{7, 99}, {8, 100}}}, {"pod2/b", {{9, 101}}}};
  EXPECT_EQ(decode_processes(encode_processes(list)), list);
  EXPECT_THAT(decode_processes("x\n7\n7 8\n-1 2 a\n7 8 pod/c"),
              ElementsAre(Pair("pod/c", ElementsAre(enforce::ProcessId{7, 8}))));
}

}  // namespace
}  // namespace pinfold::agent
