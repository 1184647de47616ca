#include "pinfold/worker/worker.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "agent_world.hpp"

/// The worker that owns a node agent. Rounds are called one by one, on a clock that only the test
/// advances.
namespace pinfold::worker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::best_effort;
using test::guaranteed;
using test::pod;
using test::World;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Answers = std::vector<std::optional<Result<verbs::Answer>>>;

class WorkerTest : public testing::Test {
 protected:
  [[nodiscard]] WorkerOptions options() {
    WorkerOptions options;
    options.now = [this] { return now_; };
    options.log = [this](agent::LogLevel level, std::string_view message) {
      if (level >= agent::LogLevel::kWarning) log_.emplace_back(message);
    };
    return options;
  }
  /// Returns a worker after its first round, which reconciles.
  [[nodiscard]] std::unique_ptr<Worker> make(WorkerOptions options) {
    auto worker = std::make_unique<Worker>(world_.open(), std::move(options));
    worker->run_round();
    return worker;
  }
  [[nodiscard]] std::unique_ptr<Worker> make() { return make(options()); }

  /// Returns a request whose answer goes to `answers_`.
  [[nodiscard]] Request request(verbs::Action action) {
    const std::size_t index = answers_.size();
    answers_.emplace_back();
    return {std::move(action), [this, index](Result<verbs::Answer> answer) {
              ASSERT_FALSE(answers_[index]) << "a second answer";
              answers_[index].emplace(std::move(answer));
            }};
  }
  void must_submit(Worker& worker, verbs::Action action) {
    const auto submitted = worker.submit(request(std::move(action)));
    ASSERT_TRUE(submitted.has_value()) << submitted.error().message;
  }
  /// "admitted", the reason of the rejection, or "error: ..."; "none" without an answer.
  [[nodiscard]] std::string text(std::size_t index, std::size_t of_pod = 0) const {
    const auto& answer = answers_[index];
    if (!answer) return "none";
    if (!*answer) return "error: " + answer->error().message;
    const auto* const admissions = std::get_if<verbs::Admissions>(&**answer);
    if (admissions == nullptr) return "done";
    const auto& outcome = admissions->outcomes.at(of_pod);
    return outcome.rejection ? outcome.rejection->reason : "admitted";
  }

  World world_;
  Clock::time_point now_{seconds(1000)};
  std::vector<std::string> log_;
  Answers answers_;
};

TEST_F(WorkerTest, CommitsAdmissionsThatWaitTogetherInOneTransaction) {
  const auto worker = make();
  std::vector<PodSpec> pods;
  for (const int cpus : {2, 1, 3, 4, 1}) {
    pods.push_back(pod("p" + std::to_string(pods.size()), {guaranteed("c", cpus)}));
  }
  for (const PodSpec& spec : pods) must_submit(*worker, verbs::Admit{{spec}});
  worker->run_round();
  EXPECT_EQ(worker->snapshot()->counters.admit_rounds, 1U);

  World other;
  auto one_by_one = other.open();
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const auto outcome = one_by_one.admit(pods[i]).value();
    EXPECT_EQ(text(i), outcome.rejection ? outcome.rejection->reason : "admitted") << i;
  }
  EXPECT_EQ(text(3), "UnexpectedAdmissionError");
  EXPECT_EQ(worker->snapshot()->state, one_by_one.state());
  EXPECT_EQ(world_.file("cpu_manager_state"), other.file("cpu_manager_state"));
  EXPECT_EQ(world_.cpus("podp2/c"), other.cpus("podp2/c"));
}

TEST_F(WorkerTest, KeepsTheOrderOfRequests) {
  const auto worker = make();
  must_submit(*worker, verbs::Admit{{pod("a", {guaranteed("c", 7)})}});
  must_submit(*worker, verbs::Remove{PodUid("a"), "", agent::RunningProcesses::kRefuse});
  must_submit(*worker, verbs::Admit{{pod("b", {guaranteed("c", 7)})}});
  must_submit(*worker, verbs::Start{{PodUid("b"), "c"}});
  worker->run_round();
  EXPECT_EQ(text(0), "admitted");
  EXPECT_EQ(text(1), "done");
  EXPECT_EQ(text(2), "admitted");
  EXPECT_EQ(text(3), "done");
  EXPECT_EQ(worker->snapshot()->counters.admit_rounds, 2U);
  EXPECT_EQ(world_.cpus("podb/c"), "1-7");
}

TEST_F(WorkerTest, DoesResizesThatWaitTogetherOneAfterTheOther) {
  const auto resize = [](const char* uid, std::int64_t cpus) {
    return verbs::Resize{{{PodUid(uid), "c"}, Quantity::milli(1000 * cpus)}};
  };
  const auto worker = make();
  must_submit(*worker, verbs::Admit{{pod("a", {guaranteed("c", 2)})}});
  must_submit(*worker, verbs::Admit{{pod("b", {guaranteed("c", 2)})}});
  for (const verbs::Resize& one : {resize("a", 3), resize("a", 4), resize("b", 4)}) {
    must_submit(*worker, one);
  }
  worker->run_round();
  std::vector<std::string> after;
  for (const std::size_t index : {2U, 3U, 4U}) {
    const auto& outcome = std::get<agent::ResizeOutcome>(answers_.at(index)->value());
    after.push_back(outcome.refused ? describe(*outcome.refused) : outcome.after.to_string());
  }
  EXPECT_THAT(after, ElementsAre("1-2,5", "1-2,5-6", HasSubstr("Deferred: Allocate failed")));
  EXPECT_EQ(world_.cpus("poda/c"), "1-2,5-6");
  EXPECT_EQ(world_.cpus("podb/c"), "3-4") << "what is refused changes nothing";
}

TEST_F(WorkerTest, DoesATaskInItsTurn) {
  const auto worker = make();
  std::vector<std::string> notified;
  const auto subscription = worker->subscribe(10, [&] { notified.emplace_back("changes"); });
  std::vector<std::string> seen;
  const auto task = [&](const std::string& name) {
    return Task{
        [&seen, name](Result<agent::NodeAgent*> agent) -> std::vector<verbs::Event> {
          seen.push_back(agent ? name + " " + std::to_string((*agent)->state().node.pods.size())
                               : name + " " + agent.error().message);
          return {{verbs::EventKind::kFoundUnpinned, PodUid("a"), "c"}};
        },
        Clock::time_point::max()};
  };
  must_submit(*worker, verbs::Admit{{pod("a", {guaranteed("c", 2)})}});
  ASSERT_TRUE(worker->submit(task("first")).has_value());
  must_submit(*worker, verbs::Admit{{pod("b", {guaranteed("c", 2)})}});
  Task late = task("late");
  late.deadline = now_;
  ASSERT_TRUE(worker->submit(std::move(late)).has_value());
  worker->run_round();
  EXPECT_THAT(seen, ElementsAre(HasSubstr("late other requests took longer"), "first 1"))
      << "what is late is answered at once";
  EXPECT_EQ(worker->snapshot()->counters.expired, 1U);
  const verbs::Event found{verbs::EventKind::kFoundUnpinned, PodUid("a"), "c"};
  EXPECT_THAT(subscription->take().changes,
              ElementsAre(verbs::Event{verbs::EventKind::kAdmitted, PodUid("a"), ""}, found,
                          verbs::Event{verbs::EventKind::kAdmitted, PodUid("b"), ""}));
  ASSERT_TRUE(worker->submit(task("left")).has_value());
  worker->stop();
  worker->run();
  EXPECT_THAT(seen.back(), HasSubstr("left the service is stopping"));
  EXPECT_FALSE(worker->submit(task("refused")).has_value());
}

TEST_F(WorkerTest, TheComparisonIsInTheNextSnapshotAndAnsweredAtOnce) {
  const auto worker = make();
  must_submit(*worker, verbs::ReadComparison{});
  EXPECT_TRUE(std::holds_alternative<verbs::Done>(**answers_.at(0))) << "without a round";
  verbs::Comparison comparison;
  comparison.compared = 7;
  ASSERT_TRUE(worker->submit(Task{[&](const Result<agent::NodeAgent*>& /*agent*/) {
                                    worker->set_comparison(comparison);
                                    return std::vector<verbs::Event>();
                                  },
                                  Clock::time_point::max()}));
  worker->run_round();
  ASSERT_NE(worker->snapshot()->comparison, nullptr);
  EXPECT_EQ(*worker->snapshot()->comparison, comparison);
  must_submit(*worker, verbs::Admit{{pod("a", {guaranteed("c", 2)})}});
  worker->run_round();
  must_submit(*worker, verbs::ReadComparison{});
  EXPECT_EQ(std::get<verbs::Comparison>(**answers_.at(2)), comparison) << "it stays";
}

TEST_F(WorkerTest, AnswersEachRequestWithItsOwnPodsAndTraces) {
  const auto worker = make();
  must_submit(*worker,
              verbs::Admit{{pod("a", {guaranteed("c", 2)}), pod("b", {guaranteed("c", 9)})}, true});
  must_submit(*worker, verbs::Admit{{pod("d", {guaranteed("c", 1)})}});
  worker->run_round();
  EXPECT_EQ(text(0, 0), "admitted");
  EXPECT_EQ(text(0, 1), "UnexpectedAdmissionError");
  const auto& with_trace = std::get<verbs::Admissions>(**answers_[0]);
  ASSERT_EQ(with_trace.traces.size(), 2U);
  EXPECT_THAT(with_trace.traces[0].facts, testing::Not(IsEmpty()));
  EXPECT_EQ(text(1), "admitted");
  EXPECT_THAT(std::get<verbs::Admissions>(**answers_[1]).traces, IsEmpty());
}

TEST_F(WorkerTest, OneThatCannotBeStoredDoesNotFailTheOthers) {
  const auto worker = make();
  const std::string long_name(checkpoint::kMaxStateFileBytes, 'x');
  PodSpec huge = pod("huge", {best_effort(long_name)});
  must_submit(*worker, verbs::Admit{{pod("a", {guaranteed("c", 1)})}});
  must_submit(*worker, verbs::Admit{{std::move(huge)}});
  must_submit(*worker, verbs::Admit{{pod("b", {guaranteed("c", 1)})}});
  worker->run_round();
  EXPECT_EQ(text(0), "admitted");
  EXPECT_THAT(text(1), HasSubstr("error: admit pod 'huge'"));
  EXPECT_EQ(text(2), "admitted");
}

TEST_F(WorkerTest, DoesNotDoARequestAfterItsDeadline) {
  const auto worker = make();
  Request late = request(verbs::Admit{{pod("late", {guaranteed("c", 1)})}});
  late.deadline = now_ + milliseconds(10);
  Request in_time = request(verbs::Admit{{pod("soon", {guaranteed("c", 1)})}});
  in_time.deadline = now_ + milliseconds(11);
  ASSERT_TRUE(worker->submit(std::move(late)));
  ASSERT_TRUE(worker->submit(std::move(in_time)));
  now_ += milliseconds(10);
  worker->run_round();
  EXPECT_THAT(text(0), HasSubstr("nothing was done"));
  EXPECT_EQ(answers_[0]->error().code, ErrorCode::kBusy);
  EXPECT_EQ(text(1), "admitted");
  EXPECT_EQ(worker->snapshot()->counters.expired, 1U);
  EXPECT_EQ(worker->snapshot()->state.node.find(PodUid("late")), nullptr);
}

TEST_F(WorkerTest, IsBusyIfTheQueueIsFull) {
  WorkerOptions small = options();
  small.queue_limit = 2;
  const auto worker = make(small);
  must_submit(*worker, verbs::CheckpointJournal{});
  must_submit(*worker, verbs::CheckpointJournal{});
  const auto third = worker->submit(request(verbs::CheckpointJournal{}));
  ASSERT_FALSE(third.has_value());
  EXPECT_EQ(third.error().code, ErrorCode::kBusy);
  worker->run_round();
  EXPECT_EQ(text(1), "done");
  EXPECT_EQ(text(2), "none");
  EXPECT_EQ(worker->snapshot()->counters.busy, 1U);
  must_submit(*worker, verbs::CheckpointJournal{});
}

TEST_F(WorkerTest, KeepsRoomInTheQueueForTheOwner) {
  WorkerOptions small = options();
  small.queue_limit = 8;
  const auto worker = make(small);
  const auto submit = [&](Origin origin) {
    Request one = request(verbs::CheckpointJournal{});
    one.origin = origin;
    return worker->submit(std::move(one));
  };
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(submit(Origin::kOther)) << i;
  EXPECT_EQ(submit(Origin::kOther).error().code, ErrorCode::kBusy);
  EXPECT_TRUE(submit(Origin::kOwner));
  EXPECT_EQ(submit(Origin::kOwner).error().code, ErrorCode::kBusy);
}

TEST_F(WorkerTest, RefusesARequestThatNamesTooMuch) {
  const auto worker = make();
  std::vector<PodSpec> pods(verbs::kMostPods, pod("a", {guaranteed("c", 1)}));
  EXPECT_TRUE(verbs::check_size(verbs::Admit{pods}));
  pods.push_back(pods.front());
  const auto many = worker->submit(request(verbs::Admit{pods}));
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().message, "513 pods in one request: expected at most 512");
  PodSpec wide = pod("b", {});
  wide.containers.resize(verbs::kMostContainers + 1);
  const ContainerId id{PodUid("b"), "c"};
  for (const verbs::Action& action :
       {verbs::Action(verbs::Admit{{wide}}),
        verbs::Action(verbs::AdmitHooked{wide, {"c", "/x"}, enforce::ProcessId{1, 1}}),
        verbs::Action(verbs::Defragment{wide, true})}) {
    const auto refused = worker->submit(request(action));
    ASSERT_FALSE(refused) << action.index();
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(refused.error().message, "2049 containers in one request: expected at most 2048");
  }
}

TEST_F(WorkerTest, BoundsTheAdmissionsOfOneTransaction) {
  WorkerOptions few = options();
  few.pods_together = 2;
  const auto worker = make(few);
  const auto one = [](const std::string& name) { return pod(name, {best_effort("c")}); };
  for (const char* const name : {"a", "b", "c"}) must_submit(*worker, verbs::Admit{{one(name)}});
  must_submit(*worker, verbs::Admit{{one("d"), one("e"), one("f")}});  // above the limit: alone
  must_submit(*worker, verbs::Admit{{one("g")}});
  worker->run_round();
  EXPECT_EQ(worker->snapshot()->counters.admit_rounds, 4U);
  EXPECT_EQ(worker->snapshot()->state.node.pods.size(), 7U);
  EXPECT_EQ(worker->waiting(), 0U);
}

TEST_F(WorkerTest, PublishesBeforeItAnswers) {
  const auto worker = make();
  bool was_active = false;
  ASSERT_TRUE(worker->submit({verbs::Admit{{pod("a", {guaranteed("c", 1)})}},
                              [&](const Result<verbs::Answer>& /*answer*/) {
                                was_active =
                                    worker->snapshot()->state.node.find(PodUid("a")) != nullptr;
                              }}));
  const auto before = worker->snapshot();
  worker->run_round();
  EXPECT_TRUE(was_active);
  EXPECT_EQ(before->state.node.find(PodUid("a")), nullptr) << "a snapshot changed";
  EXPECT_GT(worker->snapshot()->round, before->round);
}

TEST_F(WorkerTest, ReportsChangesToSubscribers) {
  const auto worker = make();
  int notified = 0;
  const auto subscription = worker->subscribe(10, [&] { ++notified; });
  must_submit(*worker,
              verbs::Admit{{pod("a", {guaranteed("c", 1)}), pod("b", {guaranteed("c", 9)})}});
  must_submit(*worker, verbs::Start{{PodUid("a"), "c"}});
  must_submit(*worker, verbs::Start{{PodUid("unknown"), "c"}});
  must_submit(*worker, verbs::Remove{PodUid("a"), "c", agent::RunningProcesses::kRefuse});
  worker->run_round();
  EXPECT_EQ(notified, 3);
  const auto taken = subscription->take();
  EXPECT_FALSE(taken.has_lagged);
  EXPECT_THAT(taken.changes,
              ElementsAre(verbs::Event{verbs::EventKind::kAdmitted, PodUid("a"), ""},
                          verbs::Event{verbs::EventKind::kRejected, PodUid("b"), ""},
                          verbs::Event{verbs::EventKind::kStarted, PodUid("a"), "c"},
                          verbs::Event{verbs::EventKind::kRemoved, PodUid("a"), "c"}));
  EXPECT_THAT(subscription->take().changes, IsEmpty());
}

TEST_F(WorkerTest, AClientsReconciliationIsAnEventOnlyIfThereWasDrift) {
  const auto worker = make();
  must_submit(*worker, verbs::Admit{{pod("a", {guaranteed("c", 2)})}});
  worker->run_round();
  const auto subscription = worker->subscribe(10, {});
  must_submit(*worker, verbs::Reconcile{});
  worker->run_round();
  EXPECT_THAT(subscription->take().changes, IsEmpty());

  world_.kernel.find("poda/c")->files["cpuset.cpus"] = "1";
  must_submit(*worker, verbs::Reconcile{});
  worker->run_round();
  EXPECT_THAT(subscription->take().changes,
              ElementsAre(verbs::Event{verbs::EventKind::kReconciled, {}, ""}));
}

TEST_F(WorkerTest, ASlowSubscriberLagsAndBlocksNobody) {
  const auto worker = make();
  const auto slow = worker->subscribe(2, {});
  const auto quick = worker->subscribe(2, {});
  for (const char* const name : {"a", "b", "d"}) {
    must_submit(*worker, verbs::Admit{{pod(name, {guaranteed("c", 1)})}});
    worker->run_round();
    EXPECT_EQ(quick->take().changes.size(), 1U);
  }
  auto taken = slow->take();
  EXPECT_TRUE(taken.has_lagged);
  EXPECT_THAT(taken.changes, IsEmpty());
  must_submit(*worker, verbs::Remove{PodUid("a"), "", agent::RunningProcesses::kRefuse});
  worker->run_round();
  taken = slow->take();
  EXPECT_FALSE(taken.has_lagged);
  EXPECT_EQ(taken.changes.size(), 1U);
}

TEST_F(WorkerTest, CountsOverlap) {
  const auto worker = make();
  must_submit(*worker, verbs::Admit{{pod("a", {guaranteed("c", 2)})}});
  must_submit(*worker, verbs::Admit{{pod("b", {guaranteed("c", 1)})}});
  worker->run_round();
  world_.kernel.find("podb")->files["cpuset.cpus"] = "1-3";
  world_.kernel.find("podb/c")->files["cpuset.cpus"] = "1-3";
  world_.kernel.find("podb/c")->processes = {4711};
  now_ += seconds(10);
  worker->run_round();
  EXPECT_EQ(worker->snapshot()->counters.overlaps, 1U);
  EXPECT_THAT(log_, Contains(HasSubstr("on the exclusive CPUs 1-2")));
}

TEST_F(WorkerTest, ReconcilesWhenItIsDue) {
  const auto worker = make();
  must_submit(*worker, verbs::Admit{{pod("a", {guaranteed("c", 2)})}});
  worker->run_round();
  ASSERT_EQ(world_.cpus("poda/c"), "1-2");
  world_.kernel.find("poda/c")->files["cpuset.cpus"] = "1";
  const auto subscription = worker->subscribe(10, {});

  now_ += seconds(9);
  worker->run_round();
  EXPECT_EQ(world_.cpus("poda/c"), "1") << "reconciled too early";
  now_ += seconds(1);
  worker->run_round();
  EXPECT_EQ(world_.cpus("poda/c"), "1-2");
  const auto snapshot = worker->snapshot();
  ASSERT_TRUE(snapshot->reconciled);
  EXPECT_THAT(snapshot->reconciled->value().drift, ElementsAre(HasSubstr("poda/c")));
  EXPECT_EQ(snapshot->counters.drifts, 1U);
  EXPECT_EQ(snapshot->counters.repaired, 1U);
  EXPECT_THAT(log_, ElementsAre(HasSubstr("drift: ")));
  EXPECT_EQ(subscription->take().changes.at(0).kind, verbs::EventKind::kReconciled);
}

TEST_F(WorkerTest, NothingIsDueLaterWhenTheClockGoesBack) {
  auto settings = options();
  settings.reconcile = {seconds(30), seconds(300)};
  const auto worker = make(std::move(settings));
  EXPECT_EQ(worker->due(), now_ + seconds(30));
  now_ -= seconds(3600);
  worker->run_round();
  EXPECT_EQ(worker->due(), now_ + seconds(30));
  now_ += seconds(10);
  worker->run_round();
  now_ -= seconds(5);
  worker->run_round();
  EXPECT_EQ(worker->due(), now_ + seconds(20));
  now_ += seconds(20);
  worker->run_round();
  EXPECT_EQ(worker->snapshot()->counters.reconciliations, 2U);
}

TEST_F(WorkerTest, MeasuresTransactionsAndReconciliations) {
  WorkerOptions slow = options();
  // Every reading of the clock advances it by a second, including the two around a transaction.
  slow.now = [this] { return now_ += seconds(1); };
  const auto worker = make(slow);
  must_submit(*worker, verbs::Admit{{pod("a", {guaranteed("c", 2)})}});
  worker->run_round();
  const auto& counters = worker->snapshot()->counters;
  constexpr std::size_t kOneSecond = 8;
  EXPECT_EQ(agent::Durations::kBounds.at(kOneSecond), 1);
  EXPECT_EQ(counters.admissions.buckets.at(kOneSecond), 1U);
  EXPECT_EQ(counters.admissions.sum, 1);
  EXPECT_EQ(counters.reconciling.buckets.at(kOneSecond), counters.reconciliations);
  EXPECT_EQ(counters.reconciling.sum, static_cast<double>(counters.reconciliations));
}

TEST_F(WorkerTest, HasTheTimesOfCommitsAndOfTheirEnforcement) {
  agent::AgentOptions slow;
  slow.now = [this] { return now_ += seconds(1); };
  Worker worker(world_.try_open({}, slow).value(), options());
  worker.run_round();  // reconciles, which is counted as neither
  EXPECT_EQ(worker.snapshot()->timings, agent::Timings());
  must_submit(worker,
              verbs::Admit{{pod("a", {guaranteed("c", 2)}), pod("b", {guaranteed("c", 1)})}});
  must_submit(worker, verbs::Start{{PodUid("a"), "c"}});
  must_submit(worker, verbs::Remove{PodUid("none"), "", agent::RunningProcesses::kRefuse});
  worker.run_round();
  agent::Timings expected;
  for (int i = 0; i < 2; ++i) {
    expected.commits.observe(seconds(1));
    expected.enforcements.observe(seconds(1));
  }
  EXPECT_EQ(worker.snapshot()->timings, expected);
}

TEST_F(WorkerTest, WaitsLongerWhileReconcilingFails) {
  const auto worker = make();
  must_submit(*worker, verbs::Admit{{pod("a", {guaranteed("c", 2)})}});
  worker->run_round();
  world_.kernel.unreadable = "cpuset.cpus";
  const auto reconciliations = [&] { return worker->snapshot()->counters.reconciliations; };
  const auto begin = reconciliations();
  for (int second = 0; second < 70; ++second) {  // fails after 10, 30 and 70 seconds
    now_ += seconds(1);
    worker->run_round();
  }
  EXPECT_EQ(reconciliations() - begin, 3U);
}

TEST_F(WorkerTest, TakesNewTimesAtOnce) {
  const auto worker = make();
  worker->set_reconcile({seconds(2), seconds(300)}, agent::PageMoves::kOff);
  const auto begin = worker->snapshot()->counters.reconciliations;
  worker->run_round();
  now_ += seconds(2);
  worker->run_round();
  EXPECT_EQ(worker->snapshot()->counters.reconciliations, begin + 1);
}

TEST_F(WorkerTest, SettlesSoonAfterTheFirstChange) {
  const auto worker = make();
  const auto has = [&](std::string_view name) {
    return world_.file("cpu_manager_state").find(fmt::format(R"("{}":{{)", name)) !=
           std::string::npos;
  };
  for (const char* const name : {"a", "b", "c"}) {  // at 0, 60 and 120 ms
    must_submit(*worker, verbs::Admit{{pod(name, {guaranteed("c", 1)})}});
    worker->run_round();
    EXPECT_EQ(has("a"), name == std::string_view("c")) << name;
    now_ += std::chrono::milliseconds(60);
  }
  EXPECT_TRUE(has("b") && has("c"));
  must_submit(*worker, verbs::Remove{PodUid("a"), "", {}});
  worker->run_round();
  EXPECT_TRUE(has("a"));
  now_ += std::chrono::milliseconds(100);
  worker->run_round();
  EXPECT_FALSE(has("a")) << "also without a request";
  EXPECT_FALSE(worker->snapshot()->not_settled);
}

TEST_F(WorkerTest, SettlesWhatATaskHasChanged) {
  const auto worker = make();
  ASSERT_TRUE(worker->submit(Task{[](Result<agent::NodeAgent*> agent) -> std::vector<verbs::Event> {
                                    test::must_admit(**agent, pod("a", {guaranteed("c", 2)}));
                                    return {};
                                  },
                                  Clock::time_point::max()}));
  worker->run_round();
  now_ += std::chrono::milliseconds(100);
  worker->run_round();
  EXPECT_THAT(world_.file("cpu_manager_state"), HasSubstr(R"("a":{"c":)"));
}

TEST_F(WorkerTest, AttachesOnlyTheProcessThatIsMeant) {
  const auto worker = make();
  must_submit(*worker, verbs::Admit{{pod("a", {guaranteed("c", 2)})}});
  auto later = enforce::identify(::getpid()).value();
  later.start_time += 1;
  must_submit(*worker, verbs::Attach{{PodUid("a"), "c"}, later});
  worker->run_round();
  EXPECT_THAT(text(1), HasSubstr("it has ended"));
}

TEST_F(WorkerTest, RunsUntilItIsStopped) {
  WorkerOptions real = options();
  real.now = Clock::now;
  std::promise<void> alive;
  real.alive = [&, called = false]() mutable {
    if (!std::exchange(called, true)) alive.set_value();
  };
  Worker worker(world_.open(), std::move(real));
  std::thread thread([&] { worker.run(); });
  alive.get_future().wait();
  std::promise<Result<verbs::Answer>> answer;
  ASSERT_TRUE(
      worker.submit({verbs::Admit{{pod("a", {guaranteed("c", 2)})}},
                     [&](Result<verbs::Answer> got) { answer.set_value(std::move(got)); }}));
  EXPECT_TRUE(answer.get_future().get().has_value());
  worker.stop();
  thread.join();
  EXPECT_EQ(worker.submit(request(verbs::CheckpointJournal{})).error().code, ErrorCode::kBusy);
  EXPECT_THAT(world_.file("cpu_manager_state"), HasSubstr(R"("a":{"c":)"));
}

TEST_F(WorkerTest, TakesRequestsOfManyThreads) {
  WorkerOptions real = options();
  real.now = Clock::now;
  Worker worker(world_.open(), std::move(real));
  std::thread rounds([&] { worker.run(); });
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kPods = 8;
  std::vector<std::thread> clients;
  for (std::size_t client = 0; client < kThreads; ++client) {
    clients.emplace_back([&worker, client] {
      const auto subscription = worker.subscribe(kPods, {});
      for (std::size_t i = 0; i < kPods; ++i) {
        const PodUid uid("p" + std::to_string(client) + "-" + std::to_string(i));
        std::promise<bool> admitted;
        ASSERT_TRUE(worker.submit({verbs::Admit{{pod(uid.value, {best_effort("c")})}},
                                   [&](const Result<verbs::Answer>& answer) {
                                     admitted.set_value(answer.has_value());
                                   }}));
        EXPECT_TRUE(admitted.get_future().get());
        EXPECT_NE(worker.snapshot()->state.node.find(uid), nullptr);
        const auto taken = subscription->take();
        EXPECT_TRUE(taken.has_lagged || !taken.changes.empty());
      }
    });
  }
  for (std::thread& client : clients) client.join();
  worker.stop();
  rounds.join();
  EXPECT_EQ(worker.snapshot()->state.node.pods.size(), kThreads * kPods);
  EXPECT_EQ(worker.snapshot()->counters.requests, kThreads * kPods);
}

/// A worker that is kept busy until it is released.
class BusyWorker {
 public:
  BusyWorker(agent::NodeAgent agent, WorkerOptions options)
      : worker_(std::move(agent), std::move(options)), thread_([this] { worker_.run(); }) {
    EXPECT_TRUE(worker_.submit(Task{[this](const Result<agent::NodeAgent*>& /*agent*/) {
                                      begun_.set_value();
                                      release_.get_future().wait();
                                      return std::vector<verbs::Event>();
                                    },
                                    Clock::time_point::max()}));
    begun_.get_future().wait();
  }
  BusyWorker(const BusyWorker&) = delete;
  BusyWorker& operator=(const BusyWorker&) = delete;
  ~BusyWorker() {
    release_.set_value();
    worker_.stop();
    thread_.join();
  }
  [[nodiscard]] Worker& worker() { return worker_; }

 private:
  std::promise<void> begun_;
  std::promise<void> release_;
  Worker worker_;
  std::thread thread_;
};

TEST_F(WorkerTest, AnswersALateRequestWhileAnotherOneIsDone) {
  WorkerOptions real = options();
  real.now = Clock::now;
  BusyWorker busy(world_.open(), std::move(real));
  std::promise<Result<verbs::Answer>> answer;
  Request late{verbs::CheckpointJournal{},
               [&](Result<verbs::Answer> got) { answer.set_value(std::move(got)); }};
  late.deadline = Clock::now() + milliseconds(5);
  ASSERT_TRUE(busy.worker().submit(std::move(late)));
  const auto got = answer.get_future().get();  // the other request is still running
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message, HasSubstr("nothing was done"));
  EXPECT_EQ(busy.worker().waiting(), 0U);
}

TEST_F(WorkerTest, IsAliveWhileARequestIsDone) {
  WorkerOptions real = options();
  real.now = Clock::now;
  real.alive_every = milliseconds(1);
  std::atomic<int> calls = 0;
  real.alive = [&] { ++calls; };
  BusyWorker busy(world_.open(), std::move(real));
  const int before = calls;  // the worker's thread no longer calls it
  while (calls < before + 3) std::this_thread::yield();
  while (busy.worker().busy_for() == milliseconds(0)) std::this_thread::yield();
}

TEST_F(WorkerTest, AnswersWhatStillWaitsWhenItStops) {
  const auto worker = make();
  must_submit(*worker, verbs::Admit{{pod("a", {guaranteed("c", 2)})}});
  worker->stop();
  worker->run();
  EXPECT_EQ(text(0), "error: the service is stopping");
  EXPECT_EQ(worker->snapshot()->state.node.find(PodUid("a")), nullptr);
}

}  // namespace
}  // namespace pinfold::worker
