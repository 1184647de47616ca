// For any sequence of pods, no byte is lost or allocated twice.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "memory_fixture.hpp"

namespace pinfold::memory_test {
namespace {

const std::vector<std::string> kSizes = {"hugepages-1Gi", "hugepages-2Mi"};

/// Uniform from the first case on; RapidCheck alone would begin with small values.
template <class T>
T draw(T low, T below) {
  return *rc::gen::resize(100, rc::gen::inRange<T>(low, below));
}

Machine any_machine() {
  std::vector<NodeSpec> nodes;
  const int count = draw(1, 6);
  for (int i = 0; i < count; ++i) {
    NodeSpec node{.id = i == 0 ? 0 : 3 * i - 1, .gib = draw<std::uint64_t>(3, 12), .hugepages = {}};
    for (const std::string& size : kSizes) {
      // Huge pages: size absent, size without pages, or 1 GiB.
      const int kind = draw(0, 4);
      if (kind > 0) node.hugepages[size] = kind == 1 ? 0 : kGi;
    }
    nodes.push_back(node);
  }
  nodes[0].gib += 2;  // holds the reservation
  return machine_of(nodes);
}

PodSpec any_pod(const std::string& uid) {
  PodSpec pod = pod_of(uid, {});
  const int inits = draw(0, 3);
  const int apps = draw(1, 3);
  for (int i = 0; i < inits + apps; ++i) {
    std::map<std::string, std::string> amounts;
    amounts["memory"] = std::to_string(draw(1, 14)) + "Gi";
    for (const std::string& size : kSizes) {
      if (draw(0, 4) == 0) amounts[size] = std::to_string(draw(1, 4) * 512) + "Mi";
    }
    const auto kind = i >= inits        ? ContainerKind::kApp
                      : draw(0, 2) == 0 ? ContainerKind::kInit
                                        : ContainerKind::kSidecar;
    pod.containers.push_back(container_of("c" + std::to_string(i), amounts, kind));
  }
  return pod;
}

/// An affinity as the topology manager may pass it: none, one of the hints, or any.
TopologyHint any_affinity(const Machine& machine, const ResourceHints& hints) {
  const int kind = draw(0, 4);
  const auto memory = hints.find("memory");
  if (kind == 0) return {};
  if (kind < 3 && memory != hints.end() && memory->second && !memory->second->empty()) {
    return (*memory->second)[draw<std::size_t>(0, memory->second->size())];
  }
  return hint_of(draw<std::uint64_t>(1, machine.all_numa().bits() + 1), draw(0, 2) == 0);
}

std::vector<MemoryBlock> all_blocks(const MemoryState& state) {
  std::vector<MemoryBlock> blocks;
  for (const auto& [pod, name, of_container] : state.assignments) {
    blocks.insert(blocks.end(), of_container.begin(), of_container.end());
  }
  return blocks;
}

void check_conservation(const MemoryState& state) {
  const std::vector<MemoryBlock> blocks = all_blocks(state);
  for (const auto& [id, node] : state.machine_state) {
    for (const auto& [type, table] : node.tables) {
      RC_ASSERT(table.free + table.reserved == table.allocatable);
      if (table.reserved == 0) continue;
      RC_ASSERT(std::any_of(blocks.begin(), blocks.end(), [&, node_id = id](const auto& block) {
        return std::count(block.numa_affinity.begin(), block.numa_affinity.end(), node_id) == 1;
      }));
    }
  }
  // The blocks of a group add up to what its NUMA nodes have allocated.
  for (const MemoryBlock& one : blocks) {
    std::uint64_t said = 0;
    for (const MemoryBlock& block : blocks) {
      if (block.numa_affinity == one.numa_affinity && block.type == one.type) said += block.size;
    }
    std::uint64_t given = 0;
    for (const std::int32_t id : one.numa_affinity) {
      const auto& tables = state.machine_state.at(id).tables;
      if (tables.contains(one.type)) given += tables.at(one.type).reserved;
    }
    RC_ASSERT(said == given);
  }
}

void check_groups(const MemoryState& state) {
  for (const MemoryBlock& a : all_blocks(state)) {
    for (const std::int32_t id : a.numa_affinity) {
      RC_ASSERT(state.machine_state.at(id).cells == a.numa_affinity);
    }
    for (const MemoryBlock& b : all_blocks(state)) {
      if (a.numa_affinity == b.numa_affinity) continue;
      for (const std::int32_t id : a.numa_affinity) {
        RC_ASSERT(std::count(b.numa_affinity.begin(), b.numa_affinity.end(), id) == 0);
      }
    }
  }
}

/// Admits as the kubelet does, container by container; a rejection changes nothing.
bool admit(Node& node, const PodSpec& pod) {
  const MemoryState before = node.state;
  for (const Container& container : pod.containers) {
    const auto hints = node.manager.container_hints(node.state, pod, container);
    const TopologyHint affinity = any_affinity(node.machine, hints);
    if (!node.manager.allocate(node.state, pod, container, affinity, nullptr)) {
      node.state = before;
      return false;
    }
    const auto* blocks = node.state.assignments.find({pod.uid, container.name});
    RC_ASSERT(blocks != nullptr);
    for (const MemoryBlock& block : *blocks) {
      if (!affinity.numa) continue;
      for (const std::int32_t id : node.machine.numa_ids(*affinity.numa)) {
        RC_ASSERT(std::count(block.numa_affinity.begin(), block.numa_affinity.end(), id) == 1);
      }
    }
    check_conservation(node.state);
  }
  return true;
}

RC_GTEST_PROP(MemoryProperty, IsConservedForAnySequenceOfPods, ()) {
  Node node(any_machine());
  const MemoryState fresh = node.state;
  std::vector<PodSpec> pods;
  const int steps = draw(1, 25);
  for (int step = 0; step < steps; ++step) {
    const int action = draw(0, 8);
    if (action < 4) {
      const PodSpec pod = any_pod("p" + std::to_string(step));
      if (admit(node, pod)) pods.push_back(pod);
    } else if (!pods.empty()) {
      const auto at = draw<std::size_t>(0, pods.size());
      const PodSpec pod = pods[at];
      if (action == 4) {
        for (const Container& c : pod.containers) {
          node.manager.container_started(node.state, pod, c.name);
        }
      } else if (action == 5) {
        node.manager.remove_container(node.state, {pod.uid, pod.containers[0].name});
      } else if (action == 6) {
        for (const Container& c : pod.containers) {
          node.manager.remove_container(node.state, {pod.uid, c.name});
        }
        pods.erase(pods.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        RC_ASSERT(node.manager.start(node.state).has_value());
        for (const Container& c : pod.containers) {  // is admitted again
          RC_ASSERT(node.manager.allocate(node.state, pod, c, {}, nullptr).has_value() ||
                    node.state.assignments.find({pod.uid, c.name}) == nullptr);
        }
      }
    }
    check_conservation(node.state);
    check_groups(node.state);
  }
  for (const PodSpec& pod : pods) {
    for (const Container& c : pod.containers) {
      node.manager.remove_container(node.state, {pod.uid, c.name});
    }
  }
  node.state.reusable.clear();
  RC_ASSERT(node.state == fresh);
}

/// Applies the documented rule, one mask after another.
std::vector<TopologyHint> naive_hints(const Node& node, const PodSpec& pod) {
  std::vector<TopologyHint> hints;
  const auto sum = [&](NumaMask mask, const std::string& type, auto field) {
    std::uint64_t total = 0;
    for (const std::int32_t id : node.machine.numa_ids(mask)) {
      const auto& tables = node.state.machine_state.at(id).tables;
      if (tables.contains(type)) total += tables.at(type).*field;
    }
    return total;
  };
  int width = node.machine.numa_count();
  for_each_mask(node.machine.numa_count(), [&](NumaMask mask) {
    const auto ids = node.machine.numa_ids(mask);
    bool could = true;
    bool can = true;
    for (const auto& [type, amount] : pod.containers[0].resources.requests) {
      if (type == "cpu") continue;
      const auto bytes = static_cast<std::uint64_t>(amount.value());
      could = could && sum(mask, type, &MemoryTable::allocatable) >= bytes;
      can = can && sum(mask, type, &MemoryTable::free) >= bytes;
    }
    if (!could) return;
    width = std::min(width, mask.count());
    for (const std::int32_t id : ids) {
      const NodeMemory& memory = node.state.machine_state.at(id);
      if (ids.size() == 1 ? memory.cells.size() > 1
                          : memory.number_of_assignments > 0 && memory.cells != ids) {
        return;
      }
    }
    if (can) hints.push_back({mask, false});
  });
  for (TopologyHint& hint : hints) hint.preferred = hint.numa->count() == width;
  return hints;
}

RC_GTEST_PROP(MemoryProperty, HintsFollowTheDocumentedRule, ()) {
  Node node(any_machine());
  for (int i = draw(0, 6); i > 0; --i) (void)admit(node, any_pod("p" + std::to_string(i)));
  const PodSpec pod = pod_of("x", {any_pod("x").containers.back()});
  const auto offered = node.manager.container_hints(node.state, pod, pod.containers[0]);
  const std::vector<TopologyHint> expected = naive_hints(node, pod);
  if (expected.empty()) {
    RC_ASSERT(offered.empty());
    RC_ASSERT(!node.admit(pod).empty());
    return;
  }
  for (const auto& [type, hints] : offered) {
    RC_ASSERT(hints.has_value());
    RC_ASSERT(*hints == expected);
  }
  // Without an affinity the best hint is used.
  const auto best = *std::min_element(expected.begin(), expected.end(), [](auto& a, auto& b) {
    return a.preferred != b.preferred ? a.preferred : a.numa->narrower_than(*b.numa);
  });
  RC_ASSERT(node.admit(pod).empty());
  RC_ASSERT(
      node.state.assignments.find({PodUid("x"), pod.containers[0].name})->front().numa_affinity ==
      node.machine.numa_ids(*best.numa));
}

}  // namespace
}  // namespace pinfold::memory_test
