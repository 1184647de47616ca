#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "agent_world.hpp"
#include "pinfold/agent/outcome.hpp"
#include "pinfold/worker/worker.hpp"

/// A worker whose node is replaced, or whose containers are moved.
namespace pinfold::worker {
namespace {

using std::chrono::seconds;
using test::guaranteed;
using test::pod;
using test::World;
using testing::ElementsAre;

verbs::Reconfigure reserving_two() {
  verbs::Reconfigure request;
  request.config = "cpuManagerPolicy: static\nreservedSystemCPUs: '0-1'\n";
  return request;
}

class ReconfigureWorker : public testing::Test {
 protected:
  [[nodiscard]] WorkerOptions options() {
    WorkerOptions options;
    options.now = [this] { return now_; };
    options.replaced = [this] { seen_.emplace_back("replaced"); };
    return options;
  }
  void submit(Worker& worker, verbs::Action action) {
    ASSERT_TRUE(worker.submit({std::move(action), [this](Result<verbs::Answer> answer) {
                                 seen_.emplace_back(answer ? "answer" : answer.error().message);
                                 if (answer) last_ = *std::move(answer);
                               }}));
  }
  [[nodiscard]] const verbs::Reconfigured& outcome() const {
    return std::get<verbs::Reconfigured>(last_);
  }

  World world_;
  Clock::time_point now_{seconds(1000)};
  std::vector<std::string> seen_;
  verbs::Answer last_;
};

TEST_F(ReconfigureWorker, IsOverWhenItsNodeIsReplaced) {
  Worker worker(world_.open(), options());
  submit(worker, verbs::Admit{{pod("x", {guaranteed("a", 2)})}});
  worker.run_round();
  const auto before = worker.snapshot();
  seen_.clear();
  submit(worker, reserving_two());
  submit(worker, verbs::Admit{{pod("y", {guaranteed("a", 2)})}});
  worker.run_round();
  EXPECT_THAT(seen_, ElementsAre("answer", "replaced", "the service is stopping"));
  EXPECT_TRUE(outcome().is_applied);
  EXPECT_TRUE(worker.is_replaced());
  EXPECT_EQ(worker.node().config().reserved_system_cpus, "0") << "readers have what they had";
  EXPECT_EQ(worker.snapshot()->state, before->state);
  const auto late =
      worker.submit({verbs::CheckpointJournal{}, [](const Result<verbs::Answer>& /*answer*/) {}});
  ASSERT_FALSE(late);
  EXPECT_TRUE(agent::is_stopping(late.error()));
  worker.run();  // returns
  EXPECT_EQ(worker.snapshot()->state, before->state);
  EXPECT_EQ(world_.cpus("podx/a"), outcome().planned.plan.containers.at(0).cpus_after->to_string());
}

TEST_F(ReconfigureWorker, GoesOnAfterAPlan) {
  Worker worker(world_.open(), options());
  verbs::Reconfigure request = reserving_two();
  request.dry_run = true;
  submit(worker, request);
  submit(worker, verbs::Admit{{pod("x", {guaranteed("a", 2)})}});
  worker.run_round();
  EXPECT_THAT(seen_, ElementsAre("answer", "answer"));
  EXPECT_FALSE(worker.is_replaced());
  EXPECT_EQ(world_.cpus("podx/a"), "1-2");
}

TEST_F(ReconfigureWorker, ADefragmentationIsAChangeLikeAnyOther) {
  Config config;
  config.topology_manager_policy = "single-numa-node";
  Worker worker(world_.try_open(config).value(), options());
  submit(worker, verbs::Admit{{pod("x", {guaranteed("a", 2)}), pod("y", {guaranteed("a", 2)})}});
  worker.run_round();
  const auto changes = worker.subscribe(10, {});
  const PodSpec big = pod("big", {guaranteed("a", 3)});
  submit(worker, verbs::Defragment{big, false});
  worker.run_round();
  EXPECT_TRUE(outcome().is_applied);
  EXPECT_FALSE(worker.is_replaced());
  ASSERT_EQ(outcome().planned.plan.cost.containers_moved, 1U);
  const auto taken = changes->take().changes;
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].kind, verbs::EventKind::kMoved);
  EXPECT_EQ(taken[0].container, "a");
  submit(worker, verbs::Admit{{big}});
  worker.run_round();
  EXPECT_FALSE(std::get<verbs::Admissions>(last_).outcomes.at(0).rejection);
  EXPECT_NE(worker.snapshot()->state.node.find(PodUid("big")), nullptr);
}

}  // namespace
}  // namespace pinfold::worker
