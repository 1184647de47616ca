// The files that a kubelet starts from after a reconfiguration, for each row of
// docs/reconfigure.md.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pinfold/agent/node_file.hpp"
#include "pinfold/agent/reconfiguration.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "reconfiguration_rows.hpp"
#include "temp_dir.hpp"

namespace pinfold::agent {
namespace {

using checkpoint::KubeletFiles;
using test::ReconfigurationRow;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Profile kKubelets[] = {Profile::kKubelet136, Profile::kKubelet137, Profile::kKubelet138};

/// The state directory of a kubelet, and agents that open it.
class KubeletDirectory {
 public:
  explicit KubeletDirectory(const KubeletFiles& files) { put(files); }
  /// Writes only the kubelet's two files.
  void put(const KubeletFiles& files) const {
    dir_.write(std::string(checkpoint::kCpuFileName), files.cpu.value());
    dir_.write(std::string(checkpoint::kMemoryFileName), files.memory.value());
  }
  [[nodiscard]] Result<NodeAgent> open(const Node& node) const {
    AgentOptions options;
    options.state_dir = dir_.path();
    return NodeAgent::open(test::copy_of(node), checkpoint::Store::open(dir_.path()).value(),
                           std::nullopt, std::move(options));
  }
  [[nodiscard]] KubeletFiles files() const {
    return {get(checkpoint::kCpuFileName), get(checkpoint::kMemoryFileName)};
  }

 private:
  [[nodiscard]] std::string get(std::string_view name) const {
    std::ifstream in(dir_ / std::string(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  test::TempDir dir_;
};

/// Expects that a kubelet with the configuration of `to` starts from the files and leaves them
/// unchanged. Returns its state.
NodeState started(const Node& to, const KubeletFiles& files) {
  const auto cpu = checkpoint::inspect_cpu(files.cpu.value()).value();
  const auto memory = checkpoint::inspect_memory(files.memory.value()).value();
  EXPECT_EQ(cpu.policy, to.config().cpu_manager_policy);
  EXPECT_EQ(memory.policy, to.config().memory_manager_policy);
  EXPECT_THAT(checkpoint::wrong_cpu_sums(files.cpu.value()), IsEmpty());
  EXPECT_THAT(checkpoint::wrong_memory_sums(files.memory.value()), IsEmpty());
  KubeletFiles after = files;
  auto state = checkpoint::start(to, after, {});
  if (!state) {
    ADD_FAILURE() << state.error().error;
    return {};
  }
  EXPECT_EQ(after, files) << "a kubelet that starts writes other files";
  EXPECT_EQ(checkpoint::encode_files(to, *state), files);
  if (!to.cpu().is_static()) return *std::move(state);
  CpuSet shared = to.machine().all_cpus();
  for (const auto& entry : state->cpu.assignments) shared -= entry.value;
  for (const auto& [pod, cpus] : state->cpu.pods) shared -= cpus;
  const auto& options = to.config().cpu_manager_policy_options;
  if (options.contains("strict-cpu-reservation")) shared -= to.cpu().reserved();
  EXPECT_EQ(cpu.state.default_set, shared);
  return *std::move(state);
}

const CpuSet* cpus_of(const NodeState& state, const ContainerId& id) {
  return state.cpu.assignments.find(id);
}
std::vector<MemoryBlock> memory_of(const NodeState& state, const ContainerId& id) {
  const auto* const blocks = state.memory.assignments.find(id);
  return blocks == nullptr ? std::vector<MemoryBlock>() : *blocks;
}

/// Expects kept containers to have the same resources in the new files as in the old ones.
void check_kept(const ReconfigurationPlan& plan, const NodeState& before, const NodeState& after) {
  for (const PlannedContainer& container : plan.containers) {
    const bool is_kept =
        container.change == Change::kKept || container.change == Change::kKeptAgainstRules;
    if (!is_kept) continue;
    const CpuSet* const had = cpus_of(before, container.id);
    const CpuSet* const has = cpus_of(after, container.id);
    EXPECT_EQ(had == nullptr ? CpuSet{} : *had, has == nullptr ? CpuSet{} : *has)
        << to_string(container.id);
    EXPECT_EQ(memory_of(before, container.id), memory_of(after, container.id))
        << to_string(container.id);
  }
}

/// Returns the pods for which a plan says that the new rules do not allow their resources.
std::set<PodUid> not_allowed(const ReconfigurationPlan& plan) {
  std::set<PodUid> pods(plan.evicted.begin(), plan.evicted.end());
  for (const PlannedContainer& container : plan.containers) {
    const bool is_allowed = container.change == Change::kKept ||
                            container.change == Change::kBecomesShared ||
                            container.change == Change::kBecomesExclusive;
    if (!is_allowed) pods.insert(container.id.pod);
  }
  return pods;
}
/// Returns the pods that the new rules reject; a pod that has moved is allowed.
std::set<PodUid> rejected_by(const ReconfigurationPlan& plan) {
  std::set<PodUid> pods(plan.evicted.begin(), plan.evicted.end());
  for (const PlannedContainer& container : plan.containers) {
    if (container.change == Change::kKeptAgainstRules) pods.insert(container.id.pod);
  }
  return pods;
}

/// A started kubelet admits its pods again, except those that the new rules reject, and then a new
/// pod.
void admit_again(const ReconfigurationRow& row, const std::set<PodUid>& rejected, NodeState state) {
  const NodeState files = state;
  // Resources in the files are not released before each pod has been admitted or has ended.
  for (const ActivePod& pod : row.state.pods) state.held.insert(pod.spec.uid);
  for (const ActivePod& pod : row.state.pods) {
    const PodUid& uid = pod.spec.uid;
    if (rejected.contains(uid)) continue;
    // With pod-level resources kubelets up to 1.37 take a second set (see kubelet-compat.md).
    if (pod.spec.resources && row.to.config().quirks().readmitted_pod_takes_cpus_again) continue;
    Decision decision = decide(row.to, std::move(state), pod.spec);
    if (const auto* const why = std::get_if<Rejected>(&decision)) {
      ADD_FAILURE() << uid.value << ": " << why->why.message;
    }
    state = std::holds_alternative<Admitted>(decision)
                ? std::move(std::get<Admitted>(decision).next)
                : std::move(std::get<Rejected>(decision).next);
    for (const Container& container : pod.spec.containers) {
      const ContainerId id{uid, container.name};
      if (const CpuSet* const cpus = cpus_of(files, id)) {
        const CpuSet* const now = cpus_of(state, id);
        EXPECT_EQ(now == nullptr ? CpuSet{} : *now, *cpus) << to_string(id);
      }
    }
  }
  const Decision late = decide(row.to, state, test::pod("late", {{"cpu", "1"}, {"memory", "1Gi"}}));
  if (const auto* const admitted = std::get_if<Admitted>(&late)) {
    EXPECT_EQ(test::overlap(row.to, admitted->next), "");
  }
}

/// `--from`: only the kubelet's two files.
TEST(ReconfigureFiles, AKubeletStartsFromThemForEachRow) {
  for (const Profile profile : kKubelets) {
    for (const ReconfigurationRow& row : test::ReconfigurationRows(profile).take()) {
      SCOPED_TRACE(std::string(to_string(profile)) + ": " + row.change);
      const KubeletDirectory directory(checkpoint::encode_files(row.from, row.state));
      auto agent = directory.open(row.from);
      ASSERT_TRUE(agent) << agent.error().message;
      EXPECT_THAT(agent->state().node.pods, IsEmpty());
      const auto planned = plan_reconfiguration(*agent, row.to, PlanOptions{});
      ASSERT_TRUE(planned) << planned.error().message;
      const auto done =
          agent->reconfigure(test::copy_of(row.to), planned->plan.next, RunningProcesses::kRefuse);
      ASSERT_TRUE(done) << done.error().message;
      ASSERT_TRUE(agent->checkpoint_journal());
      const NodeState state = started(row.to, directory.files());
      check_kept(planned->plan, row.state, state);
      // Without specs this plan cannot apply the rules; a plan with the specs shows the rejected
      // pods.
      const auto known = pinfold::plan_reconfiguration(row.from, row.state, row.to);
      ASSERT_TRUE(known) << known.error().message;
      std::set<PodUid> rejected = not_allowed(*known);
      rejected.merge(rejected_by(planned->plan));
      admit_again(row, rejected, state);
      EXPECT_TRUE(agent->admit(test::pod("late", {{"cpu", "1"}, {"memory", "1Gi"}})));
    }
  }
}

/// The same for pods with known specs, which can move.
TEST(ReconfigureFiles, AKubeletStartsFromThemAndAdmitsThePodsThatMovedAgain) {
  for (const Profile profile : kKubelets) {
    for (const ReconfigurationRow& row : test::ReconfigurationRows(profile).take()) {
      SCOPED_TRACE(std::string(to_string(profile)) + ": " + row.change);
      const auto plan = pinfold::plan_reconfiguration(row.from, row.state, row.to);
      ASSERT_TRUE(plan) << plan.error().message;
      const NodeState state = started(row.to, checkpoint::encode_files(row.to, plan->next));
      check_kept(*plan, row.state, state);
      admit_again(row, rejected_by(*plan), state);
    }
  }
}

/// An upgrade of the kubelet and back, from the files that Pinfold wrote.
TEST(ReconfigureFiles, GoToALaterKubeletAndBackUnchanged) {
  for (const ReconfigurationRow& row : test::ReconfigurationRows(Profile::kKubelet136).take()) {
    for (const Profile later : {Profile::kKubelet137, Profile::kKubelet138}) {
      SCOPED_TRACE(std::string(to_string(later)) + ": " + row.change);
      Config config = row.from.config();
      config.profile = later;
      const Node upgraded = test::node_of(row.from.machine(), config);
      const KubeletFiles before = checkpoint::encode_files(row.from, row.state);
      const KubeletDirectory directory(before);
      for (const Node* const to : {&upgraded, &row.from}) {
        auto agent = directory.open(to == &upgraded ? row.from : upgraded);
        ASSERT_TRUE(agent) << agent.error().message;
        const auto planned = plan_reconfiguration(*agent, *to, PlanOptions{});
        ASSERT_TRUE(planned) << planned.error().message;
        EXPECT_EQ(planned->plan.cost, PlanCost{});
        ASSERT_TRUE(
            agent->reconfigure(test::copy_of(*to), planned->plan.next, RunningProcesses::kRefuse));
        ASSERT_TRUE(agent->checkpoint_journal());
        (void)started(*to, directory.files());
      }
      EXPECT_EQ(directory.files(), before);
    }
  }
}

/// Pods that a kubelet admits after a reconfiguration prevent its undo.
TEST(ReconfigureFiles, WhatAKubeletAdmittedSinceIsNotTakenBack) {
  const auto rows = test::ReconfigurationRows(Profile::kKubelet136).take();
  const auto row = std::find_if(rows.begin(), rows.end(), [](const ReconfigurationRow& one) {
    return one.change == "more reserved CPUs";
  });
  ASSERT_NE(row, rows.end());
  const KubeletDirectory directory(checkpoint::encode_files(row->from, row->state));
  {
    auto agent = directory.open(row->from).value();
    const auto planned = plan_reconfiguration(agent, row->to, PlanOptions{});
    ASSERT_TRUE(agent.reconfigure(test::copy_of(row->to), planned.value().plan.next,
                                  RunningProcesses::kRefuse));
    const auto undo = plan_undo(agent, row->from);
    ASSERT_TRUE(undo) << undo.error().message;
    EXPECT_EQ(undo->plan.containers.size(), 1U) << "the pod that lost CPU 1 is gone";
    ASSERT_TRUE(agent.checkpoint_journal());
  }
  KubeletFiles files = directory.files();
  NodeState running = checkpoint::start(row->to, files, {}).value();
  // A kubelet keeps the pods of its files until they end.
  for (const auto& [uid, containers] : running.cpu.assignments.by_pod()) running.held.insert(uid);
  auto decision = decide(row->to, running, test::pod("late", {{"cpu", "1"}, {"memory", "1Gi"}}));
  ASSERT_TRUE(std::holds_alternative<Admitted>(decision));
  directory.put(checkpoint::encode_files(row->to, std::get<Admitted>(decision).next));
  const auto agent = directory.open(row->to);
  ASSERT_TRUE(agent) << agent.error().message;
  ASSERT_TRUE(agent->before());
  const auto undo = plan_undo(*agent, row->from);
  ASSERT_FALSE(undo);
  EXPECT_THAT(undo.error().message, HasSubstr("container 'c' of the held pod 'late' was admitted"));
}

}  // namespace
}  // namespace pinfold::agent
