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

TEST(KubeJson, NamesTheByteOfAnError) {
  EXPECT_EQ(parse_json("{\"a\":}", "request").error().message,
            "request: expected JSON, found an error at byte 6");
  EXPECT_FALSE(parse_json("", "request"));
  EXPECT_FALSE(parse_json("{} {}", "request"));
}

}  // namespace
}  // namespace pinfold::kube
