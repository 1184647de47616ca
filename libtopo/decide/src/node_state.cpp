#include "pinfold/decide/node_state.hpp"

namespace pinfold {

const ActivePod* NodeState::find(const PodUid& pod) const {
  const auto found = pods.find(pod);
  return found == pods.end() ? nullptr : &*found;
}

PodRef ref_of(const NodeState& state, const PodUid& uid) {
  const ActivePod* const pod = state.find(uid);
  return pod == nullptr ? ref_of(state.held_names.names, uid) : ref_of(pod->spec);
}

NodeState empty_state(const Node& node) {
  NodeState state;
  // A start without state checks nothing, so it cannot fail.
  (void)node.cpu().start(state.cpu);
  (void)node.memory().start(state.memory);
  return state;
}

std::vector<ContainerId> containers_with_assignments(const NodeState& state, const PodUid& uid) {
  std::set<std::string> names;
  const auto add = [&](const auto* of_pod) {
    if (of_pod == nullptr) return;
    for (const auto& [name, value] : *of_pod) names.insert(name);
  };
  add(state.cpu.assignments.find(uid));
  add(state.memory.assignments.find(uid));
  std::vector<ContainerId> containers;
  containers.reserve(names.size());
  for (const std::string& name : names) containers.push_back({uid, name});
  return containers;
}

}  // namespace pinfold
