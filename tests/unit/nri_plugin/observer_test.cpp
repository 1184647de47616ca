#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "pinfold/nri_plugin/premises.hpp"
#include "runtime_world.hpp"

namespace pinfold::nri {
namespace {

using test::exclusive;
using test::RuntimeWorld;
using test::shared;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(NriObserver, DecidesAndChangesNothing) {
  RuntimeWorld world(enforce::CgroupVersion::kV2, service::NriMode::kObserve);
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  for (const PodSpec& spec : {a, b}) {
    world.run_sandbox(spec);
    const auto answer = world.create(spec);
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->ByteSizeLong(), 0U);
    world.kernel.log.clear();
    ASSERT_TRUE(world.start(spec).has_value());
  }
  EXPECT_EQ(world.cpus(a), "0-7");
  EXPECT_EQ(world.cpus(b), "0-7");
  EXPECT_THAT(world.agent->state().node.pods, IsEmpty());
  EXPECT_EQ(world.follower->counters().differences, 2U);
  EXPECT_THAT(world.follower->updates(*world.agent, 4), IsEmpty());

  world.kernel.find(world.group(b))->files["cpuset.cpus"] = "1-2";
  world.follower->look(*world.agent);
  EXPECT_EQ(world.follower->counters().differences, 1U);
  world.stop(b);
  world.remove_sandbox(b);
  world.follower->look(*world.agent);
  EXPECT_EQ(world.follower->counters().differences, 0U) << "the whole machine is the pool again";
}

TEST(NriObserver, CreatesWhatItWouldReject) {
  RuntimeWorld world(enforce::CgroupVersion::kV2, service::NriMode::kObserve);
  const PodSpec big = exclusive("big", 9);
  world.run_sandbox(big);
  EXPECT_TRUE(world.create(big).has_value());
  EXPECT_THAT(world.log, testing::Contains(HasSubstr("pod 'default/big' would be rejected")));
}

TEST(NriPremises, RefusesAKubeletWithTheStaticPolicy) {
  const pinfold::test::TempDir root;
  EXPECT_TRUE(check_kubelet(root.path()).has_value()) << "no kubelet";
  root.write("cpu_manager_state", R"({"policyName":"none","defaultCpuSet":"","checksum":1})");
  EXPECT_TRUE(check_kubelet(root.path()).has_value());
  root.write("cpu_manager_state", R"({"policyName":"static","defaultCpuSet":"0","checksum":1})");
  EXPECT_THAT(check_kubelet(root.path()).error().message, HasSubstr("cpuManagerPolicy: none"));
}

TEST(NriPremises, FindsTheMountOfADirectory) {
  EXPECT_EQ(cgroup_mount_of("/nowhere/at/all").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace pinfold::nri
