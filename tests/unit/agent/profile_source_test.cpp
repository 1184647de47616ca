#include "pinfold/agent/profile_source.hpp"

#include <gtest/gtest.h>

#include "pinfold/agent/pods_file.hpp"

// Which kubelet wrote the state files.
namespace pinfold::agent {
namespace {

constexpr const char* kCpuV2 =
    R"({"policyName":"static","defaultCpuSet":"0-3","entries":{"p":{"data":"1"}},"checksum":1})";
constexpr const char* kCpuV3 =
    R"({"policyName":"static","defaultCpuSet":"0","podEntries":{"p":{"cpuSet":"1"}},"checksum":1})";
constexpr const char* kCpuV4 =
    R"({"policyName":"static","defaultCpuSet":"0","checksum":1,"data":"{}","dataChecksum":2})";
constexpr const char* kMemoryV1 = R"({"policyName":"Static","machineState":{"0":{}},"checksum":1})";
constexpr const char* kMemoryV2 =
    R"({"policyName":"Static","machineState":{},"podEntries":{"p":{}},"checksum":1})";
constexpr const char* kMemoryV3 =
    R"({"policyName":"Static","machineState":{},"checksum":1,"data":"{}","dataChecksum":2})";

TEST(ProfileOfFiles, IsThatOfTheirFormat) {
  EXPECT_EQ(profile_of_files({kCpuV4, {}, {}}), Profile::kKubelet137);
  EXPECT_EQ(profile_of_files({{}, kMemoryV3, {}}), Profile::kKubelet137);
  EXPECT_EQ(profile_of_files({kCpuV3, {}, {}}), Profile::kKubelet136);
  EXPECT_EQ(profile_of_files({kCpuV2, kMemoryV2, {}}), Profile::kKubelet136);
  EXPECT_EQ(profile_of_files({kCpuV3, kMemoryV3, {}}), Profile::kKubelet137) << "1.37 reads both";
}

TEST(ProfileOfFiles, IsUnknownWhereEveryKubeletMayHaveWrittenThem) {
  EXPECT_EQ(profile_of_files({}), std::nullopt);
  EXPECT_EQ(profile_of_files({kCpuV2, kMemoryV1, {}}), std::nullopt);
  for (const char* const text :
       {"", "null", "[]", "{", "\"dataChecksum\"", "[[{\"podEntries\":1}]]"}) {
    EXPECT_EQ(profile_of_files({text, text, {}}), std::nullopt) << text;
  }
}

TEST(ProfileOfFiles, IsRememberedInPinfoldsOwnFile) {
  AgentState state;
  EXPECT_EQ(profile_of_files({kCpuV4, {}, encode_pods(state)}), std::nullopt);
  state.kubelet_profile = Profile::kKubelet138;
  const std::string pods = encode_pods(state);
  EXPECT_EQ(profile_of_files({kCpuV2, {}, pods}), Profile::kKubelet138);
  AgentState again;
  ASSERT_TRUE(decode_pods(pods, again));
  EXPECT_EQ(again, state);
  EXPECT_EQ(profile_of_files({kCpuV4, {}, pods + "x"}), std::nullopt) << "damaged";
}

TEST(ProfileOfFiles, IsNoOtherNameThanThatOfAProfile) {
  AgentState state;
  for (const char* const profile : {"\"kubelet-1.99\"", "1", "{}"}) {
    const std::string pods =
        std::string(R"({"version":1,"pods":[],"kubeletProfile":)") + profile + "}";
    EXPECT_EQ(profile_of_files({{}, {}, pods}), std::nullopt) << profile;
    EXPECT_FALSE(decode_pods(pods, state)) << profile;
  }
}

}  // namespace
}  // namespace pinfold::agent
