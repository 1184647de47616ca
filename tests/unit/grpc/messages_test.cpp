#include "pinfold/grpc/messages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinfold::service {
namespace {

using testing::ElementsAre;

template <class Message>
Message sent(const Message& message) {
  Message received;
  EXPECT_TRUE(received.ParseFromString(message.SerializeAsString())) << message.DebugString();
  return received;
}

/// The name of a control group that somebody made can be any bytes; a string of Protobuf must be
/// UTF-8, or the client refuses the whole message.
TEST(Messages, TextThatIsNoUtf8IsEscaped) {
  agent::ReconcileReport report;
  report.drift = {"stray 'a\xff'", "caf\xc3\xa9\n"};
  report.moved = {"\xc3"};
  report.remaining = {"\x80"};
  v1::ReconcileResponse response;
  fill(report, response);
  const auto received = sent(response);
  EXPECT_THAT(received.drift(), ElementsAre("stray 'a\\xff'", "caf\xc3\xa9\n"));
  EXPECT_THAT(received.steps(), ElementsAre("\\xc3"));
  EXPECT_THAT(received.remaining(), ElementsAre("\\x80"));
  v1::Error error;
  fill(Error{ErrorCode::kIo, 5, "write '\xfe'"}, error);
  EXPECT_EQ(sent(error).message(), "write '\\xfe'");
  EXPECT_EQ(error.code(), v1::ERROR_CODE_IO);
  EXPECT_EQ(error.sys_errno(), 5);
}

TEST(Messages, ChangesHaveTheirKind) {
  const Subscription::Taken taken{{{ChangeKind::kAdmitted, PodUid("a"), ""},
                                   {ChangeKind::kRejected, PodUid("b"), ""},
                                   {ChangeKind::kStarted, PodUid("a"), "c"},
                                   {ChangeKind::kRemoved, PodUid("a"), "c"},
                                   {ChangeKind::kReleased, {}, ""},
                                   {ChangeKind::kReconciled, {}, ""},
                                   {ChangeKind::kAdopted, PodUid("a"), "d"},
                                   {ChangeKind::kFoundUnpinned, PodUid("a"), "e"}},
                                  false};
  v1::WatchResponse response;
  fill(taken, response);
  std::vector<int> kinds;
  for (const auto& change : response.changes()) kinds.push_back(change.kind());
  EXPECT_THAT(kinds, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_EQ(response.changes(2).container(), "c");
  EXPECT_EQ(response.changes(6).pod_uid(), "a");
  EXPECT_FALSE(response.lagged());
}

}  // namespace
}  // namespace pinfold::service
