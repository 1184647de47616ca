// Kills a process before any of its writes to the cgroups, and tries everything that can follow.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "agent_world.hpp"
#include "memory_fs.hpp"
#include "pinfold/agent/desired.hpp"
#include "pinfold/agent/earlier_node.hpp"
#include "pinfold/agent/known_machine.hpp"
#include "pinfold/agent/node_file.hpp"
#include "pinfold/agent/open_agent.hpp"
#include "pinfold/agent/reconcile.hpp"
#include "pinfold/agent/reconfiguration.hpp"
#include "pinfold/checkpoint/store.hpp"

namespace pinfold::agent {
namespace {

using checkpoint::testing::Disk;
using checkpoint::testing::MemoryFs;
using enforce::GroupName;
using enforce::Layout;
using test::best_effort;
using test::guaranteed;
using test::must_admit;
using test::node_reserving;
using test::with_cpus;

/// Thrown instead of a write.
struct Killed {};

/// Two states of the same pods.
struct Case {
  std::string reserved_before;
  std::string reserved_after;
  std::map<std::string, CpuSet> before;  ///< the CPU manager's choice for pods of these sizes
  std::map<std::string, CpuSet> after;
};

class KilledNode {
 public:
  explicit KilledNode(const Case& what, enforce::CgroupVersion version)
      : what_(what), kernel_(version, CpuSet::range(0, 7), CpuSet{0, 1}) {
    {
      NodeAgent agent = open(node_reserving(what.reserved_before));
      must_admit(agent, test::pod("s", {best_effort("a")}));
      for (const auto& [uid, cpus] : what.before) {
        must_admit(agent, test::pod(uid, {guaranteed("a", std::ssize(cpus))}));
        EXPECT_EQ(*agent.state().node.cpu.assignments.find({PodUid(uid), "a"}), cpus);
      }
      before_ = agent.desired().layout;
      test::run_processes(kernel_, before_);
    }
    AgentState after = reopen().state();
    after.node = with_cpus(std::move(after.node), what.after);
    after_ = desired_layout(node_reserving(what.reserved_after), after, {});
    kernel_.distort = [this](const std::string& /*file*/, const std::string& value) {
      if (writes_until_kill_-- == 0) throw Killed();
      look();
      return value;
    };
  }

  /// Runs `act` and kills it before write number `at`. Returns false if it ended earlier.
  template <typename Act>
  bool kill(int at, const Act& act) {
    writes_until_kill_ = at;
    bool is_killed = false;
    try {
      NodeAgent agent = reopen();
      act(agent);
    } catch (const Killed&) {
      is_killed = true;
    }
    writes_until_kill_ = -1;
    look();
    return is_killed;
  }

  /// Opens the next process, from the contents of the state directory.
  [[nodiscard]] NodeAgent reopen() {
    const auto text = open_store().load().value().node;
    auto stored = decode_node(text.value()).value();
    return open(make_node(std::move(stored.machine), std::move(stored.config)).value());
  }

  void reconfigure(NodeAgent& agent) const {
    const auto done =
        agent.reconfigure(node_reserving(what_.reserved_after),
                          with_cpus(agent.state().node, what_.after), RunningProcesses::kRefuse);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_FALSE(done->not_enforced) << done->not_enforced->message;
  }
  static void undo(NodeAgent& agent) {
    if (!agent.before()) return;  // it was killed before the commit
    Node to = make_node(agent.before()->machine, agent.before()->config).value();
    const auto planned = plan_undo(agent, to);
    ASSERT_TRUE(planned) << planned.error().message;
    const auto done =
        agent.reconfigure(std::move(to), planned->plan.next, RunningProcesses::kRefuse);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_FALSE(done->not_enforced) << done->not_enforced->message;
  }
  static void reconcile(NodeAgent& agent) {
    const auto report = agent::reconcile(agent);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->remaining.empty()) << report->remaining.front();
  }

  /// Expects the kernel to match the state, and the state to be the expected one of the two.
  void expect_settled(bool is_after) {
    NodeAgent agent = reopen();
    const auto drift = agent.find_drift();
    ASSERT_TRUE(drift) << drift.error().message;
    EXPECT_TRUE(drift->empty()) << drift->front();
    for (const auto& [uid, expected] : is_after ? what_.after : what_.before) {
      EXPECT_EQ(cpus("pod" + uid + "/a"), expected.to_string()) << uid;
    }
  }
  [[nodiscard]] bool is_after() {
    return reopen().node().config().reserved_system_cpus == what_.reserved_after;
  }
  [[nodiscard]] int looks() const { return looks_; }

 private:
  [[nodiscard]] checkpoint::Store open_store() const {
    return checkpoint::Store::open(std::make_unique<MemoryFs>(disk_)).value();
  }
  [[nodiscard]] std::string cpus(const std::string& group) {
    auto* const dir = kernel_.find(group);
    return dir == nullptr ? "gone" : kernel_.effective(*dir, "cpuset.cpus").to_string();
  }
  [[nodiscard]] NodeAgent open(Node node) {
    auto agent = NodeAgent::open(std::move(node), open_store(), kernel_.cgroups(), AgentOptions{});
    if (!agent) throw std::runtime_error(agent.error().message);
    return *std::move(agent);
  }

  /// Checks that no container can run on CPUs that are exclusive to another one before or after. A
  /// container that waits on temporary CPUs has no exclusive ones in between.
  void look() {
    ++looks_;
    std::map<GroupName, CpuSet> has;
    for (const auto& [name, group] : before_) {
      const auto* const dir = name.is_pod() ? nullptr : kernel_.find(to_string(name));
      if (dir != nullptr) has[name] = kernel_.effective(*dir, "cpuset.cpus");
    }
    for (const auto& [owner, cpus] : has) {
      if (before_.at(owner).isolation == Isolation::kHost) continue;
      if (!(before_.at(owner).cpus | after_.at(owner).cpus).contains_all(cpus)) continue;
      for (const auto& [other, others] : has) {
        if (other == owner) continue;
        EXPECT_FALSE(others.intersects(cpus))
            << to_string(other) << " runs on " << (others & cpus).to_string() << " of "
            << to_string(owner);
      }
    }
  }

  const Case& what_;
  std::shared_ptr<Disk> disk_ = std::make_shared<Disk>();
  test::ModelKernel kernel_;
  Layout before_;
  Layout after_;
  int writes_until_kill_ = -1;
  int looks_ = 0;
};

/// Every container moves to CPUs of another one, and the reserved CPUs grow.
const Case kRotation{"0",
                     "0-1",
                     {{"x", {1, 2}}, {"y", {3, 4}}, {"z", {5}}},
                     {{"x", {4, 5}}, {"y", {6, 7}}, {"z", {2}}}};
/// A full node reserves other CPUs, so there is no CPU to wait on.
const Case kFull{
    "0", "3", {{"x", {1, 2, 3}}, {"y", {4, 5, 6, 7}}}, {{"x", {0, 1, 2}}, {"y", {4, 5, 6, 7}}}};

class ReconfigureKill
    : public testing::TestWithParam<std::tuple<const Case*, enforce::CgroupVersion>> {
 protected:
  using Act = void (*)(KilledNode&, NodeAgent&);

  /// Kills a reconfiguration before each of its writes, then the following `act` before each of its
  /// writes, and lets it end at the next attempt.
  template <typename Expect>
  static void follow(Act act, const Expect& expect) {
    const auto [what, version] = GetParam();
    const auto change = [](KilledNode& node) {
      return [&node](NodeAgent& agent) { node.reconfigure(agent); };
    };
    bool is_killed = true;
    int points = 0;
    for (int first = 0; is_killed; ++first) {
      bool is_killed_again = true;
      for (int second = 0; is_killed_again; ++second) {
        SCOPED_TRACE("killed before write " + std::to_string(first) + ", then before write " +
                     std::to_string(second));
        KilledNode node(*what, version);
        is_killed = node.kill(first, change(node));
        const bool was_after = node.is_after();
        const auto next = [&](NodeAgent& agent) { act(node, agent); };
        is_killed_again = node.kill(second, next);
        const bool is_after = node.is_after();
        const auto end = [&](NodeAgent& agent) {
          if (was_after == is_after) return act(node, agent);
          return KilledNode::reconcile(agent);  // it is committed, so no step may be repeated
        };
        if (is_killed_again && node.kill(-1, end)) FAIL() << "killed without a limit";
        node.expect_settled(expect(was_after));
        EXPECT_GT(node.looks(), 1);
        if (HasFailure()) return;
        ++points;
      }
    }
    EXPECT_GT(points, 20);
  }
};

TEST_P(ReconfigureKill, ARepetitionEndsIt) {
  follow([](KilledNode& node, NodeAgent& agent) { node.reconfigure(agent); },
         [](bool) { return true; });
}

TEST_P(ReconfigureKill, AnUndoGoesBack) {
  follow([](KilledNode&, NodeAgent& agent) { KilledNode::undo(agent); },
         [](bool) { return false; });
}

TEST_P(ReconfigureKill, AReconciliationEndsWhatWasCommitted) {
  follow([](KilledNode&, NodeAgent& agent) { KilledNode::reconcile(agent); },
         [](bool was_after) { return was_after; });
}

INSTANTIATE_TEST_SUITE_P(
    All, ReconfigureKill,
    testing::Combine(testing::Values(&kRotation, &kFull),
                     testing::Values(enforce::CgroupVersion::kV1, enforce::CgroupVersion::kV2)),
    [](const auto& of) {
      return std::string(std::get<0>(of.param) == &kRotation ? "Rotation" : "Full") +
             (std::get<1>(of.param) == enforce::CgroupVersion::kV1 ? "V1" : "V2");
    });

}  // namespace
}  // namespace pinfold::agent
