#include "pinfold/grpc/messages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinfold::grpc {
namespace {

using testing::ElementsAre;

template <class Message>
Message sent(const Message& message) {
  Message received;
  EXPECT_TRUE(received.ParseFromString(message.SerializeAsString())) << message.DebugString();
  return received;
}

/// The name of a foreign cgroup can contain any bytes. A Protobuf string must be UTF-8; otherwise
/// the client rejects the whole message.
TEST(Messages, TextThatIsNoUtf8IsEscaped) {
  agent::ReconcileReport report;
  report.drift = {"stray 'a\xff'", "caf\xc3\xa9\n"};
  report.moved = {"\xc3"};
  report.remaining = {"\x80"};
  report.notes = {"\x81"};
  v1::ReconcileResponse response;
  fill(report, response);
  const auto received = sent(response);
  EXPECT_THAT(received.drift(), ElementsAre("stray 'a\\xff'", "caf\xc3\xa9\n"));
  EXPECT_THAT(received.steps(), ElementsAre("\\xc3"));
  EXPECT_THAT(received.remaining(), ElementsAre("\\x80"));
  EXPECT_THAT(received.notes(), ElementsAre("\\x81"));
  v1::Error error;
  fill(Error{ErrorCode::kIo, 5, "write '\xfe'"}, error);
  EXPECT_EQ(sent(error).message(), "write '\\xfe'");
  EXPECT_EQ(error.code(), v1::ERROR_CODE_IO);
  EXPECT_EQ(error.sys_errno(), 5);
}

TEST(Messages, APlanHasEachContainer) {
  verbs::Reconfigured outcome;
  PlannedContainer moved;
  moved.id = {PodUid("u"), "c"};
  moved.change = pinfold::Change::kMoved;
  moved.cpus_before = CpuSet{1, 2};
  moved.memory_after = {{{0, 1}, "memory", 5}};
  moved.why = "CPUs 1 of '\xff'";
  PlannedContainer evicted;
  evicted.id = {PodUid("held"), "c"};
  evicted.change = pinfold::Change::kEvicted;
  evicted.rejection = Rejection{"reason", "message", ""};
  outcome.planned.plan.containers = {moved, evicted};
  outcome.planned.plan.evicted = {PodUid("held")};
  outcome.planned.plan.cost = {1, 2, 3, 4, 5};
  outcome.planned.plan.short_of_requests = {{PodUid("u"), {"OutOfcpu", "m", ""}}};
  outcome.planned.parked = {moved.id};
  outcome.planned.steps[moved.id] = {"cpuset.cpus := 0"};
  outcome.planned.pods = {{PodUid("u"), {PodUid("u"), "shop", "web"}}};
  outcome.change.not_enforced = Error{ErrorCode::kIo, 28, "no space"};
  outcome.change.measured = {{moved.id, std::chrono::nanoseconds(7), std::nullopt, 9}};
  v1::ReconfigureResponse response;
  fill(outcome, response);
  const auto received = sent(response);
  ASSERT_EQ(received.plan().containers_size(), 2);
  const v1::PlannedContainer& first = received.plan().containers(0);
  EXPECT_EQ(first.pod().namespace_(), "shop");
  EXPECT_EQ(first.pod().name(), "web");
  EXPECT_EQ(first.change(), v1::PLANNED_CHANGE_MOVED);
  EXPECT_EQ(first.cpus_before(), "1-2");
  EXPECT_FALSE(first.has_cpus_after());
  EXPECT_THAT(first.memory_after(0).numa_nodes(), ElementsAre(0, 1));
  EXPECT_EQ(first.why(), "CPUs 1 of '\\xff'");
  EXPECT_TRUE(first.parked());
  EXPECT_THAT(first.steps(), ElementsAre("cpuset.cpus := 0"));
  EXPECT_EQ(received.plan().containers(1).change(), v1::PLANNED_CHANGE_EVICTED);
  EXPECT_EQ(received.plan().containers(1).pod().name(), "");
  EXPECT_EQ(received.plan().containers(1).rejection().reason(), "reason");
  ASSERT_EQ(received.plan().evicted_size(), 1);
  EXPECT_EQ(received.plan().evicted(0).uid(), "held");
  EXPECT_EQ(received.plan().cost().moved_bytes(), 5U);
  EXPECT_EQ(received.plan().short_of_requests(0).rejection().reason(), "OutOfcpu");
  EXPECT_DOUBLE_EQ(received.measured(0).parked_seconds(), 7e-9);
  EXPECT_FALSE(received.measured(0).has_moving_pages_seconds());
  EXPECT_EQ(received.not_enforced().sys_errno(), 28);
  EXPECT_FALSE(received.other_node());
}

TEST(Messages, ChangesHaveTheirKind) {
  const worker::Subscription::Taken taken{{{verbs::EventKind::kAdmitted, PodUid("a"), ""},
                                           {verbs::EventKind::kRejected, PodUid("b"), ""},
                                           {verbs::EventKind::kStarted, PodUid("a"), "c"},
                                           {verbs::EventKind::kRemoved, PodUid("a"), "c"},
                                           {verbs::EventKind::kReleased, {}, ""},
                                           {verbs::EventKind::kReconciled, {}, ""},
                                           {verbs::EventKind::kAdopted, PodUid("a"), "d"},
                                           {verbs::EventKind::kFoundUnpinned, PodUid("a"), "e"},
                                           {verbs::EventKind::kMoved, PodUid("a"), "f"}},
                                          false};
  v1::WatchResponse response;
  fill(taken, response);
  std::vector<int> kinds;
  for (const auto& change : response.changes()) kinds.push_back(change.kind());
  EXPECT_THAT(kinds, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_EQ(response.changes(2).container(), "c");
  EXPECT_EQ(response.changes(6).pod_uid(), "a");
  EXPECT_FALSE(response.lagged());
}

}  // namespace
}  // namespace pinfold::grpc
