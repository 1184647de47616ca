#include "pinfold/kube/watch_events.hpp"

#include <gtest/gtest.h>

namespace pinfold::kube {
namespace {

const std::string kStream = R"({"type":"ADDED","object":{"metadata":{"name":"a"}}})"
                            "\n"
                            R"({"type":"DELETED","object":{"metadata":{"name":"b"}}})"
                            "\n\n"
                            R"({"type":"BOOKMARK","object":{}})"
                            "\n"
                            R"({"type":"LATER","object":{}})"
                            "\n";

TEST(EventReader, DividesTheStreamWhereverItIsCut) {
  for (std::size_t cut = 0; cut <= kStream.size(); ++cut) {
    EventReader reader;
    std::vector<ObjectEvent> events = reader.feed(kStream.substr(0, cut)).value();
    const auto rest = reader.feed(kStream.substr(cut)).value();
    events.insert(events.end(), rest.begin(), rest.end());
    ASSERT_EQ(events.size(), 3U) << "cut at " << cut;
    EXPECT_EQ(events[0].type, EventType::kAdded);
    EXPECT_EQ(events[1].object["metadata"]["name"], "b");
    EXPECT_EQ(events[2].type, EventType::kBookmark);
  }
}

TEST(EventReader, AnIncompleteEventIsNoEvent) {
  EventReader reader;
  EXPECT_TRUE(reader.feed(R"({"type":"ADDED","object":{}})").value().empty());
  EXPECT_EQ(reader.feed("\n").value().size(), 1U);
}

TEST(EventReader, RejectsWhatIsNoEvent) {
  for (const char* const line : {"garbage\n", "[]\n", "{\"type\":5}\n", "{\"type\":\"ADDED\"}\n",
                                 "{\"type\":\"ADDED\",\"object\":[]}\n"}) {
    EXPECT_FALSE(EventReader().feed(line)) << line;
  }
}

TEST(EventReader, LimitsTheLengthOfAnEvent) {
  EventReader reader;
  const std::string part(EventReader::kMaxEvent / 2, 'x');
  ASSERT_TRUE(reader.feed(part));
  ASSERT_TRUE(reader.feed(part));
  EXPECT_EQ(reader.feed("x").error().message,
            "watch event: 8388609 bytes: expected at most 8388608");
}

}  // namespace
}  // namespace pinfold::kube
