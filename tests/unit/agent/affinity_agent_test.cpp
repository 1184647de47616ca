#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "agent_world.hpp"
#include "pinfold/agent/reconcile.hpp"
#include "pinfold/agent/status.hpp"
#include "pinfold/verbs/hooked.hpp"
#include "process_table.hpp"

/// The CPU affinity of containers' processes: how an agent reports and resets it.
namespace pinfold::agent {
namespace {

using enforce::CgroupVersion;
using test::guaranteed;
using test::pod;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class AffinityOfAgent : public testing::TestWithParam<CgroupVersion> {
 protected:
  AffinityOfAgent() : world_(GetParam()) { world_.kernel.processes = &table_; }
  [[nodiscard]] NodeAgent open(bool resets = true) {
    AgentOptions options;
    options.reset_affinity = resets;
    options.log = [this](LogLevel /*level*/, std::string_view message) { log_ += message; };
    return world_.try_open({}, std::move(options)).value();
  }
  /// Adds a process whose affinity allows only some of the group's CPUs.
  void run(const std::string& group, pid_t pid) {
    world_.kernel.find(group)->processes.insert(pid);
    table_.processes[pid] = {1, "/" + group, {{1, 2}}, {{1, 2, 3}}};
  }

  test::FakeProcesses table_;
  test::World world_;
  std::string log_;
};

INSTANTIATE_TEST_SUITE_P(Versions, AffinityOfAgent,
                         testing::Values(CgroupVersion::kV1, CgroupVersion::kV2));

TEST_P(AffinityOfAgent, IsANoteOfStatusAndReconcileAndNoDrift) {
  NodeAgent agent = open();
  test::must_admit(agent, pod("a", {guaranteed("c", 3)}));
  run("poda/c", 7);
  const auto status = node_status(agent);
  ASSERT_TRUE(status.has_value()) << status.error().message;
  EXPECT_TRUE(status->ok);
  EXPECT_THAT(status->drift, IsEmpty());
  const nlohmann::json affinity =
      to_json(*status).at("pods").at(0).at("containers").at(0).at("affinity");
  EXPECT_EQ(affinity.at("pid"), 7);
  EXPECT_EQ(affinity.at("cpus"), "1-2");
  EXPECT_EQ(affinity.at("threadCount"), 1);
  EXPECT_EQ(affinity.at("narrowedThreadCount"), 1);
  EXPECT_EQ(affinity.at("note"),
            "the CPU affinity of its process 7 permits only CPUs 1-2; "
            "'taskset -apc 0-4095 7' widens it");
  for (int round = 0; round < 2; ++round) {  // the agent does not fight the process
    const auto report = reconcile(agent);
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_THAT(report->drift, IsEmpty());
    EXPECT_THAT(report->remaining, IsEmpty());
    EXPECT_THAT(
        report->notes,
        ElementsAre(HasSubstr("poda/c: the CPU affinity of its process 7 permits only CPUs 1-2")));
    EXPECT_EQ(to_json(*report).at("ok"), true);
    EXPECT_EQ(to_json(*report).at("notes").size(), 1U);
  }
  EXPECT_THAT(table_.processes[7].threads, ElementsAre(CpuSet{1, 2}));
}

TEST_P(AffinityOfAgent, OfNoProcessIsNull) {
  NodeAgent agent = open();
  test::must_admit(agent, pod("a", {guaranteed("c", 3)}));
  const nlohmann::json status = to_json(node_status(agent).value());
  EXPECT_TRUE(status.at("pods").at(0).at("containers").at(0).at("affinity").is_null());
}

TEST_P(AffinityOfAgent, IsResetWhenAProcessIsAttached) {
  for (const bool resets : {true, false}) {
    SCOPED_TRACE(resets);
    NodeAgent agent = open(resets);
    if (resets) test::must_admit(agent, pod("a", {guaranteed("c", 3)}));
    run("poda/c", 7);
    run("poda/c", 8);  // an earlier process, which may have pinned itself since
    ASSERT_TRUE(agent.attach({PodUid("a"), "c"}, 7).has_value());
    const CpuSet expected = resets ? CpuSet{1, 2, 3} : CpuSet{1, 2};
    EXPECT_THAT(table_.processes[7].threads, ElementsAre(expected));
    EXPECT_THAT(table_.processes[8].threads, ElementsAre(CpuSet{1, 2}));
  }
  EXPECT_THAT(log_, HasSubstr("poda/c: CPU affinity of process 7 reset"));
}

TEST_P(AffinityOfAgent, ThatCannotBeResetIsLoggedAndStopsNothing) {
  NodeAgent agent = open();
  test::must_admit(agent, pod("a", {guaranteed("c", 3)}));
  run("poda/c", 7);
  table_.processes[7].refuses = true;
  EXPECT_TRUE(agent.attach({PodUid("a"), "c"}, 7).has_value());
  EXPECT_THAT(log_, HasSubstr("poda/c: it is another user's"));
}

TEST_P(AffinityOfAgent, IsResetByTheHookBeforeTheProgramRuns) {
  world_.kernel.make_path("run-a");
  if (GetParam() == CgroupVersion::kV1) {
    world_.kernel.find("run-a")->files["cpuset.cpus"] = "0-7";
    world_.kernel.find("run-a")->files["cpuset.mems"] = "0-1";
  }
  run("run-a", 7);
  NodeAgent agent = open();
  const verbs::AdmitHooked request{
      pod("a", {guaranteed("c", 3)}), {"c", "/model/run-a"}, enforce::ProcessId{7, 1}};
  const auto refusal = verbs::admit_hooked(agent, request, [] { return false; });
  ASSERT_FALSE(refusal) << refusal->error.message;
  EXPECT_THAT(table_.processes[7].threads, ElementsAre(CpuSet{1, 2, 3}));
}

}  // namespace
}  // namespace pinfold::agent
