#include "pinfold/kube/kind.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace pinfold::kube {
namespace {

using nlohmann::json;

TEST(KubeKind, KeysAreNamesAndForPodsUids) {
  const json object = {{"metadata", {{"name", "n"}, {"uid", "u"}}}};
  EXPECT_EQ(key_of(Kind::kNodes, object).value(), "n");
  EXPECT_EQ(key_of(Kind::kPods, object).value(), "u");
  EXPECT_EQ(key_of(Kind::kNodeTopologies, object).value(), "n");
}

TEST(KubeKind, RejectsObjectsWithoutKey) {
  for (const char* const text :
       {"[]", "{}", "null", "{\"metadata\":[]}", "{\"metadata\":{\"name\":5}}"}) {
    const auto key = key_of(Kind::kNodes, json::parse(text));
    ASSERT_FALSE(key) << text;
    EXPECT_EQ(key.error().code, ErrorCode::kInvalidArgument) << text;
  }
}

TEST(KubeKind, OnlyListsAskForLists) {
  EXPECT_TRUE(
      list_accept(Kind::kNodes).starts_with("application/json;as=PartialObjectMetadataList;"));
  EXPECT_TRUE(watch_accept(Kind::kNodes).starts_with("application/json;as=PartialObjectMetadata;"));
  EXPECT_EQ(watch_accept(Kind::kPods), "application/json");
}

TEST(KubeJson, NamesTheByteOfAnError) {
  EXPECT_EQ(parse_json("{\"a\":}", "request").error().message,
            "request: expected JSON, found an error at byte 6");
  EXPECT_EQ(parse_json("{\"a\":1e999}", "request").error().message,
            "request: expected JSON with numbers below 1.8e308");
  EXPECT_FALSE(parse_json("", "request"));
  EXPECT_FALSE(parse_json("{} {}", "request"));
}

TEST(KubeJson, LimitsTheDepth) {
  const auto nested = [](std::size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  EXPECT_TRUE(parse_json(nested(kMostLevels), "request"));
  EXPECT_EQ(parse_json(nested(kMostLevels + 1), "request").error().message,
            "request: expected JSON of at most 100 levels");
  EXPECT_FALSE(parse_json(std::string(std::size_t{8} << 20U, '['), "request"));
}

TEST(KubeJson, BracketsInStringsAreNotLevels) {
  const std::string brackets = R"("\\\"[[{\\")";
  std::string text = "[" + brackets;
  for (std::size_t i = 0; i < kMostLevels; ++i) text += "," + brackets;
  EXPECT_TRUE(parse_json(text + "]", "request"));
}

}  // namespace
}  // namespace pinfold::kube
