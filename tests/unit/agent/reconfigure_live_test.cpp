// Each row of docs/reconfigure.md applied to a kernel while containers run.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model_kernel.hpp"
#include "pinfold/agent/earlier_node.hpp"
#include "pinfold/agent/node_file.hpp"
#include "pinfold/agent/pods_file.hpp"
#include "pinfold/agent/reconcile.hpp"
#include "pinfold/agent/reconfiguration.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "reconfiguration_rows.hpp"
#include "temp_dir.hpp"

namespace pinfold::agent {
namespace {

using enforce::CgroupVersion;
using test::ModelKernel;
using testing::HasSubstr;
using testing::IsEmpty;
using LiveRow = test::ReconfigurationRow;

/// The node of a row as seen by an agent: state directory and kernel.
class LiveNode {
 public:
  LiveNode(const LiveRow& row, CgroupVersion version)
      : row_(row), kernel_(version, row.from.machine().all_cpus(), CpuSet::range(0, 2)) {
    const auto files = checkpoint::encode_files(row.from, row.state);
    dir_.write(std::string(checkpoint::kCpuFileName), files.cpu.value());
    dir_.write(std::string(checkpoint::kMemoryFileName), files.memory.value());
    AgentState state;
    state.node = row.state;
    dir_.write(std::string(checkpoint::kPodsFileName), encode_pods(state));
    dir_.write(std::string(checkpoint::kNodeFileName),
               encode_node(row.from.machine(), row.from.config(), nullptr));
  }
  LiveNode(const LiveNode&) = delete;
  LiveNode& operator=(const LiveNode&) = delete;
  ~LiveNode() = default;

  [[nodiscard]] Result<NodeAgent> open(const Node& node) {
    AgentOptions options;
    options.state_dir = dir_.path();
    return NodeAgent::open(test::copy_of(node), checkpoint::Store::open(dir_.path()).value(),
                           kernel_.cgroups(), std::move(options));
  }
  /// Removes the old CPUs and adds the new ones.
  void change_machine() {
    kernel_.cpus = row_.to.machine().all_cpus();
    if (kernel_.version == CgroupVersion::kV2) return;
    // cgroup v1 removes vanished CPUs from every group; the topmost group has all existing CPUs.
    keep_existing_cpus(kernel_.root);
    kernel_.root.files.at("cpuset.cpus") = kernel_.cpus.to_string();
  }
  /// Returns the CPUs on which the processes of a container can run; nullopt without a group.
  [[nodiscard]] std::optional<CpuSet> cpus(const ContainerId& id) {
    const ModelKernel::Dir* const dir = kernel_.find("pod" + id.pod.value + "/" + id.name);
    if (dir == nullptr) return std::nullopt;
    return kernel_.effective(*dir, "cpuset.cpus");
  }
  /// Runs a process in the container, if it has a group.
  void run_in(const ContainerId& id) {
    ModelKernel::Dir* const dir = kernel_.find("pod" + id.pod.value + "/" + id.name);
    if (dir != nullptr) dir->processes = {next_process_++};
  }
  [[nodiscard]] ModelKernel& kernel() { return kernel_; }

 private:
  void keep_existing_cpus(ModelKernel::Dir& dir) {
    std::string& cpus = dir.files.at("cpuset.cpus");
    cpus = (CpuSet::parse(cpus).value() & kernel_.cpus).to_string();
    for (auto& [name, child] : dir.children) keep_existing_cpus(*child);
  }

  const LiveRow& row_;
  test::TempDir dir_;
  ModelKernel kernel_;
  int next_process_ = 1'000'000'000;  ///< above any real PID
};

/// Returns "" if no container of another pod runs on CPUs that are exclusive before and after, and
/// each kept container runs where it ran before.
std::string fault(LiveNode& node, const ReconfigurationPlan& plan) {
  for (const PlannedContainer& one : plan.containers) {
    const auto cpus = node.cpus(one.id);
    if (!cpus) continue;
    const bool has_own = cpus == one.cpus_before || cpus == one.cpus_after;
    const bool is_kept = one.change == Change::kKept || one.change == Change::kKeptAgainstRules;
    if (is_kept && one.cpus_before && !has_own) {
      return to_string(one.id) + " is kept, but runs on " + cpus->to_string();
    }
    if (!has_own || !one.cpus_before || !one.cpus_after) continue;
    for (const PlannedContainer& other : plan.containers) {
      const auto others = node.cpus(other.id);
      if (other.id.pod == one.id.pod || !others || !others->intersects(*cpus)) continue;
      return to_string(one.id) + " has " + cpus->to_string() + ", " + to_string(other.id) +
             " runs on " + others->to_string();
    }
  }
  return "";
}

/// Pods to be removed must have ended first: nothing changes while one has a process.
void expect_that_processes_prevent(LiveNode& node, NodeAgent& agent, const LiveRow& row,
                                   const ReconfigurationPlan& plan) {
  if (plan.evicted.empty()) return;
  const std::string group = "pod" + plan.evicted.front().value + "/c";
  node.kernel().find(group)->processes.insert(77);
  const std::vector<std::string> log = node.kernel().log;
  const auto refused =
      agent.reconfigure(test::copy_of(row.to), plan.next, RunningProcesses::kRefuse);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBusy);
  EXPECT_EQ(node.kernel().log, log) << "nothing is written";
  EXPECT_EQ(agent.state().node.cpu.checkpoint(), row.state.cpu.checkpoint());
  node.kernel().find(group)->processes.clear();
}

/// A start with the new configuration either succeeds, or its error says what to do.
void expect_that_a_start_says_why(LiveNode& node, const LiveRow& row) {
  const auto opened = node.open(row.to);
  if (opened) return;
  EXPECT_THAT(opened.error().message, HasSubstr("the state is for another "));
  EXPECT_THAT(opened.error().message, HasSubstr("'pinfold reconfigure'"));
  const auto changes =
      differences(row.from.machine(), row.from.config(), row.to.machine(), row.to.config());
  EXPECT_THAT(opened.error().message, HasSubstr(changes.front()));
}

void apply_live(const LiveRow& row, CgroupVersion version) {
  LiveNode node(row, version);
  expect_that_a_start_says_why(node, row);
  auto agent = node.open(row.from);
  ASSERT_TRUE(agent) << agent.error().message;
  ASSERT_THAT(reconcile(*agent).value().remaining, IsEmpty());
  const auto planned = plan_reconfiguration(*agent, row.to, PlanOptions{});
  ASSERT_TRUE(planned) << planned.error().message;
  const ReconfigurationPlan& plan = planned->plan;
  EXPECT_EQ(fault(node, plan), "");
  expect_that_processes_prevent(node, *agent, row, plan);
  for (const PlannedContainer& one : plan.containers) {
    if (one.change != Change::kEvicted) node.run_in(one.id);
  }

  node.change_machine();
  std::string first_fault;
  node.kernel().distort = [&](const std::string& /*file*/, const std::string& value) {
    if (first_fault.empty()) first_fault = fault(node, plan);
    return value;
  };
  const auto done = agent->reconfigure(test::copy_of(row.to), plan.next, RunningProcesses::kRefuse);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_FALSE(done->not_enforced) << done->not_enforced->message;
  EXPECT_EQ(first_fault, "") << test::describe(plan);
  EXPECT_EQ(fault(node, plan), "") << test::describe(plan);
  EXPECT_THAT(agent->find_drift().value(), IsEmpty());
  for (const PlannedContainer& container : plan.containers) {
    if (container.change == Change::kEvicted) {
      EXPECT_FALSE(node.cpus(container.id)) << to_string(container.id);
    } else if (container.cpus_after) {
      EXPECT_EQ(node.cpus(container.id), container.cpus_after) << to_string(container.id);
    }
  }
  ASSERT_TRUE(agent->admit(test::pod("late", {{"cpu", "1"}, {"memory", "1Gi"}})));
  EXPECT_THAT(agent->find_drift().value(), IsEmpty());
  EXPECT_EQ(test::overlap(row.to, agent->state().node), "");
}

void apply_all(CgroupVersion version) {
  for (const Profile profile : {Profile::kFixed, Profile::kKubelet136, Profile::kKubelet137}) {
    for (const LiveRow& row : test::ReconfigurationRows(profile).take()) {
      SCOPED_TRACE(std::string(to_string(profile)) + ": " + row.change);
      apply_live(row, version);
    }
  }
}

TEST(ReconfigureLive, EachRowIsAppliedWithoutOverlapOnCgroupV2) { apply_all(CgroupVersion::kV2); }
TEST(ReconfigureLive, EachRowIsAppliedWithoutOverlapOnCgroupV1) { apply_all(CgroupVersion::kV1); }

/// CPUs that are temporarily offline do not change the machine, and no plan uses them.
TEST(ReconfigureLive, NothingIsPlannedWhileCpusAreOffline) {
  const auto rows = test::ReconfigurationRows(Profile::kFixed).take();
  const LiveRow& row = rows.front();
  AgentOptions options;
  const test::TempDir empty;
  options.state_dir = empty.path();
  const auto agent =
      NodeAgent::open(test::copy_of(row.from), checkpoint::Store::open(empty.path()).value(),
                      std::nullopt, std::move(options), CpuSet{3});
  ASSERT_TRUE(agent) << agent.error().message;
  const auto refused = plan_reconfiguration(*agent, row.to, PlanOptions{});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("CPU 3 of this node is offline"));
  MachineDescription fewer = row.to.machine().description();
  std::erase_if(fewer.cpus, [](const Cpu& cpu) { return cpu.id.value == 3; });
  EXPECT_TRUE(plan_reconfiguration(
      *agent, test::node_of(Machine::make(fewer).value(), row.to.config()), PlanOptions{}));
}

}  // namespace
}  // namespace pinfold::agent
