#include "pinfold/types/named.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace pinfold {
namespace {

TEST(Named, CpusInOneNumber) {
  EXPECT_EQ(cpus_named(CpuSet{3}), "CPU 3");
  EXPECT_EQ(cpus_named(CpuSet{2, 3, 8}), "CPUs 2-3,8");
  EXPECT_EQ(cpus_named(CpuSet{}), "no CPUs");
  EXPECT_EQ(one_or_more(CpuSet{3}, "is", "are"), "is");
  EXPECT_EQ(one_or_more(CpuSet{2, 3}, "is", "are"), "are");
}

TEST(Named, NumaNodesInOneNumber) {
  EXPECT_EQ(numa_nodes_named(std::vector<std::int32_t>{1}), "NUMA node 1");
  EXPECT_EQ(numa_nodes_named(std::vector<std::int32_t>{0, 8}), "NUMA nodes 0,8");
  EXPECT_EQ(numa_nodes_named(CpuSet{1}), "NUMA node 1");
  EXPECT_EQ(numa_nodes_named(CpuSet{0, 1}), "NUMA nodes 0-1");
}

TEST(Named, BytesWithAUnit) {
  EXPECT_EQ(bytes_named(std::uint64_t{2} << 30U), "2Gi");
  EXPECT_EQ(bytes_named(0), "0 bytes");
  EXPECT_EQ(bytes_named(1500), "1500 bytes");
}

TEST(Named, ASingleNameIsNotHiddenBehindACount) {
  const std::vector<std::string> names = {"a", "b", "c", "d"};
  EXPECT_EQ(listed(first_named(names, 4, "more")), "a, b, c and d");
  EXPECT_EQ(listed(first_named(names, 3, "more")), "a, b, c and d");
  EXPECT_EQ(listed(first_named(names, 2, "more pods")), "a, b and 2 more pods");
  EXPECT_EQ(listed(first_named({"a", "b"}, 1, "more")), "a and b");
  EXPECT_EQ(listed(first_named({}, 1, "more")), "");
  EXPECT_EQ(some_named(names, 3), "a, b, c, d");
  EXPECT_EQ(some_named(names, 2), "a, b and 2 more");
}

}  // namespace
}  // namespace pinfold
