#include "pinfold/api/kubelet_flags.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace pinfold {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(KubeletFlags, AreReadInEveryForm) {
  using namespace std::string_literals;
  const auto words =
      parse_command_line("/usr/bin/kubelet\0--a=1\0--b\0two\0-v\0--c\0--d=x=y\0ignored\0"s);
  EXPECT_EQ(kubelet_flags(words), (KubeletFlags{
                                      {"--a", "1"},
                                      {"--b", "two"},
                                      {"--v", "true"},
                                      {"--c", "true"},
                                      {"--d", "x=y"},
                                  }));
}

TEST(KubeletFlags, AreThoseOfAKubelet) {
  EXPECT_TRUE(kubelet_flags({"kubelet"}));
  EXPECT_EQ(kubelet_flags({"/hyperkube", "kubelet", "--a=1"}), (KubeletFlags{{"--a", "1"}}));
  EXPECT_FALSE(kubelet_flags({}));
  EXPECT_FALSE(kubelet_flags({"/usr/bin/kubelet-wrapper"}));
  EXPECT_FALSE(kubelet_flags({"grep", "-r", "kubelet"}));
}

TEST(KubeletFlags, ChangeTheConfiguration) {
  json config = {{"cpuManagerPolicy", "none"}, {"featureGates", {{"A", true}, {"B", true}}}};
  const auto applied =
      apply_flags({{"--cpu-manager-policy", "static"},
                   {"--cpu-manager-policy-options", "full-pcpus-only=true"},
                   {"--feature-gates", "B=false,C=1"},
                   {"--eviction-hard", "memory.available<100Mi"},
                   {"--cpu-cfs-quota", "false"},
                   {"--reserved-memory", "0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=1Gi"},
                   {"--node-ip", "::1"}},
                  config);
  ASSERT_TRUE(applied) << applied.error().message;
  EXPECT_EQ(config, json::parse(R"({
    "cpuManagerPolicy": "static",
    "cpuManagerPolicyOptions": {"full-pcpus-only": "true"},
    "featureGates": {"A": true, "B": false, "C": true},
    "evictionHard": {"memory.available": "100Mi"},
    "cpuCFSQuota": false,
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi", "hugepages-1Gi": "2Gi"}},
                       {"numaNode": 1, "limits": {"memory": "1Gi"}}]})"));
}

TEST(KubeletFlags, MayHaveUnderscoresInTheirNames) {
  EXPECT_EQ(kubelet_flags({"kubelet", "--cpu_manager_policy=static", "-reserved_cpus", "0_1"}),
            (KubeletFlags{{"--cpu-manager-policy", "static"}, {"--reserved-cpus", "0_1"}}));
  EXPECT_EQ(flags_of_args({"cpu_manager_policy=static"}),
            (KubeletFlags{{"--cpu-manager-policy", "static"}}));
}

TEST(KubeletFlags, LimitPods) {
  json config = json::object();
  ASSERT_TRUE(apply_flags({{"--max-pods", "2"}, {"--pods-per-core", "1"}}, config));
  EXPECT_EQ(config, (json{{"maxPods", 2}, {"podsPerCore", 1}}));
}

TEST(KubeletFlags, ThatNoKubeletKnowsPreventItsStart) {
  const auto misspelt = check_flags({{"--cpu-manager-polcy", "static"}});
  ASSERT_FALSE(misspelt);
  EXPECT_EQ(misspelt.error().message,
            "unknown flag '--cpu-manager-polcy', which prevents a kubelet's start, did you mean "
            "'--cpu-manager-policy'?");
  EXPECT_TRUE(check_flags({{"--qos-reserved", "memory=50%"}, {"--node-labels", "a=b"}}));
}

TEST(KubeletFlags, NameAValueThatIsNone) {
  for (const auto& [name, value] : KubeletFlags{{"--cpu-cfs-quota", "perhaps"},
                                                {"--system-reserved", "cpu"},
                                                {"--feature-gates", "A=perhaps"},
                                                {"--reserved-memory", "memory=1Gi"}}) {
    json config = json::object();
    const auto applied = apply_flags({{name, value}}, config);
    ASSERT_FALSE(applied) << name;
    EXPECT_THAT(applied.error().message,
                HasSubstr("flag '" + name + "': '" + value + "': expected"));
  }
}

}  // namespace
}  // namespace pinfold
