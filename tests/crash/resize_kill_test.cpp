// A resize that a kill or a power cut ends at any point, and everything that can follow.

#include <gtest/gtest.h>

#include <cerrno>
#include <set>

#include "agent_world.hpp"
#include "memory_fs.hpp"
#include "pinfold/agent/reconcile.hpp"
#include "pinfold/checkpoint/store.hpp"

namespace pinfold::agent {
namespace {

using checkpoint::testing::Disk;
using checkpoint::testing::Image;
using checkpoint::testing::MemoryFs;
using test::best_effort;
using test::guaranteed;
using test::must_admit;
using test::pod;

const ContainerId kResized{PodUid("x"), "a"};

void resize_to(NodeAgent& agent, std::int64_t cpus) {
  const auto outcome = agent.resize({kResized, Quantity::of(cpus, Quantity::Format::kDecimalSi)});
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_FALSE(outcome->refused) << describe(*outcome->refused);
  ASSERT_FALSE(outcome->not_enforced) << outcome->not_enforced->message;
}

void reconcile_all(NodeAgent& agent) {
  const auto report = reconcile(agent);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->remaining.empty()) << report->remaining.front();
}

/// Returns how many CPUs the state gives the container, whose first two never change.
std::int64_t count_in(const NodeAgent& agent) {
  const CpuState& state = agent.state().node.cpu;
  EXPECT_EQ(baseline_of(state, kResized)->to_string(), "1-2");
  return std::ssize(*state.assignments.find(kResized));
}

/// A resize of a container that was admitted with 2 CPUs.
struct Change {
  std::int64_t from;
  std::int64_t to;
};
constexpr Change kGrow{2, 4};
constexpr Change kShrink{4, 2};

void prepare(NodeAgent& agent, const Change& change) {
  must_admit(agent, pod("s", {best_effort("a")}));
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  resize_to(agent, change.from);
  ASSERT_TRUE(agent.checkpoint_journal());
}

/// Thrown instead of an operation.
struct Ended {};

class KilledResize {
 public:
  KilledResize(const Change& change, enforce::CgroupVersion version)
      : kernel_(version, CpuSet::range(0, 7), CpuSet{0, 1}) {
    NodeAgent agent = open();
    prepare(agent, change);
    test::run_processes(kernel_, agent.desired().layout);
    kernel_.fault = [this](const std::string& access, const std::string&, const std::string&) {
      return access == "read" ? 0 : pass();
    };
  }

  /// Runs `act` in a new process, and kills it before operation number `at` on the disk or the
  /// kernel. Returns false if it ended earlier.
  template <typename Act>
  bool kill(int at, const Act& act) {
    until_kill_ = at;
    try {
      NodeAgent agent = open();
      act(agent);
    } catch (const Ended&) {
    }
    until_kill_ = kNever;
    expect_no_overlap();
    return std::exchange(is_dead_, false);
  }

  [[nodiscard]] NodeAgent open() {
    auto fs = std::make_unique<MemoryFs>(
        disk_, [this](const std::string& /*what*/) { return MemoryFs::Fault{pass()}; });
    return NodeAgent::open(test::static_node(), checkpoint::Store::open(std::move(fs)).value(),
                           kernel_.cgroups(), {})
        .value();
  }
  void expect_settled(std::int64_t count) {
    NodeAgent agent = open();
    EXPECT_EQ(count_in(agent), count);
    const auto drift = agent.find_drift();
    ASSERT_TRUE(drift) << drift.error().message;
    EXPECT_TRUE(drift->empty()) << drift->front();
    EXPECT_EQ(std::ssize(cpus("podx/a")), count);
  }

 private:
  static constexpr int kNever = -1;

  /// Called before each operation. Returns its errno: a dead process does nothing any more.
  int pass() {
    if (is_dead_) return EIO;
    expect_no_overlap();
    if (until_kill_ == kNever || until_kill_-- > 0) return 0;
    is_dead_ = true;
    throw Ended();
  }
  void expect_no_overlap() {
    EXPECT_FALSE(cpus("podx/a").intersects(cpus("pods/a"))) << cpus("podx/a").to_string();
  }
  [[nodiscard]] CpuSet cpus(const std::string& group) {
    auto* const dir = kernel_.find(group);
    return dir == nullptr ? CpuSet() : kernel_.effective(*dir, "cpuset.cpus");
  }

  std::shared_ptr<Disk> disk_ = std::make_shared<Disk>();
  test::ModelKernel kernel_;
  int until_kill_ = kNever;
  bool is_dead_ = false;
};

class ResizeKill : public testing::TestWithParam<std::tuple<Change, enforce::CgroupVersion>> {
 protected:
  using Act = void (*)(NodeAgent&, const Change&);

  /// Kills a resize before each of its operations, then `act` before each of its operations, and
  /// lets it end at the next attempt. `expected(change, was_done)`: how many CPUs there are then.
  template <typename Expected>
  static void follow(Act act, const Expected& expected) {
    const auto [change, version] = GetParam();
    bool is_killed = true;
    int points = 0;
    for (int first = 0; is_killed && !HasFailure(); ++first) {
      bool is_killed_again = true;
      for (int second = 0; is_killed_again && !HasFailure(); ++second, ++points) {
        SCOPED_TRACE("killed before operation " + std::to_string(first) + ", then before " +
                     std::to_string(second));
        KilledResize node(change, version);
        const auto next = [&, to = change](NodeAgent& agent) { act(agent, to); };
        is_killed = node.kill(first, [to = change.to](NodeAgent& agent) { resize_to(agent, to); });
        const bool was_done = count_in(node.open()) == change.to;
        is_killed_again = node.kill(second, next);
        EXPECT_FALSE(node.kill(-1, next));
        node.expect_settled(expected(change, was_done));
      }
    }
    EXPECT_GT(points, 50);
  }
};

TEST_P(ResizeKill, ARepetitionCompletesIt) {
  follow([](NodeAgent& agent, const Change& change) { resize_to(agent, change.to); },
         [](const Change& change, bool /*was_done*/) { return change.to; });
}

TEST_P(ResizeKill, TheOppositeOneGoesBack) {
  follow([](NodeAgent& agent, const Change& change) { resize_to(agent, change.from); },
         [](const Change& change, bool /*was_done*/) { return change.from; });
}

TEST_P(ResizeKill, AReconciliationCompletesWhatWasCommitted) {
  follow([](NodeAgent& agent, const Change& /*change*/) { reconcile_all(agent); },
         [](const Change& change, bool was_done) { return was_done ? change.to : change.from; });
}

INSTANTIATE_TEST_SUITE_P(All, ResizeKill,
                         testing::Combine(testing::Values(kGrow, kShrink),
                                          testing::Values(enforce::CgroupVersion::kV1,
                                                          enforce::CgroupVersion::kV2)),
                         [](const auto& of) {
                           return std::string(std::get<0>(of.param).to > 2 ? "Grow" : "Shrink") +
                                  (std::get<1>(of.param) == enforce::CgroupVersion::kV1 ? "V1"
                                                                                        : "V2");
                         });

/// Opens a node without a kernel.
NodeAgent open_on(const std::shared_ptr<Disk>& disk, const MemoryFs::Hook& hook = {}) {
  return NodeAgent::open(test::static_node(),
                         checkpoint::Store::open(std::make_unique<MemoryFs>(disk, hook)).value(),
                         std::nullopt, {})
      .value();
}

class ResizePowerCut : public testing::TestWithParam<Change> {
 protected:
  /// Expects the old CPUs or the new ones, and that the same resize and the opposite one work.
  void check(const Image& image) {
    const Change& change = GetParam();
    NodeAgent agent = open_on(std::make_shared<Disk>(image));
    const std::int64_t count = count_in(agent);
    EXPECT_TRUE(count == change.from || count == change.to) << count;
    done_ += count == change.to ? 1 : 0;
    ++images_;
    for (const std::int64_t next : {change.to, change.from}) {
      resize_to(agent, next);
      EXPECT_EQ(count_in(agent), next);
    }
  }

  std::size_t images_ = 0;
  std::size_t done_ = 0;
};

TEST_P(ResizePowerCut, LeavesTheOldCpusOrTheNewOnes) {
  auto disk = std::make_shared<Disk>();
  {
    NodeAgent agent = open_on(disk);
    prepare(agent, GetParam());
  }
  std::set<std::string> seen;
  const auto cut = [&](const std::string& where) {
    SCOPED_TRACE("before " + where);
    disk->for_each_image(seen, [&](const Image& image) { check(image); });
    return MemoryFs::Fault();
  };
  NodeAgent agent = open_on(disk, cut);
  resize_to(agent, GetParam().to);
  ASSERT_TRUE(agent.checkpoint_journal());
  cut("its end");
  EXPECT_GT(done_, 0U);
  EXPECT_LT(done_, images_);
  std::printf("%zu different disks, %zu of them with the new CPUs\n", images_, done_);
}

INSTANTIATE_TEST_SUITE_P(All, ResizePowerCut, testing::Values(kGrow, kShrink),
                         [](const auto& of) { return of.param.to > 2 ? "Grow" : "Shrink"; });

}  // namespace
}  // namespace pinfold::agent
