#include "limitations.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pinfold/decide/allocatable.hpp"
#include "pinfold/predict/pod_query.hpp"

namespace pinfold::test {
namespace {

using simulate::Arrival;

constexpr std::string_view kTopologyAffinityError = "TopologyAffinityError";

bool admits(const Node& node, const NodeState& state, const PodSpec& pod) {
  return std::holds_alternative<Admitted>(decide(node, state, pod));
}

/// True if the topology manager admits the pod, whether or not a later check rejects it.
bool passes(const Node& node, const NodeState& state, const PodSpec& pod) {
  const Decision decision = decide(node, state, pod);
  const auto* const rejected = std::get_if<Rejected>(&decision);
  return rejected == nullptr || rejected->why.reason != kTopologyAffinityError;
}

bool admits_by_zones(const Node& node, const NodeState& state, const PodSpec& pod,
                     std::vector<std::string> ignored = {}) {
  Fleet fleet(std::move(ignored));
  const std::size_t number = fleet.add(describe(node, release_stale(node, state), "node")).value();
  return PodQuery(fleet, pod).predict(number, ScoringStrategy::kLeastNumaNodes).admits();
}

bool passed(const Arrival& arrival) { return !is_topology_rejection(arrival); }

/// The node with a changed configuration; nullopt if it would not start.
template <class Change>
std::optional<Node> changed(const Node& node, Change&& change) {
  Config config = node.config();
  change(config);
  auto made = Node::make(node.machine(), std::move(config));
  if (!made) return std::nullopt;
  return std::move(*made);
}

/// The kubelet checks requests, but the observed managers do not. Domain: the prediction differs,
/// so for an admitted pod it is a rejection.
bool exceeds_node(const Arrival& arrival) {
  if (!arrival.expected.at("admitted").get<bool>()) return false;
  return find_shortage(arrival.node, arrival.state.pods, arrival.pod,
                       others_held(arrival.state, arrival.pod.uid))
      .has_value();
}

/// True if the prediction by zones is right once it ignores resources that the managers do not
/// align.
bool is_participation(const Arrival& arrival) {
  const bool unmanaged =
      arrival.pod.has_pod_level_resources() && !arrival.node.gates().pod_level_resource_managers;
  std::vector<std::string> ignored;
  if (!arrival.node.cpu().is_static() || unmanaged) ignored.emplace_back("cpu");
  if (!arrival.node.memory().is_static() || unmanaged) {
    ignored.emplace_back("memory");
    for (const NumaNode& numa : arrival.node.machine().numa_nodes()) {
      for (const auto& [size, bytes] : numa.hugepages) ignored.push_back(size);
    }
  }
  return !ignored.empty() && admits_by_zones(arrival.node, arrival.state, arrival.pod,
                                             std::move(ignored)) == passed(arrival);
}

/// The pod reduced to one of its containers.
PodSpec alone(const PodSpec& pod, const Container& container) {
  PodSpec reduced = pod;
  reduced.containers = {container};
  return reduced;
}

/// The pod reduced to the containers for which `stays` is true.
template <class Predicate>
PodSpec reduced(const PodSpec& pod, const Predicate& stays) {
  PodSpec out = pod;
  std::erase_if(out.containers, [&](const Container& container) { return !stays(container); });
  return out;
}

bool is_cpu_options(const Arrival& arrival) {
  const auto without = changed(arrival.node, [](Config& config) {
    config.cpu_manager_policy_options.erase("align-by-socket");
    config.cpu_manager_policy_options.erase("prefer-align-cpus-by-uncorecache");
  });
  return without && passes(*without, arrival.state, arrival.pod) != passed(arrival);
}

bool is_wide_devices(const Arrival& arrival) {
  const auto& devices = arrival.node.machine().devices();
  return std::any_of(devices.begin(), devices.end(), [&](const Device& device) {
    const auto& containers = arrival.pod.containers;
    return device.numa_nodes.size() > 1 &&
           std::any_of(containers.begin(), containers.end(), [&](const Container& container) {
             return container.resources.limits.contains(device.resource);
           });
  });
}

/// The state as if every NUMA node could be grouped with any other.
NodeState without_groups(const Arrival& arrival) {
  NodeState state = release_stale(arrival.node, arrival.state);
  for (auto& [id, node] : state.memory.machine_state) {
    node.number_of_assignments = 0;
    node.cells = {id};
  }
  return state;
}

/// True if the decision changes without groups of NUMA nodes.
bool is_memory_groups(const Arrival& arrival) {
  return passes(arrival.node, without_groups(arrival), arrival.pod) != passed(arrival);
}

std::optional<Node> fixed(const Node& node) {
  return changed(node, [](Config& config) { config.profile = Profile::kFixed; });
}

bool is_kubelet_bug(const Arrival& arrival) {
  const auto node = fixed(arrival.node);
  return node && passes(*node, arrival.state, arrival.pod) != passed(arrival);
}

/// True if the decision changes without the pod's init containers, whose memory the kubelet counts
/// for longer than they run.
bool is_init_containers(const Arrival& arrival) {
  const PodSpec rest = reduced(arrival.pod, [](const Container& container) {
    return container.kind != ContainerKind::kInit;
  });
  return rest.containers.size() < arrival.pod.containers.size() &&
         passes(arrival.node, arrival.state, rest) != passed(arrival);
}

/// True if each container alone is predicted right, and neither groups nor known bugs matter.
bool is_many_containers(const Arrival& arrival) {
  const auto& containers = arrival.pod.containers;
  const auto node = fixed(arrival.node);
  if (containers.size() < 2 || !node) return false;
  const NodeState state = without_groups(arrival);
  return std::all_of(containers.begin(), containers.end(), [&](const Container& container) {
    const PodSpec one = alone(arrival.pod, container);
    return passes(*node, state, one) == admits_by_zones(*node, state, one);
  });
}

}  // namespace

bool is_topology_rejection(const Arrival& arrival) {
  return arrival.expected.value("reason", "") == kTopologyAffinityError;
}

Compared compare_predictions(const Arrival& arrival) {
  return {arrival.expected.at("admitted").get<bool>(),
          admits(arrival.node, arrival.state, arrival.pod),
          admits_by_zones(arrival.node, arrival.state, arrival.pod)};
}

Cause explain_difference(const Arrival& arrival) {
  if (exceeds_node(arrival)) return Cause::kRequests;
  if (is_participation(arrival)) return Cause::kParticipation;
  if (is_wide_devices(arrival)) return Cause::kWideDevices;
  if (is_cpu_options(arrival)) return Cause::kCpuOptions;
  if (is_memory_groups(arrival)) return Cause::kMemoryGroups;
  if (is_kubelet_bug(arrival)) return Cause::kKubeletBug;
  if (is_init_containers(arrival)) return Cause::kInitContainers;
  if (is_many_containers(arrival)) return Cause::kManyContainers;
  return Cause::kNone;
}

}  // namespace pinfold::test
