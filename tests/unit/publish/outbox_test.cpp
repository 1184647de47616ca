#include "pinfold/publish/outbox.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinfold::publish {
namespace {

using kube::Time;
using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr const char* kForeign =
    R"({"kind":"Status","code":409,"message":"Apply failed with 1 conflict: conflict with \"nfd\"",)"
    R"("details":{"causes":[{"reason":"FieldManagerConflict","field":".zones"}]}})";

Document topology(const std::string& patch = "1") {
  return {PublishedKind::kTopology, "/apis/t/noderesourcetopologies/n?x", patch};
}
Document placement(const std::string& name, const std::string& patch = "1") {
  return {PublishedKind::kPlacement, "/api/v1/namespaces/ml/pods/" + name + "?x", patch};
}

Outbox outbox() { return {OutboxOptions{}, 1}; }

/// Sends the next document. Returns the result of answered(), or "none" without a document.
std::string send(Outbox& box, int status, const std::string& body = "") {
  const Document* const next = box.next();
  return next == nullptr ? "none" : box.answered(*next, status, body, box.due());
}

TEST(Outbox, SendsTheTopologyFirstAndEachDocumentOnce) {
  Outbox box = outbox();
  EXPECT_EQ(box.next(), nullptr);
  box.set({topology(), placement("p")});
  EXPECT_EQ(*box.next(), topology());
  EXPECT_EQ(send(box, 201), "");
  EXPECT_EQ(*box.next(), placement("p"));
  EXPECT_EQ(send(box, 200), "");
  EXPECT_EQ(box.next(), nullptr);
  const PublishCounters counters = box.counters();
  EXPECT_EQ(counters.topologies, 1U);
  EXPECT_EQ(counters.placements, 1U);
  EXPECT_EQ(counters.pending, 0U);
}

TEST(Outbox, SendsOnlyWhatHasChanged) {
  Outbox box = outbox();
  box.set({topology(), placement("p"), placement("q")});
  while (send(box, 200).empty()) {
  }
  box.set({topology(), placement("q", "2"), placement("r")});
  EXPECT_EQ(box.counters().pending, 2U);
  EXPECT_EQ(*box.next(), placement("q", "2"));
  EXPECT_EQ(send(box, 200), "");
  EXPECT_EQ(*box.next(), placement("r"));
}

TEST(Outbox, RequestsAreApart) {
  Outbox box = outbox();
  box.set({topology(), placement("p")});
  (void)box.answered(*box.next(), 200, "", Time(5'000));
  EXPECT_EQ(box.due(), Time(5'100));
}

class TemporaryFailure : public testing::TestWithParam<int> {};

TEST_P(TemporaryFailure, DelaysEverythingLongerEachTime) {
  Outbox box = outbox();
  box.set({topology()});
  EXPECT_THAT(
      box.answered(*box.next(), GetParam(), "later", Time(0)),
      HasSubstr("noderesourcetopologies 'n': status " + std::to_string(GetParam()) + ": later"));
  EXPECT_GE(box.due(), Time(250));
  for (int i = 0; i < 10; ++i) (void)box.answered(*box.next(), GetParam(), "", Time(0));
  EXPECT_GE(box.due(), Time(15'000));
  EXPECT_LE(box.due(), Time(30'000));
  EXPECT_EQ(box.counters().failures, 11U);
  EXPECT_EQ(box.counters().pending, 1U);
  EXPECT_EQ(box.answered(*box.next(), 200, "", Time(0)), "");
  EXPECT_EQ(box.due(), Time(100));
}

// 409 without a field manager: a change at the same moment.
INSTANTIATE_TEST_SUITE_P(Statuses, TemporaryFailure, testing::Values(401, 409, 429, 500, 503));

TEST(Outbox, NoAnswerIsATemporaryFailure) {
  Outbox box = outbox();
  box.set({topology()});
  box.failed(Time(0));
  EXPECT_GE(box.due(), Time(250));
  EXPECT_EQ(*box.next(), topology());
  EXPECT_EQ(box.counters().failures, 1U);
}

TEST(Outbox, ANewerDocumentReplacesOneThatWaits) {
  Outbox box = outbox();
  box.set({topology("1")});
  box.failed(Time(0));
  const Time due = box.due();
  box.set({topology("2")});
  EXPECT_EQ(*box.next(), topology("2"));
  EXPECT_EQ(box.due(), due);
}

TEST(Outbox, ARejectedDocumentStopsNoOtherOne) {
  Outbox box = outbox();
  box.set({topology(), placement("p")});
  EXPECT_THAT(send(box, 403, R"({"message":"forbidden"})"),
              HasSubstr("status 403: forbidden; expected a role that allows 'create' and 'patch'"));
  EXPECT_EQ(*box.next(), placement("p"));
  EXPECT_EQ(send(box, 200), "");
  EXPECT_EQ(box.next(), nullptr);
  EXPECT_EQ(box.counters().rejections, 1U);
  EXPECT_EQ(box.counters().failures, 0U);
  box.set({topology("2"), placement("p")});
  EXPECT_EQ(*box.next(), topology("2"));
}

TEST(Outbox, RetryRepeatsTheTopologyAndWhatWasRejected) {
  Outbox box = outbox();
  box.set({topology(), placement("p"), placement("q")});
  EXPECT_EQ(send(box, 200), "");
  EXPECT_EQ(send(box, 200), "");
  EXPECT_NE(send(box, 403), "");
  box.retry();
  EXPECT_EQ(*box.next(), topology());
  EXPECT_EQ(send(box, 200), "");
  EXPECT_EQ(*box.next(), placement("q"));
}

TEST(Outbox, LeavesTheTopologyOfAnotherExporterAlone) {
  Outbox box = outbox();
  box.set({topology()});
  EXPECT_EQ(
      send(box, 409, kForeign),
      "noderesourcetopologies 'n': another exporter owns it, and Pinfold leaves it alone (Apply "
      "failed "
      "with 1 conflict: conflict with \"nfd\"); expected one exporter: stop the other one and "
      "delete the object, or remove 'publish' from the settings");
  EXPECT_EQ(box.next(), nullptr);
  EXPECT_TRUE(box.counters().is_foreign);
  box.retry();
  EXPECT_EQ(send(box, 200), "");
  EXPECT_FALSE(box.counters().is_foreign);
}

TEST(Outbox, APodThatDoesNotExistIsNoFailure) {
  for (const int status : {404, 409, 422}) {
    Outbox box = outbox();
    box.set({topology(), placement("p")});
    EXPECT_EQ(send(box, 200), "");
    EXPECT_EQ(send(box, status), "") << status;
    EXPECT_EQ(box.next(), nullptr);
    const PublishCounters counters = box.counters();
    EXPECT_EQ(counters.placements + counters.failures + counters.rejections, 0U);
    box.retry();
    EXPECT_EQ(box.counters().pending, 2U);
  }
}

TEST(Outbox, AMissingCrdIsNamed) {
  Outbox box = outbox();
  box.set({topology()});
  EXPECT_THAT(send(box, 404, "404 page not found"),
              HasSubstr("expected its CustomResourceDefinition in the cluster"));
}

TEST(Outbox, GarbageIsNoConflictOfExporters) {
  for (const char* const body : {"", "[]", "{\"details\":5}", "{\"details\":{\"causes\":[5]}}",
                                 "{\"details\":{\"causes\":[{\"reason\":5}]}}"}) {
    Outbox box = outbox();
    box.set({topology()});
    (void)send(box, 409, body);
    EXPECT_FALSE(box.counters().is_foreign) << body;
    EXPECT_NE(box.next(), nullptr) << body;
  }
}

}  // namespace
}  // namespace pinfold::publish
