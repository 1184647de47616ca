#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pinfold/memory/memory_manager.hpp"

/// Short ways to write machines and pods in tests of the memory manager: amounts in GiB.
namespace pinfold::memory_test {

inline constexpr std::uint64_t kGi = std::uint64_t{1} << 30;

struct NodeSpec {
  std::int32_t id = 0;
  std::uint64_t gib = 0;
  std::map<std::string, std::uint64_t> hugepages;  ///< bytes
};

inline Machine machine_of(const std::vector<NodeSpec>& nodes) {
  MachineDescription description;
  description.name = "test";
  std::int32_t cpu = 0;
  for (const NodeSpec& node : nodes) {
    description.numa_nodes.push_back({.id = NumaId{node.id},
                                      .memory = node.gib * kGi,
                                      .hugepages = node.hugepages,
                                      .distances = {}});
    description.cpus.push_back({.id = CpuId{cpu},
                                .core = CoreId{cpu},
                                .socket = SocketId{0},
                                .numa = NumaId{node.id},
                                .l3 = CacheId{0}});
    ++cpu;
  }
  auto machine = Machine::make(std::move(description));
  EXPECT_TRUE(machine) << (machine ? "" : machine.error().message);
  return *machine;
}

/// Returns a machine with nodes 0 to count - 1 of equal size.
inline Machine even_machine(int count, std::uint64_t gib) {
  std::vector<NodeSpec> nodes;
  for (std::int32_t id = 0; id < count; ++id)
    nodes.push_back({.id = id, .gib = gib, .hugepages = {}});
  return machine_of(nodes);
}

inline Config static_config(Profile profile = Profile::kFixed) {
  Config config;
  config.memory_manager_policy = "Static";
  config.profile = profile;
  config.reserved_memory = {{.numa_node = 0, .limits = {{"memory", "1Gi"}}}};
  return config;
}

inline NodeReservation reservation_of(const std::string& memory = "1Gi") {
  NodeReservation reservation;
  reservation.amounts["memory"] = *Quantity::parse(memory);
  return reservation;
}

inline Container container_of(const std::string& name,
                              const std::map<std::string, std::string>& amounts,
                              ContainerKind kind = ContainerKind::kApp) {
  Container container{.name = name, .kind = kind, .resources = {}};
  for (const auto& [resource, text] : amounts) {
    container.resources.requests[resource] = *Quantity::parse(text);
  }
  container.resources.requests.emplace("cpu", Quantity::milli(1000));
  container.resources.limits = container.resources.requests;
  return container;
}

inline PodSpec pod_of(const std::string& uid, std::vector<Container> containers) {
  return {.uid = PodUid(uid),
          .name = uid,
          .namespace_name = "default",
          .containers = std::move(containers),
          .resources = std::nullopt};
}

/// A memory manager on a machine, with its state after starting.
struct Node {
  Machine machine;
  MemoryManager manager;
  MemoryState state;

  explicit Node(Machine of, const Config& config = static_config(),
                const NodeReservation& reservation = reservation_of())
      : machine(std::move(of)), manager(make(config, reservation)) {
    const auto started = manager.start(state);
    EXPECT_TRUE(started) << (started ? "" : started.error().message);
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// Allocates for each container in turn; returns the message of the first rejection, or "".
  std::string admit(const PodSpec& pod, const TopologyHint& affinity = {}) {
    for (const Container& container : pod.containers) {
      const auto done = manager.allocate(state, pod, container, affinity, nullptr);
      if (!done) return done.error().message;
    }
    return {};
  }

  [[nodiscard]] const MemoryTable& table(std::int32_t node,
                                         const std::string& resource = "memory") const {
    return state.machine_state.at(node).tables.at(resource);
  }

 private:
  [[nodiscard]] MemoryManager make(const Config& config, const NodeReservation& reservation) const {
    auto made = MemoryManager::make(machine, config, reservation);
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    return *made;
  }
};

/// Returns "0,1* 0-1": masks in order, preferred ones with a star; "none" without a list.
inline std::string print(const ResourceHints& hints, const std::string& resource = "memory") {
  const auto found = hints.find(resource);
  if (found == hints.end() || !found->second) return "none";
  std::string text;
  for (const TopologyHint& hint : *found->second) {
    if (!text.empty()) text += ' ';
    text += hint.numa ? hint.numa->to_string() : "any";
    if (hint.preferred) text += '*';
  }
  return text;
}

inline TopologyHint hint_of(std::uint64_t mask, bool preferred = true) {
  return {NumaMask(mask), preferred};
}

}  // namespace pinfold::memory_test
