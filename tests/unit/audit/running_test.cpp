#include "pinfold/audit/running.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kubelet_tree.hpp"
#include "pinfold/audit/observe.hpp"

namespace pinfold::audit {
namespace {

using checkpoint::RunningContainer;
using enforce::CgroupVersion;
using test::KubeletTree;
using test::Runtime;
using test::TreeKind;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

Observed observe_groups_of(const KubeletTree& tree) {
  return observe_containers(Tree::open(tree.path()).value(), "/var/lib/kubelet");
}

RunningContainer container(const char* pod, const char* name, const std::string& group,
                           CpuSet cpus) {
  return {.id = {PodUid(pod), name},
          .group = group,
          .is_known = true,
          .cpus = std::move(cpus),
          .mems = CpuSet{0, 1}};
}

class RunningOnANode : public testing::TestWithParam<TreeKind> {};

INSTANTIATE_TEST_SUITE_P(
    Nodes, RunningOnANode,
    testing::Values(TreeKind{Driver::kSystemd, CgroupVersion::kV2, Runtime::kContainerd},
                    TreeKind{Driver::kCgroupfs, CgroupVersion::kV2, Runtime::kContainerd},
                    TreeKind{Driver::kSystemd, CgroupVersion::kV1, Runtime::kCrio},
                    TreeKind{Driver::kCgroupfs, CgroupVersion::kV1, Runtime::kDocker}));

TEST_P(RunningOnANode, HaveTheSetsOfTheirGroups) {
  const KubeletTree tree(GetParam());
  tree.write_quota(tree.web(), 200000, 0);
  const std::string mount =
      tree.path() +
      (GetParam().version == CgroupVersion::kV2 ? "/sys/fs/cgroup/" : "/sys/fs/cgroup/cpuset/");
  RunningContainer web = container(KubeletTree::kWebUid, "app", mount + tree.web(), CpuSet{2, 3});
  web.limit_milli_cpu = 2000;
  RunningContainer log =
      container(KubeletTree::kLogUid, "agent", mount + tree.log(), CpuSet{0, 1, 6, 7});
  log.qos = QosClass::kBurstable;
  const std::string db =
      tree.container_group(tree.pod_group(KubeletTree::kDbUid, ""), KubeletTree::db_id());
  EXPECT_THAT(running_containers(observe_groups_of(tree)),
              UnorderedElementsAre(
                  web, log, container(KubeletTree::kDbUid, "postgres", mount + db, CpuSet{4, 5})));
}

TEST(RunningContainers, AreOnlyThoseWithProcessesAndKnownByTheirDirectories) {
  const KubeletTree tree;
  tree.write_group(tree.web(), "2-3", "0-1", {});
  tree.dir().remove("var/lib/kubelet/pods");
  const auto running = running_containers(observe_groups_of(tree));
  ASSERT_EQ(running.size(), 2U);
  for (const RunningContainer& one : running) {
    EXPECT_NE(one.id.pod.value, KubeletTree::kWebUid);
    EXPECT_FALSE(one.is_known);
  }
}

TEST(RunningContainers, AreNoneWithoutControlGroups) {
  const KubeletTree tree;
  tree.dir().remove("sys/fs/cgroup");
  const Observed observed = observe_groups_of(tree);
  EXPECT_FALSE(observed.cgroups.version);
  EXPECT_THAT(running_containers(observed), IsEmpty());
}

}  // namespace
}  // namespace pinfold::audit
