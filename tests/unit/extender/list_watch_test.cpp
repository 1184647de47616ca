#include "pinfold/kube/list_watch.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

namespace pinfold::kube {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Records its calls: "(", ")", "+name", "-name".
class Notes final : public ObjectSink {
 public:
  void begin_list() override { notes.emplace_back("("); }
  void end_list() override { notes.emplace_back(")"); }
  void set(const json& object) override { note("+", object); }
  void remove(const json& object) override { note("-", object); }

  std::vector<std::string> notes;

 private:
  void note(const char* sign, const json& object) {
    notes.push_back(sign + object["metadata"]["name"].get<std::string>());
  }
};

std::string page(const std::vector<std::string>& names, const std::string& next = "") {
  json items = json::array();
  for (const std::string& name : names) items.push_back({{"metadata", {{"name", name}}}});
  return json{{"metadata", {{"resourceVersion", "10"}, {"continue", next}}}, {"items", items}}
      .dump();
}

std::string event(const std::string& type, const std::string& name, int version) {
  return json{{"type", type},
              {"object",
               {{"metadata", {{"name", name}, {"resourceVersion", std::to_string(version)}}}}}}
             .dump() +
         "\n";
}

const std::string kGoneEvent =
    R"({"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}})"
    "\n";
const std::string kOtherEvent =
    R"({"type":"ERROR","object":{"kind":"Status","code":500,"message":"etcd"}})"
    "\n";

class ListWatchTest : public testing::Test {
 protected:
  void list(const std::vector<std::string>& names) {
    ASSERT_TRUE(watch.answered(200, page(names), now, sink));
    sink.notes.clear();
  }

  ListWatch watch{Kind::kNodes, {}, 7};
  Notes sink;
  Time now{1'000};
};

TEST_F(ListWatchTest, ListsInPagesThenWatchesFromThere) {
  EXPECT_EQ(watch.next().target, "/api/v1/nodes?limit=500");
  ASSERT_TRUE(watch.answered(200, page({"a"}, "next=/+"), now, sink));
  EXPECT_FALSE(watch.is_synced());
  EXPECT_EQ(watch.next().target, "/api/v1/nodes?limit=500&continue=next%3D%2F%2B");
  ASSERT_TRUE(watch.answered(200, page({"b"}), now, sink));
  EXPECT_TRUE(watch.is_synced());
  EXPECT_THAT(sink.notes, ElementsAre("(", "+a", "+b", ")"));
  EXPECT_TRUE(watch.next().is_watch);
  EXPECT_THAT(watch.next().target,
              HasSubstr("watch=1&allowWatchBookmarks=true&resourceVersion=10&timeoutSeconds="));
  EXPECT_EQ(watch.due(), now);
}

TEST_F(ListWatchTest, EventsAndBookmarksMoveTheVersion) {
  list({"a"});
  ASSERT_TRUE(watch.received(event("ADDED", "b", 11) + event("DELETED", "a", 12), now, sink));
  EXPECT_THAT(sink.notes, ElementsAre("+b", "-a"));
  ASSERT_TRUE(watch.received(event("BOOKMARK", "", 40), now, sink));
  EXPECT_THAT(watch.next().target, HasSubstr("resourceVersion=40&"));
}

TEST_F(ListWatchTest, AWatchThatEndsIsResumedAfterAMoment) {
  list({"a"});
  ASSERT_TRUE(watch.received(event("MODIFIED", "a", 15), now, sink));
  watch.ended(now, false);
  EXPECT_EQ(watch.due(), now + ListWatchOptions{}.least);
  EXPECT_THAT(watch.next().target, HasSubstr("resourceVersion=15&"));
  EXPECT_EQ(watch.lists(), 1U);
}

TEST_F(ListWatchTest, HalfAnEventIsDroppedWithItsConnection) {
  list({"a"});
  const std::string text = event("MODIFIED", "a", 15);
  ASSERT_TRUE(watch.received(text.substr(0, 20), now, sink));
  watch.ended(now, true);
  ASSERT_TRUE(watch.received(text, now, sink));
  EXPECT_THAT(sink.notes, ElementsAre("+a"));
}

TEST_F(ListWatchTest, GoneAsEventOrStatusListsAgainAtOnce) {
  list({"a"});
  EXPECT_FALSE(watch.received(kGoneEvent, now, sink));
  EXPECT_EQ(watch.next().target, "/api/v1/nodes?limit=500");
  EXPECT_EQ(watch.due(), now);
  list({"a"});
  ASSERT_TRUE(watch.received(event("BOOKMARK", "", 40), now, sink));
  ASSERT_TRUE(watch.answered(410, "", now, sink));
  EXPECT_EQ(watch.next().target, "/api/v1/nodes?limit=500");
  EXPECT_EQ(watch.due(), now);
  EXPECT_TRUE(watch.is_synced());
}

TEST_F(ListWatchTest, AServerThatListsButCannotWatchIsNotAskedInALoop) {
  for (int i = 0; i < 20; ++i) {
    list({"a"});
    ASSERT_TRUE(watch.answered(410, "", now, sink));
    EXPECT_EQ(watch.due() > now, i > 0);
    now = watch.due();
  }
  list({"a"});
  ASSERT_TRUE(watch.answered(410, "", now, sink));
  EXPECT_GE(watch.due() - now, ListWatchOptions{}.most / 2);
}

TEST_F(ListWatchTest, AContinuationThatIsGoneStartsTheListAgain) {
  ASSERT_TRUE(watch.answered(200, page({"a"}, "token"), now, sink));
  ASSERT_TRUE(watch.answered(410, "", now, sink));
  EXPECT_EQ(watch.next().target, "/api/v1/nodes?limit=500");
  EXPECT_GT(watch.due(), now);
  ASSERT_TRUE(watch.answered(200, page({"b"}), now, sink));
  EXPECT_THAT(sink.notes, ElementsAre("(", "+a", "(", "+b", ")"));
  EXPECT_EQ(watch.lists(), 2U);
}

TEST_F(ListWatchTest, FailuresWaitLongerAndLongerUpToALimit) {
  Time longest{0};
  for (int i = 0; i < 40; ++i) {
    const auto answered = watch.answered(503, "busy", now, sink);
    ASSERT_FALSE(answered);
    EXPECT_EQ(answered.error().message, "nodes: status 503: busy");
    EXPECT_GT(watch.due(), now);
    longest = std::max(longest, watch.due() - now);
    EXPECT_LE(watch.due() - now, ListWatchOptions{}.most);
    now = watch.due();
  }
  EXPECT_GE(longest, ListWatchOptions{}.most / 2);
  EXPECT_EQ(watch.failures(), 40);
  list({"a"});
  ASSERT_TRUE(watch.received(event("BOOKMARK", "", 40), now, sink));
  EXPECT_EQ(watch.failures(), 0);
}

TEST_F(ListWatchTest, ClientsWaitForDifferentTimes) {
  ListWatch other(Kind::kNodes, {}, 8);
  watch.ended(now, true);
  other.ended(now, true);
  EXPECT_NE(watch.due(), other.due());
}

TEST_F(ListWatchTest, AnotherErrorKeepsTheVersion) {
  list({"a"});
  const auto received = watch.received(kOtherEvent, now, sink);
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().message, "nodes: the watch has ended: etcd");
  EXPECT_THAT(watch.next().target, HasSubstr("resourceVersion=10&"));
  EXPECT_GT(watch.due(), now);
}

TEST_F(ListWatchTest, GarbageIsAnErrorAndIsFollowedByAWait) {
  for (const char* const body : {"", "<html>", "[]", "{}", R"({"items":[]})",
                                 R"({"metadata":{"resourceVersion":"1"},"items":5})"}) {
    EXPECT_FALSE(watch.answered(200, body, now, sink)) << body;
    EXPECT_GT(watch.due(), now) << body;
  }
  EXPECT_THAT(sink.notes, IsEmpty());
  list({"a"});
  EXPECT_FALSE(watch.received("garbage\n", now, sink));
  EXPECT_GT(watch.due(), now);
  EXPECT_TRUE(watch.next().is_watch);
}

TEST_F(ListWatchTest, SaysWhatIsMissing) {
  EXPECT_THAT(watch.answered(403, R"({"message":"forbidden"})", now, sink).error().message,
              "nodes: status 403: forbidden; expected a role that allows 'list' and 'watch' of "
              "them");
  EXPECT_THAT(watch.answered(401, "", now, sink).error().message, HasSubstr("valid token"));
  EXPECT_THAT(watch.answered(404, "", now, sink).error().message,
              HasSubstr("CustomResourceDefinition"));
}

}  // namespace
}  // namespace pinfold::kube
