#pragma once

#include <rapidcheck.h>

#include "node_fixture.hpp"
#include "pinfold/decide/decide.hpp"

/// States that a node reaches by admitting and removing pods with exclusive CPUs and memory,
/// pod-level resources, init containers and sidecars.
namespace pinfold::test {

struct StateConfig {
  bool pod_level = true;         ///< the gate PodLevelResourceManagers
  std::string scope = "pod";     ///< of the topology manager
  bool strict = false;           ///< strict-cpu-reservation
  std::string reserved = "0,8";  ///< CPUs
};

inline Config config_of(const StateConfig& wanted) {
  Config config = with_memory_manager(aligning_config("best-effort", wanted.scope));
  config.profile = Profile::kKubelet136;
  config.reserved_system_cpus = wanted.reserved;
  config.feature_gates["PodLevelResourceManagers"] = wanted.pod_level;
  if (wanted.strict) config.cpu_manager_policy_options["strict-cpu-reservation"] = "true";
  return config;
}

/// Returns a node with two NUMA nodes of 8 CPUs and 16 GiB.
inline Node node_of(const StateConfig& wanted, const NodeShape& shape = {}) {
  return std::move(*Node::make(machine_of(shape), config_of(wanted)));
}

inline Container any_container(const std::string& name) {
  const auto kind = *rc::gen::weightedElement<ContainerKind>(
      {{4, ContainerKind::kApp}, {1, ContainerKind::kInit}, {1, ContainerKind::kSidecar}});
  const int kinds_of_share = *rc::gen::inRange(0, 3);
  const std::string memory = std::to_string(*rc::gen::inRange(1, 4)) + "Gi";
  if (kinds_of_share == 0) return container(name, {{"cpu", "500m"}, {"memory", memory}}, kind);
  if (kinds_of_share == 1) return container(name, {}, kind);
  const std::string cpus = std::to_string(*rc::gen::inRange(1, 4));
  return container(name, {{"cpu", cpus}, {"memory", memory}}, kind);
}

inline PodSpec any_pod(const std::string& uid) {
  std::vector<Container> containers;
  const int count = *rc::gen::inRange(1, 5);
  for (int i = 0; i < count; ++i) containers.push_back(any_container("c" + std::to_string(i)));
  PodSpec spec = pod_of(uid, std::move(containers));
  if (*rc::gen::inRange(0, 3) != 0) {
    const Container whole =
        container("", {{"cpu", std::to_string(*rc::gen::inRange(1, 9))},
                       {"memory", std::to_string(*rc::gen::inRange(1, 12)) + "Gi"}});
    spec.resources = whole.resources;
  }
  return spec;
}

/// Returns the state after random events; the node itself could have written it.
inline NodeState any_state(const Node& node) {
  NodeState state = empty_state(node);
  const int events = *rc::gen::inRange(0, 12);
  for (int i = 0; i < events; ++i) {
    const int dice = *rc::gen::inRange(0, 4);
    if (dice == 0 && !state.pods.empty()) {
      const PodSpec pod = state.pods[*rc::gen::inRange<std::size_t>(0, state.pods.size())].spec;
      const auto& gone = pod.containers[*rc::gen::inRange<std::size_t>(0, pod.containers.size())];
      state = *rc::gen::arbitrary<bool>()
                  ? remove_pod(node, std::move(state), pod.uid)
                  : remove_container(node, std::move(state), {pod.uid, gone.name});
      continue;
    }
    const PodSpec pod = any_pod("pod-" + std::to_string(i));
    Decision decision = decide(node, std::move(state), pod);
    auto* const admitted = std::get_if<Admitted>(&decision);
    state = admitted != nullptr ? std::move(admitted->next)
                                : std::move(std::get<Rejected>(decision).next);
    if (admitted == nullptr) continue;
    for (const Container& container : pod.containers) {
      if (*rc::gen::inRange(0, 4) == 0) break;
      (void)start_in_place(node, state, {pod.uid, container.name});
    }
  }
  return release_stale(node, std::move(state));
}

}  // namespace pinfold::test
