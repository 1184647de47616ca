#include "pinfold/types/container_map.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace pinfold {
namespace {

using Map = ContainerMap<int>;

const PodUid kA("a");
const PodUid kB("b");
const PodUid kEmpty("empty");

Map sample() {
  Map map;
  map[{kB, "x"}] = 3;
  map[{kA, "y"}] = 2;
  map[{kA, "x"}] = 1;
  return map;
}

std::string text_of(const Map& map) {
  std::string text;
  for (const auto& [pod, name, value] : map) {
    text += pod.value + "/" + name + "=" + std::to_string(value) + " ";
  }
  return text;
}

TEST(ContainerMap, FindsContainersAndPods) {
  const Map map = sample();
  ASSERT_NE(map.find({kA, "y"}), nullptr);
  EXPECT_EQ(*map.find({kA, "y"}), 2);
  EXPECT_EQ(map.find({kB, "y"}), nullptr);
  EXPECT_EQ(map.find({kEmpty, "y"}), nullptr);
  EXPECT_TRUE(map.contains({kB, "x"}));
  EXPECT_FALSE(map.contains({kB, "y"}));
  ASSERT_NE(map.find(kA), nullptr);
  EXPECT_EQ(*map.find(kA), (Map::OfPod{{"x", 1}, {"y", 2}}));
  EXPECT_EQ(map.find(kEmpty), nullptr);
  EXPECT_TRUE(map.contains(kB));
}

TEST(ContainerMap, ChangesValues) {
  Map map = sample();
  map[{kA, "x"}] = 10;
  map[kB].at("x") = 30;
  map.change_all([](const ContainerId& id, int& value) { value += id.name == "x" ? 1 : 2; });
  EXPECT_EQ(text_of(map), "a/x=11 a/y=4 b/x=31 ");
}

/// Of two maps that share their pods, changing one never changes the other.
TEST(ContainerMap, ChangesNoCopy) {
  const Map before = sample();
  const std::vector<std::function<void(Map&)>> changes = {
      [](Map& map) {
        map[{kA, "x"}] = 10;
      },
      [](Map& map) { map[kA].clear(); },
      [](Map& map) {
        map[{kEmpty, "x"}] = 1;
      },
      [](Map& map) {
        map.erase({kA, "x"});
      },
      [](Map& map) { map.erase(kA); },
      [](Map& map) { map.erase_if([](const auto& entry) { return entry.name == "x"; }); },
      [](Map& map) { map.change_all([](const ContainerId&, int& value) { ++value; }); },
      [](Map& map) { map.clear(); },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Map map = before;
    EXPECT_EQ(map.find(kA), before.find(kA)) << "not shared";
    changes[i](map);
    EXPECT_NE(map, before) << i;
    EXPECT_EQ(before, sample()) << i;
  }
}

TEST(ContainerMap, CopiesAPodOnlyIfItIsShared) {
  Map map = sample();
  const Map::OfPod* const place = map.find(kA);
  map[{kA, "x"}] = 10;
  EXPECT_EQ(map.find(kA), place);
  const Map copy = map;
  map[{kA, "x"}] = 11;
  EXPECT_NE(map.find(kA), place);
  EXPECT_EQ(map.find(kB), copy.find(kB));
}

/// Returns the pods in which two maps differ: "+" for a new one, "-" for one that is gone.
std::string changes(const Map& before, const Map& after) {
  std::string text;
  Map::for_each_change(before, after, [&](const PodUid& uid, const auto* old, const auto* now) {
    EXPECT_EQ(before.find(uid), old) << uid;
    EXPECT_EQ(after.find(uid), now) << uid;
    text += (old == nullptr ? "+" : now == nullptr ? "-" : "") + uid.value + " ";
  });
  return text;
}

TEST(ContainerMap, ListsThePodsThatTwoMapsDoNotShare) {
  const Map before = sample();
  EXPECT_EQ(changes({}, {}), "");
  EXPECT_EQ(changes(before, before), "");
  EXPECT_EQ(changes({}, before), "+a +b ");
  EXPECT_EQ(changes(before, {}), "-a -b ");
  Map after = before;
  after[{kEmpty, "x"}] = 1;
  after[PodUid("0")];
  EXPECT_EQ(changes(before, after), "+0 +empty ");
  after[{kB, "x"}] = 4;
  after.erase(kA);
  EXPECT_EQ(changes(before, after), "+0 -a b +empty ");
  EXPECT_EQ(changes(after, before), "-0 +a b -empty ");
}

TEST(ContainerMap, IteratesByPodThenName) {
  EXPECT_EQ(text_of(sample()), "a/x=1 a/y=2 b/x=3 ");
  EXPECT_EQ(text_of(Map()), "");
  EXPECT_EQ((*sample().begin()).id(), (ContainerId{kA, "x"}));
}

TEST(ContainerMap, SkipsPodsWithoutContainers) {
  Map map;
  map[PodUid("0")];
  map[{kA, "x"}] = 1;
  map[PodUid("aa")];
  map[PodUid("ab")];
  map[{kB, "x"}] = 2;
  map[PodUid("c")];
  EXPECT_EQ(text_of(map), "a/x=1 b/x=2 ");
  Map only_empty;
  only_empty[kEmpty];
  EXPECT_EQ(text_of(only_empty), "");
}

TEST(ContainerMap, ListsAPodWithoutContainers) {
  Map map;
  EXPECT_TRUE(map.empty());
  map[kEmpty];
  EXPECT_FALSE(map.empty());
  EXPECT_TRUE(map.contains(kEmpty));
  EXPECT_TRUE(map.find(kEmpty)->empty());
  EXPECT_NE(map, Map());
  EXPECT_EQ(map.by_pod().size(), 1U);
}

TEST(ContainerMap, ErasesAContainerAndThePodWithItsLast) {
  Map map = sample();
  EXPECT_FALSE(map.erase({kA, "z"}));
  EXPECT_FALSE(map.erase({kEmpty, "x"}));
  EXPECT_EQ(map, sample());
  EXPECT_TRUE(map.erase({kA, "x"}));
  EXPECT_TRUE(map.contains(kA));
  EXPECT_TRUE(map.erase({kA, "y"}));
  EXPECT_FALSE(map.contains(kA));
  EXPECT_EQ(text_of(map), "b/x=3 ");
}

TEST(ContainerMap, ErasesAPodThatIsFoundWithoutContainers) {
  Map map;
  map[kEmpty];
  EXPECT_FALSE(map.erase({kEmpty, "x"}));
  EXPECT_TRUE(map.empty());
}

TEST(ContainerMap, ErasesAPod) {
  Map map = sample();
  EXPECT_TRUE(map.erase(kA));
  EXPECT_FALSE(map.erase(kA));
  EXPECT_EQ(text_of(map), "b/x=3 ");
}

TEST(ContainerMap, ErasesMatchingContainersAndEmptyPods) {
  Map map = sample();
  map[kEmpty];
  std::vector<std::string> seen;
  map.erase_if([&](const auto& entry) {
    seen.push_back(to_string(entry.id()));
    return entry.name == "x";
  });
  EXPECT_EQ(seen, (std::vector<std::string>{"a/x", "a/y", "b/x"}));
  EXPECT_EQ(map.by_pod(), (Map::ByPod{{kA, {{"y", 2}}}}));
}

TEST(ContainerMap, ComparesKeysAndValues) {
  EXPECT_EQ(sample(), sample());
  Map other = sample();
  other[{kA, "x"}] = 5;
  EXPECT_NE(other, sample());
  other = sample();
  other.erase({kA, "x"});
  EXPECT_NE(other, sample());
}

}  // namespace
}  // namespace pinfold
