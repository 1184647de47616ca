#include "sequence.hpp"

#include <gtest/gtest.h>

#include <random>

#include "pinfold/checkpoint/kubelet_files.hpp"

namespace pinfold::checkpoint::testing {
namespace {

constexpr int kCpus = 16;
constexpr std::uint64_t kMemory = std::uint64_t{1} << 30U;

struct Node {
  CpuCheckpoint cpu;
  MemoryCheckpoint memory;
  std::vector<PodUid> pods;
  int admitted = 0;

  Node() {
    cpu.default_set = CpuSet::range(0, kCpus - 1);
    memory.machine_state[0] = {0, {{"memory", {kMemory, 0, kMemory, 0, kMemory}}}, {0}};
  }

  void admit(bool exclusive, bool with_memory) {
    const PodUid pod("pod-" + std::to_string(admitted++));
    pods.push_back(pod);
    if (exclusive && cpu.default_set.size() > 2) {
      const CpuSet taken = CpuSet::of(cpu.default_set.last());
      cpu.default_set -= taken;
      cpu.assignments[{pod, "c"}] = taken;
    }
    auto& table = memory.machine_state[0].tables["memory"];
    if (with_memory && table.free >= kMemory / 16) {
      table.free -= kMemory / 16;
      table.reserved += kMemory / 16;
      ++memory.machine_state[0].number_of_assignments;
      memory.assignments[{pod, "c"}] = {{{0}, "memory", kMemory / 16}};
    }
  }

  void remove(std::size_t index) {
    const PodUid pod = pods[index];
    pods.erase(pods.begin() + static_cast<std::ptrdiff_t>(index));
    for (const auto& [container, cpus] : cpu.assignments[pod]) cpu.default_set |= cpus;
    cpu.assignments.erase(pod);
    if (memory.assignments.erase(pod)) {
      auto& table = memory.machine_state[0].tables["memory"];
      table.free += kMemory / 16;
      table.reserved -= kMemory / 16;
      --memory.machine_state[0].number_of_assignments;
    }
  }

  [[nodiscard]] Files files() const {
    std::string names;
    for (const PodUid& pod : pods) names += pod.value + "\n";
    return {encode_cpu(cpu, "static", true), encode_memory(memory, "Static", true), names};
  }
};

}  // namespace

std::vector<Files> make_sequence(std::size_t count) {
  Node node;
  std::vector<Files> states = {node.files()};
  std::minstd_rand random(1);
  while (states.size() <= count) {
    const auto dice = random() % 10;
    if (node.pods.size() < 3 || (dice < 5 && node.pods.size() < 10)) {
      node.admit(dice != 0, dice % 2 == 0);
    } else if (dice < 9) {
      node.remove(random() % node.pods.size());
    }  // rejected: nothing changes
    states.push_back(node.files());
    expect_valid(states.back());
  }
  return states;
}

void expect_valid(const Files& files) {
  ASSERT_TRUE(files.cpu && files.memory && files.pods);
  const auto cpu = restore_cpu(*files.cpu, "static", true, {});
  ASSERT_TRUE(cpu) << cpu.error().message;
  const auto memory = restore_memory(*files.memory, "Static", true);
  ASSERT_TRUE(memory) << memory.error().message;
  CpuSet all = (*cpu)->default_set;
  std::size_t count = all.size();
  for (const auto& [pod, container, cpus] : (*cpu)->assignments) {
    all |= cpus;
    count += cpus.size();
  }
  EXPECT_EQ(all, CpuSet::range(0, kCpus - 1));
  EXPECT_EQ(count, all.size());
}

}  // namespace pinfold::checkpoint::testing
