#include "pinfold/audit/memory_binding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "kubelet_tree.hpp"

namespace pinfold::audit {
namespace {

using enforce::NodeSet;
using testing::HasSubstr;

/// NUMA nodes 0 to 2 are online, but 2 has no memory; 3 is possible but offline.
NumaLists numa() { return {{0, 1, 2, 3}, {0, 1, 2}, {0, 1}}; }

TEST(JudgeBinding, LimitsNothingThatNothingLimits) {
  const MemoryBinding binding =
      judge_binding({"/cg/a", {{0, 1}, {0, 1}, {0, 1}}, {{"/cg/a", {}, {0, 1}}}, NodeSet{0, 1}});
  EXPECT_EQ(binding, (MemoryBinding{{0, 1}, {}}));
}

TEST(JudgeBinding, NamesNumaNodesWithoutMemoryAndOfflineOnes) {
  const MemoryBinding binding = judge_binding({"/cg", numa()});
  EXPECT_EQ(binding.numa_nodes, (NodeSet{0, 1}));
  ASSERT_EQ(binding.limits.size(), 2U);
  EXPECT_EQ(binding.limits[0].reason, BindingReason::kOffline);
  EXPECT_EQ(binding.limits[0].numa_nodes, NodeSet{3});
  EXPECT_EQ(binding.limits[1].reason, BindingReason::kWithoutMemory);
  EXPECT_EQ(binding.limits[1].numa_nodes, NodeSet{2});
}

TEST(JudgeBinding, NamesTheTopmostGroupThatLimits) {
  BindingFacts facts{"/cg/a/b/c", numa()};
  facts.groups = {{"/cg", {}, {0, 1}}, {"/cg/a", {1}, {1}}, {"/cg/a/b", {1}, {1}}};
  const MemoryBinding binding = judge_binding(facts);
  EXPECT_EQ(binding.numa_nodes, NodeSet{1});
  EXPECT_EQ(binding.limits.back(),
            (BindingLimit{{0}, BindingReason::kCgroup, "/cg/a", "cpuset.mems of '/cg/a' is 1"}));
}

TEST(JudgeBinding, AGroupMayHaveLessThanItsOwnCpuset) {
  BindingFacts facts{"/cg/a", numa()};
  facts.groups = {{"/cg/a", {0, 1}, {0}}};
  EXPECT_EQ(judge_binding(facts).limits.back().text, "the effective memory nodes of '/cg/a' are 0");
}

TEST(JudgeBinding, TheProcessCountsLast) {
  BindingFacts facts{"/cg/a", numa(), {{"/cg/a", {}, {0, 1}}}, NodeSet{0}};
  const MemoryBinding binding = judge_binding(facts);
  EXPECT_EQ(binding.numa_nodes, NodeSet{0});
  EXPECT_EQ(binding.limits.back().reason, BindingReason::kProcess);
  facts.groups = {{"/cg/a", {0}, {0}}};
  EXPECT_EQ(judge_binding(facts).limits.back().reason, BindingReason::kCgroup);
}

/// Bindings read from the groups of a kubelet's node.
class ReadBinding : public testing::TestWithParam<enforce::CgroupVersion> {
 protected:
  ReadBinding() : files_({Driver::kSystemd, GetParam(), test::Runtime::kContainerd}) {
    files_.write_group(files_.web(), "2-3", "1", {1001});
  }
  [[nodiscard]] std::string mount() const {
    return GetParam() == enforce::CgroupVersion::kV2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpuset";
  }
  [[nodiscard]] Tree tree() const { return *Tree::open(files_.path()); }

  test::KubeletTree files_;
};
INSTANTIATE_TEST_SUITE_P(Versions, ReadBinding,
                         testing::Values(enforce::CgroupVersion::kV1, enforce::CgroupVersion::kV2),
                         [](const auto& version) {
                           return version.param == enforce::CgroupVersion::kV2 ? "V2" : "V1";
                         });

TEST_P(ReadBinding, OfAProcess) {
  files_.dir().write("proc/1001/status",
                     "Name:\tapp\nCapEff:\t0000000000000000\nSeccomp:\t2\n"
                     "Mems_allowed_list:\t1\n");
  const auto directory = cpuset_directory(tree(), 1001);
  ASSERT_TRUE(directory) << directory.error().message;
  EXPECT_EQ(*directory, mount() + "/" + files_.web());
  const auto facts = read_binding(tree(), *directory, 1001);
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->numa.online, (NodeSet{0, 1}));
  EXPECT_EQ(facts->numa.with_memory, (NodeSet{0, 1})) << "from meminfo";
  EXPECT_EQ(facts->allowed, NodeSet{1});
  EXPECT_TRUE(facts->is_filtered);
  const MemoryBinding binding = judge_binding(*facts);
  EXPECT_EQ(binding.numa_nodes, NodeSet{1});
  ASSERT_EQ(binding.limits.size(), 1U);
  EXPECT_EQ(binding.limits[0].directory, *directory);
}

TEST_P(ReadBinding, OfAGroupHoweverItIsNamed) {
  const auto whole = read_binding(tree(), mount() + "/" + files_.web() + "/", std::nullopt);
  const auto relative = read_binding(tree(), "/" + files_.web(), std::nullopt);
  ASSERT_TRUE(whole) << whole.error().message;
  ASSERT_TRUE(relative) << relative.error().message;
  EXPECT_EQ(whole->directory, mount() + "/" + files_.web());
  EXPECT_EQ(relative->directory, whole->directory);
  EXPECT_EQ(judge_binding(*relative), judge_binding(*whole));
}

TEST_P(ReadBinding, AGroupAboveLimitsToo) {
  const std::string above = files_.pod_group(test::KubeletTree::kWebUid, "");
  files_.write_group(above, "0-7", "0", {});
  files_.write_group(files_.web(), "2-3", "0", {1001});
  const auto facts = read_binding(tree(), "/" + files_.web(), std::nullopt);
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(judge_binding(*facts).limits.back().directory, mount() + "/" + above);
}

TEST_P(ReadBinding, PrefersTheKernelsListOfNodesWithMemory) {
  files_.dir().write("sys/devices/system/node/has_memory", "0\n");
  files_.dir().write("sys/devices/system/node/possible", "0-3\n");
  const auto facts = read_binding(tree(), "/" + files_.log(), std::nullopt);
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(judge_binding(*facts).numa_nodes, NodeSet{0});
  EXPECT_EQ(facts->numa.possible, NodeSet::range(0, 3));
}

TEST_P(ReadBinding, SaysWhatDoesNotExist) {
  const auto process = cpuset_directory(tree(), 4711);
  ASSERT_FALSE(process);
  EXPECT_EQ(process.error().message, "process 4711: expected the id of a running process");
  const auto group = read_binding(tree(), "/kubepods/none", std::nullopt);
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(group.error().message, HasSubstr("cgroup '/kubepods/none': expected a directory"));
}

TEST(ReadBindingWithout, CpusetsIsUnsupported) {
  const test::TempDir dir;
  dir.write("proc/1/cgroup", "0::/\n");
  const auto tree = Tree::open(dir.path());
  ASSERT_TRUE(tree);
  const auto facts = read_binding(*tree, "/", std::nullopt);
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace pinfold::audit
