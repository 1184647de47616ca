#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "pinfold/decide/decide.hpp"

/// Short ways to write a whole node: every NUMA node is a socket with `cpus` single-threaded CPUs,
/// `gib` of memory, and the devices listed in `devices` for its position.
namespace pinfold::test {

struct NodeShape {
  int numa = 2;
  int cpus = 8;
  int gib = 16;
  std::map<std::string, std::vector<int>> devices = {};  ///< resource to devices per NUMA node
  std::vector<std::vector<std::uint32_t>> distances = {};
};

inline Machine machine_of(const NodeShape& shape) {
  MachineDescription description;
  for (int numa = 0; numa < shape.numa; ++numa) {
    for (int i = 0; i < shape.cpus; ++i) {
      const int id = numa * shape.cpus + i;
      description.cpus.push_back(
          {CpuId{id}, CoreId{id}, SocketId{numa}, NumaId{numa}, CacheId{numa}});
    }
    NumaNode node;
    node.id = NumaId{numa};
    node.memory = static_cast<std::uint64_t>(shape.gib) << 30U;
    if (!shape.distances.empty()) node.distances = shape.distances[static_cast<std::size_t>(numa)];
    description.numa_nodes.push_back(node);
  }
  for (const auto& [resource, counts] : shape.devices) {
    int number = 0;
    for (std::size_t numa = 0; numa < counts.size(); ++numa) {
      for (int i = 0; i < counts[numa]; ++i) {
        description.devices.push_back({resource,
                                       "dev-" + std::to_string(number++),
                                       {NumaId{static_cast<std::int32_t>(numa)}}});
      }
    }
  }
  return Machine::make(std::move(description)).value();
}

/// Returns a configuration with the static CPU manager, only CPU 0 reserved, and the memory manager
/// None.
inline Config aligning_config(const std::string& policy, const std::string& scope = "container") {
  Config config;
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = "0";
  config.eviction_hard.emplace();
  config.topology_manager_policy = policy;
  config.topology_manager_scope = scope;
  return config;
}

/// Sets the memory manager to Static, with 1Gi reserved on NUMA node 0.
inline Config with_memory_manager(Config config) {
  config.memory_manager_policy = "Static";
  config.kube_reserved["memory"] = "1Gi";
  config.reserved_memory = {{0, {{"memory", "1Gi"}}}};
  return config;
}

using Amounts = std::map<std::string, std::string>;

/// Returns a container whose requests equal its limits.
inline Container container(std::string name, const Amounts& amounts,
                           ContainerKind kind = ContainerKind::kApp) {
  Container made;
  made.name = std::move(name);
  made.kind = kind;
  for (const auto& [resource, text] : amounts) {
    made.resources.requests[resource] = Quantity::parse(text).value();
  }
  made.resources.limits = made.resources.requests;
  return made;
}

inline PodSpec pod_of(const std::string& uid, std::vector<Container> containers) {
  PodSpec made;
  made.uid = PodUid(uid);
  made.name = uid;
  made.namespace_name = "default";
  made.containers = std::move(containers);
  return made;
}
inline PodSpec pod(const std::string& uid, const Amounts& amounts) {
  return pod_of(uid, {container("c", amounts)});
}

/// A node that admits pods.
class TestNode {
 public:
  TestNode(const NodeShape& shape, const Config& config)
      : node_(Node::make(machine_of(shape), config).value()) {
    if (!node_.cpu().start(state_.cpu) || !node_.memory().start(state_.memory)) {
      throw std::logic_error("a node of the tests must start");
    }
  }

  /// Returns "" if the pod is admitted, otherwise the reason for the rejection.
  std::string admit(const PodSpec& spec) {
    Decision decision = decide(node_, state_, spec);
    if (auto* const rejected = std::get_if<Rejected>(&decision)) {
      state_ = std::move(rejected->next);
      hints_ = std::move(rejected->hints);
      return rejected->why.reason;
    }
    state_ = std::move(std::get<Admitted>(decision).next);
    hints_ = std::move(std::get<Admitted>(decision).hints);
    return "";
  }

  void remove(const std::string& uid) {
    state_ = remove_pod(node_, std::move(state_), PodUid(uid));
  }

  [[nodiscard]] ContainerResources of(const std::string& uid, const std::string& name = "c") const {
    return container_resources(node_, state_, {PodUid(uid), name}).value();
  }
  /// Returns the affinity stored for a container: "0+" preferred, "0-1-" not, "any+" none stored.
  [[nodiscard]] std::string affinity(const std::string& uid, const std::string& name = "c") const {
    const TopologyHint hint = of(uid, name).affinity;
    return (hint.numa ? hint.numa->to_string() : "any") + (hint.preferred ? "+" : "-");
  }
  /// Returns the NUMA nodes of a container's CPUs, as a list.
  [[nodiscard]] std::string cpu_nodes(const std::string& uid, const std::string& name = "c") const {
    NumaMask mask;
    for (int i = 0; i < node_.machine().numa_count(); ++i) {
      const CpuSet cpus = of(uid, name).cpus.value_or(CpuSet{});
      if (cpus.intersects(node_.machine().cpus_of_numa(i))) mask = mask | NumaMask::of(i);
    }
    return mask.to_string();
  }
  /// Returns the hints that were merged for the last pod; key "pod" or a container's name.
  [[nodiscard]] const HintsByObject& hints() const { return hints_; }
  [[nodiscard]] const Node& node() const { return node_; }
  [[nodiscard]] const NodeState& state() const { return state_; }

 private:
  Node node_;
  NodeState state_;
  HintsByObject hints_;
};

inline const char* const kAffinityError = "TopologyAffinityError";

}  // namespace pinfold::test
