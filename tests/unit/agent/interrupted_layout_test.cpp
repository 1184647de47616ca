#include <gtest/gtest.h>

#include "model_kernel.hpp"
#include "pinfold/agent/enforced_layout.hpp"

/// A restart after a reconfiguration that changes the reserved CPU. Before it, container 'p1/c' had
/// CPU 0 exclusively; after it, CPU 0 is the shared pool.
namespace pinfold::agent {
namespace {

using enforce::GroupName;
using enforce::Layout;
using test::ModelKernel;

const GroupName kFirst{PodUid("p1"), "c"};
const GroupName kSecond{PodUid("p2"), "c"};

void add_to(Layout& layout, const GroupName& name, const CpuSet& cpus, Isolation isolation) {
  layout[name.parent()].cpus |= cpus;
  layout[name].cpus = cpus;
  layout[name].isolation = isolation;
}

class InterruptedLayout : public testing::TestWithParam<enforce::CgroupVersion> {
 protected:
  InterruptedLayout() {
    add_to(desired_.earlier, kFirst, {0}, Isolation::kContainer);
    Desired on_shared_cpu;
    add_to(on_shared_cpu.layout, kFirst, {0}, Isolation::kHost);
    const auto applied = EnforcedLayout(kernel_.cgroups(), {}, nullptr).apply(on_shared_cpu);
    EXPECT_TRUE(applied.has_value()) << applied.error().message;
  }
  /// Applies the desired layout as a restarted agent does, and checks the kernel.
  void expect_applied() {
    const auto applied = EnforcedLayout(kernel_.cgroups(), {}, nullptr).apply(desired_);
    ASSERT_TRUE(applied.has_value()) << applied.error().message;
    for (const auto& [name, settings] : desired_.layout) {
      const auto* const group = kernel_.find(to_string(name));
      ASSERT_NE(group, nullptr) << name;
      EXPECT_EQ(kernel_.effective(*group, "cpuset.cpus"), settings.cpus) << name;
    }
  }

  ModelKernel kernel_{GetParam(), CpuSet::range(0, 3), CpuSet{0}};
  Desired desired_;
};

INSTANTIATE_TEST_SUITE_P(Cgroup, InterruptedLayout,
                         testing::Values(enforce::CgroupVersion::kV1, enforce::CgroupVersion::kV2),
                         [](const auto& version) {
                           return version.param == enforce::CgroupVersion::kV1 ? "V1" : "V2";
                         });

/// After a reboot, the agent's first start made the group on the shared CPU and was killed.
TEST_P(InterruptedLayout, AGroupWithoutProcessesKeepsNoEarlierCpus) {
  add_to(desired_.layout, kFirst, {1}, Isolation::kContainer);
  add_to(desired_.layout, kSecond, {2, 3}, Isolation::kContainer);
  expect_applied();
}

TEST_P(InterruptedLayout, AContainerOnItsDesiredSharedCpusKeepsNoEarlierOnes) {
  ASSERT_TRUE(kernel_.fs()->write(to_string(kFirst), "cgroup.procs", "4711").has_value());
  add_to(desired_.layout, kFirst, {0}, Isolation::kHost);
  add_to(desired_.layout, kSecond, {1, 2, 3}, Isolation::kContainer);
  expect_applied();
}

/// The container has been running there since before the reconfiguration.
TEST(ObservedIsolation, AContainerThatHasNotMovedYetKeepsItsEarlierCpus) {
  Layout desired;
  Layout earlier;
  Layout observed;
  add_to(desired, kFirst, {1}, Isolation::kContainer);
  add_to(earlier, kFirst, {0}, Isolation::kContainer);
  add_to(observed, kFirst, {0}, Isolation::kHost);
  mark_isolation(desired, earlier, observed);
  EXPECT_EQ(observed.at(kFirst).isolation, Isolation::kContainer);
}

}  // namespace
}  // namespace pinfold::agent
