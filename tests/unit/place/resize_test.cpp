#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pinfold/place/cpu_policy.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold::place {
namespace {

using Machine = std::vector<CpuPlace>;

/// 4 cores of two threads.
Machine one_socket() {
  Machine cpus;
  for (int i = 0; i < 8; ++i) cpus.push_back({i, i % 4, 0, 0, 0});
  return cpus;
}
/// 6 cores of two threads; odd CPUs are on socket 1.
Machine two_sockets() {
  Machine cpus;
  for (int i = 0; i < 12; ++i) cpus.push_back({i, i % 6, i % 2, i % 2, i % 2});
  return cpus;
}
Machine two_sockets_without_threads() {
  Machine cpus;
  for (int i = 0; i < 8; ++i) cpus.push_back({i, i, i / 4, i / 4, i / 4});
  return cpus;
}
/// 40 cores of two threads, on two sockets of two NUMA nodes each.
Machine four_numa_nodes() {
  Machine cpus;
  for (int i = 0; i < 80; ++i) {
    const int core = i % 40;
    cpus.push_back({i, core, core / 20, core / 10, core / 20});
  }
  return cpus;
}
/// 128 cores of two threads, on two sockets of four NUMA nodes each.
Machine eight_numa_nodes() {
  Machine cpus;
  for (int i = 0; i < 256; ++i) {
    const int core = i % 128;
    cpus.push_back({i, core, core / 64, core / 16, core / 64});
  }
  return cpus;
}
/// 8 cores of two threads; 4 cores share a cache.
Machine two_caches() {
  Machine cpus;
  for (int i = 0; i < 16; ++i) cpus.push_back({i, i % 8, 0, 0, i % 8 / 4});
  return cpus;
}
/// 16 cores of one thread; 4 share a cache.
Machine four_caches() {
  Machine cpus;
  for (int i = 0; i < 16; ++i) cpus.push_back({i, i, 0, 0, i / 4});
  return cpus;
}

struct Case {
  Machine (*machine)();
  const char* free;  ///< including the current ones
  const char* current;
  const char* baseline;
  int count;
  const char* result;
  CpuPolicyOptions options = {};
};

CpuSet parsed(const char* list) { return CpuSet::parse(list).value(); }

Cpus words_of(const CpuSet& cpus, const CpuTree& tree, Arena& arena) {
  const Cpus words = arena.make<Word>(tree.words());
  for (const CpuId cpu : cpus) insert(words, cpu.value);
  return words;
}

/// The quirks of the proposed code. Its tests predate kubernetes#140766, which spreads over cores
/// and not by number.
Quirks proposed() {
  Quirks quirks = quirks_of(Profile::kKubelet138);
  quirks.cores_spread_by_cpu_number = true;
  return quirks;
}

std::string resized(const Case& c, const Quirks& quirks = proposed()) {
  const Machine machine = c.machine();
  int numa = 0;
  for (const CpuPlace& cpu : machine) numa = std::max(numa, cpu.numa + 1);
  const CpuTree tree(machine, numa);
  const CpuPolicy policy(tree, c.options, quirks, NumaMask::kMaxNodes);
  HeapArena memory(policy.bytes() + 4096);
  Arena& arena = memory.arena();
  const Cpus shared = words_of(parsed(c.free) - parsed(c.current), tree, arena);
  const CpuResize request{c.count, words_of(parsed(c.current), tree, arena),
                          words_of(parsed(c.baseline), tree, arena)};
  const Taken taken = policy.resize(shared, request, arena, nullptr);
  if (!taken) return "none";
  CpuSet cpus;
  for_each_cpu(*taken, [&](std::int32_t cpu) { cpus.insert(CpuId{cpu}); });
  return cpus.to_string();
}

// Source: the tests of the code proposed for Kubernetes 1.38 (kubernetes#140629).
TEST(Resize, ChoosesAsTheProposedKubelet) {
  const CpuPolicyOptions spread = {.distribute_cpus_across_cores = true};
  const CpuPolicyOptions by_cache = {.prefer_align_cpus_by_uncorecache = true};
  for (const Case& c : std::vector<Case>{
           {one_socket, "0,2,4,6", "0", "0", 5, "none"},
           {one_socket, "0-7", "0", "0", 1, "0"},
           {one_socket, "0-7", "0", "0", 2, "0,4"},
           {one_socket, "0,1,3,5-7", "0", "0", 2, "0,6"},
           {one_socket, "0,1,3,5-7", "0", "0", 3, "0-1,5"},
           {one_socket, "0-7", "0", "0", 8, "0-7"},
           {two_sockets, "0-11", "11", "11", 2, "5,11"},
           {two_sockets, "0-11", "11", "11", 6, "1,3,5,7,9,11"},
           {two_sockets, "0-11", "11", "11", 8, "0-1,3,5-7,9,11"},
           {four_numa_nodes, "0-79", "39", "39", 40, "20-39,60-79"},
           {four_numa_nodes, "0-79", "39", "39", 20, "30-39,70-79"},
           {four_numa_nodes, "0-79", "39,59", "39,59", 60, "0-19,30-59,70-79"},
           {four_numa_nodes, "0-69", "39", "39", 40, "0-8,20-30,39-48,60-69"},
           {four_numa_nodes, "0-69", "39", "39", 41, "0-19,39-59"},
           {one_socket, "0-7", "7", "7", 3, "0-1,7", spread},
           {two_sockets, "0-11", "11", "11", 3, "1,3,11", spread},
           {two_sockets, "0-11", "11", "11", 6, "1,3,5,7,9,11", spread},
           {two_sockets, "0-11", "11", "11", 8, "0-3,5,7,9,11", spread},
           {two_sockets_without_threads, "0-7", "7", "7", 2, "4,7", spread},
           {four_numa_nodes, "0-79", "39", "39", 8, "20-26,39", spread},
           {four_numa_nodes, "0-69", "39", "39", 40, "0-9,20-39,60-69", spread},
           {four_caches, "2-15", "8-9", "8-9", 8, "4-11", by_cache},
           {two_caches, "0-15", "4-6", "4-6", 8, "4-7,12-15", by_cache},
           {two_caches, "3-7,11-15", "3-7,11-15", "4-6", 8, "4-7,12-15", by_cache},
       }) {
    EXPECT_EQ(resized(c), c.result) << c.free << " of " << c.current << " to " << c.count;
  }
}

// Both keep CPU 8 and the core of CPUs 1 and 9. The fourth is on a core with one thread left, or in
// the same cache.
TEST(Resize, TheProposedKubeletLooksAtCachesOnlyWithTheirOption) {
  const CpuPolicyOptions by_cache = {.prefer_align_cpus_by_uncorecache = true};
  EXPECT_EQ(resized({two_caches, "1-14", "1-14", "8", 4, "1,7-9"}), "1,7-9");
  EXPECT_EQ(resized({two_caches, "1-14", "1-14", "8", 4, "1-2,8-9", by_cache}), "1-2,8-9");
}

TEST(Resize, SplitsTheFewestCachesWithoutTheQuirk) {
  const Quirks fixed = quirks_of(Profile::kFixed);
  const auto becomes = [&](Machine (*machine)(), const char* current, const char* baseline,
                           int count, const char* result) {
    const Case c{machine, current, current, baseline, count, result};
    EXPECT_EQ(resized(c, fixed), result) << current << " with " << baseline << " to " << count;
  };
  becomes(two_caches, "1-14", "8", 4, "1-2,8-9");    // a CPU of the cache that it has
  becomes(two_caches, "0-15", "4", 8, "4-7,12-15");  // the whole of it
  // The rest of the core comes first, then the whole of a cache.
  becomes(two_caches, "0-15", "4,0", 4, "0,4,8,12");
  becomes(two_caches, "2-7,10-15", "4,12", 9, "2,4-7,12-15");
  // The cache that it has gives one; that of 8 to 11 becomes whole.
  becomes(four_caches, "0,4-5,8-14", "0", 5, "0,8-11");
  // No cache becomes whole: the smallest that has enough.
  becomes(four_caches, "0,4-6,8-9,12", "0", 3, "0,8-9");
  becomes(four_caches, "0,4-6,8-9,12", "0", 5, "0,4-6,12");
}

// Source: as above.
TEST(Resize, SpreadsOverNumaNodesAsTheProposedKubelet) {
  const CpuPolicyOptions apart = {.distribute_cpus_across_numa = true};
  CpuPolicyOptions cores_apart = apart;
  cores_apart.full_pcpus_only = true;
  for (const Case& c : std::vector<Case>{
           {two_sockets, "0-7", "0,2,4", "0,2,4", 10, "none", apart},
           {two_sockets, "0-11", "11", "11", 8, "0-2,5-8,11", apart},
           {four_numa_nodes, "0-79", "36-39,76-79", "36-39,76-79", 64,
            "0-7,10-17,20-27,30-33,36-47,50-57,60-67,70-73,76-79", apart},
           {four_numa_nodes, "0-2,10-12,20-22,30-32,40-41,50-51,60-61,70-71", "0-1", "0-1", 16,
            "0-1,10-11,20-21,30-31,40-41,50-51,60-61,70-71", apart},
           {two_sockets, "0-11", "11", "11", 1, "11", apart},
           {two_sockets, "0-11", "11", "11", 2, "5,11", apart},
           {four_numa_nodes, "0-79", "0-1", "0-1", 62,
            "0-7,10-17,20-27,30-37,40-47,50-57,60-66,70-76", apart},
           {four_numa_nodes, "0-79", "0-1", "0-1", 62,
            "0-7,10-17,20-27,30-36,40-47,50-57,60-67,70-76", cores_apart},
           {four_numa_nodes, "0-8,10-18,20-48,50-58,60-79", "0-1", "0-1", 62,
            "0-7,10-17,20-27,30-37,40-46,50-56,60-67,70-77", apart},
           {four_numa_nodes, "0-8,10-18,20-48,50-58,60-79", "0-1", "0-1", 62,
            "0-7,10-16,20-27,30-37,40-47,50-56,60-67,70-77", cores_apart},
           {four_numa_nodes, "0-3,10-13,20-23,30-36,40-43,50-53,60-63,70-76", "0-3", "0-3", 34,
            "0-3,10-13,20-23,30-34,40-43,50-53,60-63,70-74", apart},
           {eight_numa_nodes,
            "0,128,30-31,158-159,43-47,171-175,62-63,190-191,75-79,203-207,94,96,222-223,101-111,"
            "229-239,126-127,254-255",
            "43-46", "43-46", 28, "43-47,75-79,96,101-105,171-174,203-206,229-232", apart},
           {four_numa_nodes, "0-79", "0-7,40-47", "0-7,40-47", 48,
            "0-7,10-17,20-27,40-47,50-57,60-67", apart},
           // NUMA node 0 has more than its share, so nothing is spread.
           {four_numa_nodes, "0-79", "0-9,40-49", "0-9,40-49", 48, "0-23,40-63", apart},
           {four_numa_nodes, "1-29,32-39,41-69,72-79", "1-7,41-47", "1-7,41-47", 48,
            "1-8,10-17,20-27,41-48,50-57,60-67", apart},
           {four_numa_nodes, "2-29,31-39,42-69,71-79", "2-7,42-47", "2-7,42-47", 48,
            "2-17,20-27,42-57,60-67", apart},
           {four_numa_nodes, "0-79", "30,70", "30,70", 26, "20-26,30-36,60-65,70-75", apart},
           {four_numa_nodes, "0-79", "30,70", "30,70", 26, "20-25,30-36,60-65,70-76", cores_apart},
           {two_sockets, "0-7", "0,2,4", "0,2,4", 5, "0-2,4,7", apart},
           {four_numa_nodes, "0-79", "0-8,40-47", "0-8,40-47", 67,
            "0-8,10-18,20-28,30-37,40-47,50-57,60-67,70-77", apart},
           {four_numa_nodes, "0-79", "0-8,40-48", "0-8,40-48", 70,
            "0-8,10-18,20-28,30-37,40-48,50-58,60-68,70-77", cores_apart},
           {two_sockets, "0-11", "0-11", "11", 8, "0-2,5-8,11", apart},
           {two_sockets, "0-8", "0,2,4", "0,2,4", 5, "0,2,4,6,8", cores_apart},
       }) {
    EXPECT_EQ(resized(c), c.result) << c.free << " of " << c.current << " to " << c.count;
  }
}

}  // namespace
}  // namespace pinfold::place
