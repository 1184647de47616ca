#include "pinfold/enforce/control_values.hpp"

#include <gtest/gtest.h>

namespace pinfold::enforce {
namespace {

KernelFacts facts(CgroupVersion version) {
  KernelFacts facts;
  for (const Controller controller : kAllControllers) facts.controllers[controller] = version;
  facts.hugepage_sizes = {{"2MB", 2U << 20U}};
  return facts;
}

LinuxResources sample() {
  LinuxResources resources;
  resources.cpu_shares = 2048;
  resources.cpu_quota = 150'000;
  resources.cpu_period = 50'000;
  resources.memory_limit = 4096 * 10 + 1;
  resources.hugepage_limits = {{"2MB", 5U << 20U}, {"1GB", 0}};
  return resources;
}

TEST(Values, HaveTheFormThatCgroupV2Reports) {
  const Values expected = {{"cpu.max", "150000 50000"},
                           {"cpu.weight", "79"},
                           {"memory.max", "40960"},
                           {"hugetlb.2MB.max", "4194304"}};
  EXPECT_EQ(values_of(sample(), GroupLevel::kPod, facts(CgroupVersion::kV2)), expected);
}

TEST(Values, OfAContainerHaveTheWeightThatRuntimesWrite) {
  EXPECT_EQ(values_of(sample(), GroupLevel::kContainer, facts(CgroupVersion::kV2))["cpu.weight"],
            std::to_string(cpu_weight_runtime(2048)));
}

TEST(Values, HaveTheFormThatCgroupV1Reports) {
  const Values expected = {{"cpu.cfs_quota_us", "150000"},
                           {"cpu.cfs_period_us", "50000"},
                           {"cpu.shares", "2048"},
                           {"memory.limit_in_bytes", "40960"},
                           {"hugetlb.2MB.limit_in_bytes", "4194304"}};
  EXPECT_EQ(values_of(sample(), GroupLevel::kPod, facts(CgroupVersion::kV1)), expected);
}

TEST(Values, ProtectAndThrottleMemoryOnlyIfConfiguredAndOnCgroupV2) {
  LinuxResources resources = sample();
  resources.memory_qos = MemoryQos{8192 + 1, 0, 4096 * 9 + 4095};
  Values values = values_of(resources, GroupLevel::kContainer, facts(CgroupVersion::kV2));
  EXPECT_EQ(values["memory.min"], "8192");
  EXPECT_EQ(values["memory.low"], "0");
  EXPECT_EQ(values["memory.high"], "36864");
  resources.memory_qos->high.reset();
  values = values_of(resources, GroupLevel::kContainer, facts(CgroupVersion::kV2));
  EXPECT_EQ(values["memory.high"], "max");
  values = values_of(resources, GroupLevel::kContainer, facts(CgroupVersion::kV1));
  EXPECT_FALSE(values.contains("memory.high"));
}

TEST(Values, RecognizeEveryFormOfNoQuota) {
  for (const std::int64_t none : {std::int64_t{0}, std::int64_t{-1}}) {
    LinuxResources resources = sample();
    resources.cpu_quota = none;
    EXPECT_EQ(values_of(resources, GroupLevel::kPod, facts(CgroupVersion::kV2))["cpu.max"],
              "max 50000")
        << none;
    EXPECT_EQ(values_of(resources, GroupLevel::kPod, facts(CgroupVersion::kV1))["cpu.cfs_quota_us"],
              "-1")
        << none;
  }
  LinuxResources resources = sample();
  resources.cpu_quota.reset();
  EXPECT_FALSE(
      values_of(resources, GroupLevel::kPod, facts(CgroupVersion::kV2)).contains("cpu.max"));
}

TEST(Values, ClampSharesAsTheKernelDoes) {
  LinuxResources resources;
  resources.cpu_shares = 0;
  EXPECT_EQ(values_of(resources, GroupLevel::kPod, facts(CgroupVersion::kV1))["cpu.shares"], "2");
}

TEST(Values, OmitResourcesThatTheMachineLacks) {
  KernelFacts only_cpuset;
  only_cpuset.controllers = {{Controller::kCpuset, CgroupVersion::kV2}};
  EXPECT_EQ(values_of(sample(), GroupLevel::kPod, only_cpuset), Values{});
}

}  // namespace
}  // namespace pinfold::enforce
