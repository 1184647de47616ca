#include "pinfold/decide/decide.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "admission.hpp"
#include "pinfold/decide/allocatable.hpp"
#include "provider_states.hpp"

namespace pinfold {
namespace {

/// Releases a container's CPUs, memory and affinity.
void release_container(const Node& node, NodeState& state, const ContainerId& container) {
  node.cpu().remove_container(state.cpu, container);
  node.memory().remove_container(state.memory, container);
  state.affinity.erase(container);
}

}  // namespace

Decision decide(const Node& node, NodeState state, const PodSpec& pod, Trace* trace, Counts* counts,
                AdmissionChecks checks) {
  // QUIRK: the kubelet cannot roll back.
  std::optional<NodeState> before;
  if (!node.quirks().rejected_pod_keeps_resources) before = state;

  if (const auto known = state.pods.find(pod.uid); known != state.pods.end()) {
    const auto names = container_names(pod);
    for (const Container& container : known->spec.containers) {
      if (!names.contains(container.name)) {
        release_in_providers(node, state, {pod.uid, container.name});
      }
    }
    state.pods.replace_spec(known, pod);
    std::erase_if(state.pods.edit_started(state.pods.find(pod.uid)),
                  [&](const std::string& name) { return !names.contains(name); });
  } else {
    state.pods.push_back({pod, {}});
  }

  AdmissionInProgress admission(node, state, pod, trace, counts);
  auto done = admission.run();
  AdmissionStep step = admission.take_failed_step();
  if (done && checks == AdmissionChecks::kManagersAndRequests) {
    if (auto shortage = find_shortage(node, state.pods, pod, others_held(state, pod.uid))) {
      done = tl::unexpected(*std::move(shortage));
      step = AdmissionStep{"requests", "pod"};
    }
  }
  if (done) {
    state.held.erase(pod.uid);
    return Admitted{std::move(state), admission.take_hints(), admission.take_amounts()};
  }
  Rejection rejection = std::move(done).error();
  if (trace != nullptr) {
    trace->add("decision", "pod",
               fmt::format("rejected, {}: {}", rejection.reason, rejection.message));
  }
  if (before) {
    return Rejected{std::move(rejection), std::move(*before), admission.take_hints(),
                    admission.take_amounts(), std::move(step)};
  }
  for (const Container& container : pod.containers) {
    release_in_providers(node, state, {pod.uid, container.name});
  }
  state.pods.erase(state.pods.find(pod.uid));
  return Rejected{std::move(rejection), std::move(state), admission.take_hints(),
                  admission.take_amounts(), std::move(step)};
}

Result<void> start_in_place(const Node& node, NodeState& state, const ContainerId& container) {
  const auto pod = state.pods.find(container.pod);
  const Container* const spec = pod == state.pods.end() ? nullptr : pod->spec.find(container.name);
  if (spec == nullptr) {
    return fail(ErrorCode::kNotFound, fmt::format("no active pod '{}' with a container '{}'",
                                                  container.pod, container.name));
  }
  if (pod->started.contains(container.name)) return {};

  if (!state.devices.assignments.contains(container)) {
    const TopologyHint* const stored = state.affinity.find(container);
    const TopologyHint affinity = stored == nullptr ? TopologyHint{} : *stored;
    if (auto taken = node.devices().allocate(state.devices, pod->spec, *spec, affinity, nullptr);
        !taken) {
      return fail(ErrorCode::kBusy,
                  fmt::format("container {}: {}", container.name, taken.error().cause));
    }
  }
  node.memory().container_started(state.memory, pod->spec, container.name);
  state.pods.edit_started(pod).insert(container.name);
  return {};
}

Result<NodeState> start_container(const Node& node, NodeState state, const ContainerId& container) {
  PINFOLD_TRY(start_in_place(node, state, container));
  return state;
}

NodeState remove_container(const Node& node, NodeState state, const ContainerId& container) {
  release_container(node, state, container);
  release_in_providers(node, state, container);
  // QUIRK: without the quirk, devices are released with the container.
  if (!node.quirks().devices_return_with_pod) {
    node.devices().remove_container(state.devices, container);
  }
  if (const auto pod = state.pods.find(container.pod); pod != state.pods.end()) {
    state.pods.edit_started(pod).erase(container.name);
  }
  return state;
}

NodeState remove_pod(const Node& node, NodeState state, const PodUid& uid) {
  const auto pod = state.pods.find(uid);
  if (pod == state.pods.end()) {
    if (state.held.erase(uid) == 0) return state;
    for (const ContainerId& container : containers_with_assignments(state, uid)) {
      release_container(node, state, container);
    }
    return state;
  }
  for (const Container& container : pod->spec.containers) {
    const ContainerId id{uid, container.name};
    // QUIRK: the kubelet calls its managers only for containers that ran.
    if (!node.quirks().removed_pod_keeps_unstarted_containers ||
        pod->started.contains(container.name)) {
      release_container(node, state, id);
    }
    // QUIRK: the kubelet's device manager looks for removed pods only when another one
    // arrives.
    if (!node.quirks().removed_pod_keeps_devices) {
      node.devices().remove_container(state.devices, id);
    }
    release_in_providers(node, state, id);
  }
  state.pods.erase(pod);
  return state;
}

}  // namespace pinfold
