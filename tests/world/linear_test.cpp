#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "call_log.hpp"
#include "node_samples.hpp"

namespace pinfold::world {
namespace {

using agent::AgentState;
using agent::RunningProcesses;
using testing::HasSubstr;

/// A node with seven CPUs for exclusive use: two pods with four each do not fit.
class LinearTest : public testing::Test {
 protected:
  static PodSpec four(const std::string& uid) { return test::pod(uid, {test::guaranteed("a", 4)}); }
  static verbs::Admit admit(const std::string& uid) { return {{four(uid)}}; }
  static verbs::Remove remove(const std::string& uid) {
    return {PodUid(uid), "", RunningProcesses::kRefuse};
  }

  /// Returns the state after the admission of this pod.
  [[nodiscard]] AgentState with(const std::string& uid) const {
    AgentState state = first_;
    state.node = std::get<Admitted>(decide(node_, state.node, four(uid))).next;
    return state;
  }
  /// Returns the answer to another pod with four CPUs in that state.
  [[nodiscard]] LoggedAnswer rejected() const {
    const auto decision = decide(node_, with("p1").node, four("p2"));
    const Rejection& why = std::get<Rejected>(decision).why;
    return {"", {{why.reason + ": " + why.message}}, {}};
  }
  static LoggedAnswer admitted() { return {"", {{""}}, {}}; }
  static LoggedAnswer done() { return {}; }

  void add(std::uint64_t invoked, std::optional<std::uint64_t> returned, LoggedRequest request,
           std::optional<LoggedAnswer> answer) {
    const int client = static_cast<int>(log_.size());
    log_.push_back({client, invoked, returned, std::move(request), std::move(answer)});
  }
  void add_read(std::uint64_t invoked, std::uint64_t returned, const AgentState& state) {
    add(invoked, returned, Read{}, LoggedAnswer{"", {}, state});
  }
  [[nodiscard]] std::string judged() const { return find_contradiction(node_, first_, log_); }

  Node node_ = test::static_node();
  AgentState first_{empty_state(node_), {}, {}, {}, {}, {}, {}, {}, {}};
  std::vector<LoggedCall> log_;
};

TEST_F(LinearTest, NothingContradictsItself) { EXPECT_EQ(judged(), ""); }

TEST_F(LinearTest, CallsAtTheSameTimeAreDoneInEitherOrder) {
  add(0, 3, admit("p1"), rejected());
  add(1, 2, admit("p2"), admitted());
  add_read(4, 5, with("p2"));
  EXPECT_EQ(judged(), "");
}

TEST_F(LinearTest, TheSameCpusAreNotGrantedTwice) {
  add(0, 3, admit("p1"), admitted());
  add(1, 2, admit("p2"), admitted());
  EXPECT_THAT(judged(), HasSubstr("'admit'"));
}

TEST_F(LinearTest, NothingIsDoneBeforeItIsAsked) {
  add(0, 1, admit("p1"), rejected());
  add(2, 3, admit("p2"), admitted());
  EXPECT_THAT(judged(), HasSubstr("'admit' of client 0"));
}

TEST_F(LinearTest, AnAcknowledgedAdmissionOutlivesTheService) {
  add(0, 1, admit("p1"), admitted());
  add(2, 3, Restarted{}, done());
  const auto log = log_;
  add_read(4, 5, with("p1"));
  EXPECT_EQ(judged(), "");
  log_ = log;
  add_read(4, 5, first_);
  EXPECT_THAT(judged(), HasSubstr("'read'"));
}

TEST_F(LinearTest, WhatWasNotAnsweredHasHappenedOrNot) {
  add(0, 1, admit("p1"), std::nullopt);
  add(2, 3, Restarted{}, done());
  const auto log = log_;
  for (const AgentState& state : {with("p1"), first_}) {
    log_ = log;
    add_read(4, 5, state);
    add_read(6, 7, state);
    EXPECT_EQ(judged(), "");
  }
  for (const auto& [before, after] :
       {std::pair{with("p1"), first_}, std::pair{first_, with("p1")}}) {
    log_ = log;  // a committed call is neither lost nor done after the end of the service
    add_read(4, 5, before);
    add_read(6, 7, after);
    EXPECT_THAT(judged(), HasSubstr("invoked at 6"));
  }
}

TEST_F(LinearTest, WhatCanStillHappenCanHappenLate) {
  add(0, std::nullopt, admit("p1"), std::nullopt);
  add_read(2, 3, first_);
  add_read(4, 5, with("p1"));
  EXPECT_EQ(judged(), "");
  add_read(6, 7, first_);
  EXPECT_NE(judged(), "");
}

TEST_F(LinearTest, AnAnswerIsNotThatOfAnEarlierState) {
  add(0, 1, admit("p1"), admitted());
  add_read(2, 3, first_);
  EXPECT_THAT(judged(), HasSubstr("'read'"));
  log_.back().invoked = 0;  // before the answer it is possible
  log_.front().invoked = 1;
  log_.front().returned = 4;
  EXPECT_EQ(judged(), "");
}

TEST_F(LinearTest, AnErrorSaysThatNothingHasHappened) {
  add(0, 1, admit("p1"), LoggedAnswer{"no space left", {}, {}});
  const auto log = log_;
  add_read(2, 3, first_);
  EXPECT_EQ(judged(), "");
  log_ = log;
  add_read(2, 3, with("p1"));
  EXPECT_THAT(judged(), HasSubstr("'read'"));
}

TEST_F(LinearTest, WhatWasRemovedIsGone) {
  add(0, 1, admit("p1"), admitted());
  add(2, 3, remove("p1"), done());
  const auto log = log_;
  add(4, 5, admit("p2"), admitted());
  EXPECT_EQ(judged(), "");
  log_ = log;
  add(4, 5, admit("p2"), rejected());
  EXPECT_THAT(judged(), HasSubstr("invoked at 4"));
  log_ = log;
  add(4, 5, remove("p1"), done());
  EXPECT_THAT(judged(), HasSubstr("'remove'"));
}

TEST_F(LinearTest, StartsAndRemovalsOfContainersAreSeen) {
  add(0, 1, admit("p1"), admitted());
  add(2, 3, verbs::Start{{PodUid("p1"), "a"}}, done());
  AgentState started = with("p1");
  started.node = *start_container(node_, started.node, {PodUid("p1"), "a"});
  const auto log = log_;
  add_read(4, 5, started);
  EXPECT_EQ(judged(), "");
  log_ = log;
  add_read(4, 5, with("p1"));
  EXPECT_THAT(judged(), HasSubstr("'read'"));
  log_ = log;
  add(4, 5, verbs::Start{{PodUid("p1"), "b"}}, done());  // there is no such container
  EXPECT_THAT(judged(), HasSubstr("'start'"));
}

/// Of seven concurrent calls in the worst order, one is admitted.
TEST_F(LinearTest, ManyAtTheSameTimeAreJudgedSoon) {
  constexpr std::uint64_t kCalls = 7;
  for (std::uint64_t i = 0; i < kCalls; ++i) {
    const bool is_last = i + 1 == kCalls;
    add(i, 2 * kCalls - i, admit("p" + std::to_string(i)), is_last ? admitted() : rejected());
  }
  EXPECT_EQ(judged(), "");
  log_.front().answer = admitted();
  EXPECT_NE(judged(), "");
}

/// The judge reads the log that the world writes.
TEST_F(LinearTest, ALogHasWhatClientsSaw) {
  const auto node = std::make_shared<const Node>(test::static_node());
  const verbs::Answer answer = verbs::Admissions{{agent::AdmitOutcome{}}, {}};
  for (const bool is_answered : {false, true}) {
    for (const bool is_kept : {false, true}) {
      CallLog log;
      log.begin(node, first_);
      EXPECT_FALSE(log.invoke(verbs::Reconcile{}));
      const auto call = log.invoke(admit("p1"));
      ASSERT_TRUE(call);
      if (is_answered) log.answer(*call, answer);
      log.restart();
      log.read(is_kept ? with("p1") : first_);
      EXPECT_EQ(log.judge().empty(), is_kept || !is_answered);
    }
  }
  CallLog log;
  log.begin(node, first_);
  log.answer(log.invoke(admit("p1")).value(), fail(ErrorCode::kIo, ""));
  log.read(with("p1"));
  EXPECT_THAT(log.judge(), HasSubstr("'read'"));
}

/// Calls that the runtime was told have succeeded are done; others may be.
TEST_F(LinearTest, ALogHasWhatARuntimeWasTold) {
  const auto node = std::make_shared<const Node>(test::static_node());
  for (const bool is_granted : {false, true}) {
    for (const bool is_kept : {false, true}) {
      CallLog log;
      log.begin(node, first_);
      log.ask({remove("p1"), verbs::Reconcile{}, admit("p1")}, is_granted);
      log.read(is_kept ? with("p1") : first_);
      EXPECT_EQ(log.judge().empty(), is_kept || !is_granted);
    }
  }
  CallLog log;
  log.begin(node, with("p1"));
  log.ask({admit("p2")}, /*is_granted=*/true);
  EXPECT_THAT(log.judge(), HasSubstr("'admit'")) << "there are no CPUs for it";
}

/// Ended containers make room at any time of their round, but not earlier.
TEST_F(LinearTest, ALogHasWhatHasEnded) {
  const auto node = std::make_shared<const Node>(test::static_node());
  const verbs::Answer answer = verbs::Admissions{{agent::AdmitOutcome{}}, {}};
  for (const bool is_same_round : {false, true}) {
    CallLog log;
    log.begin(node, with("p2"));
    log.begin_round();
    log.answer(log.invoke(admit("p1")).value(), answer);
    if (!is_same_round) log.begin_round();
    log.end({});
    log.end({{PodUid("p2"), "a"}, {PodUid("p2"), ""}, {PodUid("p3"), "a"}});
    log.read(with("p1"));
    EXPECT_EQ(log.judge().empty(), is_same_round);
  }
}

}  // namespace
}  // namespace pinfold::world
