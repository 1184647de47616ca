#include "pinfold/decide/decide.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tally.hpp"

namespace pinfold {
namespace {

Rejection affinity_error(const Node& node, const PodSpec& pod) {
  static constexpr const char* kReason = "TopologyAffinityError";
  if (!node.gates().pod_level_resource_managers || !pod.has_pod_level_resources()) {
    return {kReason, "Resources cannot be allocated with Topology locality"};
  }
  return {kReason, node.topology().scope() == TopologyScope::kPod
                       ? "Pod Scope pod with pod-level resources failed admission under pod-scope "
                         "topology manager"
                       : "Pod Scope pod with pod-level resources failed admission with a "
                         "container-level topology manager"};
}

// Every container with assignments that is not active.
template <class T>
std::vector<ContainerId> find_stale(const ContainerMap<T>& assignments, const NodeState& state) {
  std::vector<ContainerId> stale;
  for (const auto& [uid, containers] : assignments.by_pod()) {
    const ActivePod* const pod = state.find(uid);
    for (const auto& [name, value] : containers) {
      if (pod == nullptr || pod->spec.find(name) == nullptr) stale.push_back({uid, name});
    }
  }
  return stale;
}

void release_stale_cpus(const Node& node, NodeState& state) {
  for (const ContainerId& container : find_stale(state.cpu.assignments, state)) {
    node.cpu().remove_container(state.cpu, container);
  }
}

void release_stale_memory(const Node& node, NodeState& state) {
  for (const ContainerId& container : find_stale(state.memory.assignments, state)) {
    node.memory().remove_container(state.memory, container);
  }
}

bool is_fixed(const Node& node) { return node.config().profile == Profile::kFixed; }

// DEVIATION: under the profile `fixed` devices come back with their container, in the kubelet with
// the pod.
void release_stale_devices(const Node& node, NodeState& state) {
  for (const ContainerId& container : find_stale(state.devices.assignments, state)) {
    if (is_fixed(node) || state.find(container.pod) == nullptr) {
      node.devices().remove_container(state.devices, container);
    }
  }
}

// What a further provider remembers; nothing at first.
std::string remembered(const NodeState& state, const std::string& provider) {
  const auto found = state.providers.find(provider);
  return found == state.providers.end() ? std::string() : found->second;
}

void remember(NodeState& state, const std::string& provider, std::string memory) {
  if (memory.empty()) {
    state.providers.erase(provider);
  } else {
    state.providers[provider] = std::move(memory);
  }
}

void release_further(const Node& node, NodeState& state, const ContainerId& container) {
  for (const auto& provider : node.providers()) {
    std::string memory = remembered(state, provider->name());
    provider->release(memory, container);
    remember(state, provider->name(), std::move(memory));
  }
}

// One admission in progress: the state changes step by step, as the kubelet's does.
class Admitting {
 public:
  Admitting(const Node& node, NodeState& state, const PodSpec& pod, Trace* trace, Counts* counts)
      : node_(node), state_(state), pod_(pod), trace_(trace), tally_(node, state, pod, counts) {}

  Admission run() {
    tally_.offered();
    auto done = in_scope();
    if (!done) tally_.rejected();
    return done;
  }

  OfferedHints take_hints() { return std::move(hints_); }

 private:
  Admission in_scope() {
    // Each manager cleans up when it is first asked. Where hints are wanted that is at once; where
    // not, a container that an earlier manager refuses leaves what is stale in the later ones.
    cleans_late_ = node_.topology().policy() == TopologyPolicy::kNone && !is_fixed(node_);
    if (!cleans_late_) state_ = release_stale(node_, std::move(state_));
    if (node_.topology().policy() == TopologyPolicy::kNone) return each_container(nullptr);
    if (node_.topology().scope() == TopologyScope::kContainer) return in_container_scope();
    return in_pod_scope();
  }

  // The kubelet's order of providers, for hints as for allocation; further ones come last.
  using Offers = std::vector<ResourceHints>;

  Offers container_offers(const Container& container) {
    Offers offers;
    offers.push_back(node_.devices().container_hints(state_.devices, pod_, container));
    offers.push_back(node_.cpu().container_hints(state_.cpu, pod_, container));
    offers.push_back(node_.memory().container_hints(state_.memory, pod_, container));
    for (const auto& provider : node_.providers()) {
      offers.push_back(
          provider->container_hints(remembered(state_, provider->name()), pod_, container));
    }
    return offers;
  }

  Offers pod_offers() {
    Offers offers;
    offers.push_back(node_.devices().pod_hints(state_.devices, pod_));
    offers.push_back(node_.cpu().pod_hints(state_.cpu, pod_));
    offers.push_back(node_.memory().pod_hints(state_.memory, pod_));
    for (const auto& provider : node_.providers()) {
      offers.push_back(provider->pod_hints(remembered(state_, provider->name()), pod_));
    }
    return offers;
  }

  Admission in_container_scope() {
    for (const Container& container : pod_.containers) {
      const auto best = merge(container.name, container_offers(container));
      if (!best.admit) return refuse(&container);
      store(container, best.best);
      PINFOLD_TRY(allocate(container, best.best));
      tally_.aligned(&container);
    }
    return {};
  }

  Admission in_pod_scope() {
    const auto best = merge("pod", pod_offers());
    if (!best.admit) return refuse(nullptr);
    const bool as_a_whole =
        node_.gates().pod_level_resource_managers && pod_.has_pod_level_resources();
    auto done = as_a_whole ? allocate_pod(best.best) : each_container(&best.best);
    if (done) tally_.aligned(nullptr);
    return done;
  }

  Admission allocate_pod(const TopologyHint& affinity) {
    for (const Container& container : pod_.containers) store(container, affinity);
    tally_.begin(nullptr);
    auto cpus = node_.cpu().allocate_pod(state_.cpu, pod_, affinity, trace_);
    tally_.cpu_done(nullptr, cpus);
    if (!cpus) return cpus;
    auto memory = node_.memory().allocate_pod(state_.memory, pod_, affinity, trace_);
    tally_.memory_done(nullptr, memory);
    if (!memory) return memory;
    for (const Container& container : pod_.containers) {
      PINFOLD_TRY(allocate_further(container, affinity));
    }
    return {};
  }

  /// No affinity for a container, or (nullptr) for the pod.
  Admission refuse(const Container* container) {
    tally_.no_affinity(container);
    return tl::unexpected(affinity_error(node_, pod_));
  }

  // One affinity for all containers, or none at all.
  Admission each_container(const TopologyHint* affinity) {
    for (const Container& container : pod_.containers) {
      if (affinity != nullptr) store(container, *affinity);
      PINFOLD_TRY(allocate(container, affinity == nullptr ? TopologyHint{} : *affinity));
    }
    return {};
  }

  MergedHint merge(const std::string& object, Offers offers) {
    AllocationScores scores;
    if (node_.topology().options().prefer_most_allocated_numa_node) {
      if (node_.cpu().is_static()) scores.cpu = node_.cpu().allocation_scores(state_.cpu);
      if (node_.memory().is_static()) {
        scores.memory = node_.memory().allocation_scores(state_.memory);
      }
    }
    const MergedHint merged = node_.topology().merge(offers, scores, trace_, object);
    ResourceHints& all = hints_[object];
    for (ResourceHints& offer : offers) all.merge(offer);
    return merged;
  }

  void store(const Container& container, const TopologyHint& affinity) {
    state_.affinity[{pod_.uid, container.name}] = affinity;
  }

  Admission allocate(const Container& container, const TopologyHint& affinity) {
    if (cleans_late_) release_stale_devices(node_, state_);
    PINFOLD_TRY(node_.devices().allocate(state_.devices, pod_, container, affinity, trace_));
    if (cleans_late_) release_stale_cpus(node_, state_);
    tally_.begin(&container);
    auto cpus = node_.cpu().allocate(state_.cpu, pod_, container, affinity, trace_);
    tally_.cpu_done(&container, cpus);
    if (!cpus) return cpus;
    if (cleans_late_) release_stale_memory(node_, state_);
    auto memory = node_.memory().allocate(state_.memory, pod_, container, affinity, trace_);
    tally_.memory_done(&container, memory);
    if (!memory) return memory;
    return allocate_further(container, affinity);
  }

  Admission allocate_further(const Container& container, const TopologyHint& affinity) {
    for (const auto& provider : node_.providers()) {
      std::string memory = remembered(state_, provider->name());
      auto done = provider->allocate(memory, pod_, container, affinity);
      remember(state_, provider->name(), std::move(memory));
      if (trace_ != nullptr && !done) {
        trace_->add(provider->name(), container.name, done.error().message);
      }
      if (!done) return done;
    }
    return {};
  }

  const Node& node_;
  NodeState& state_;
  const PodSpec& pod_;
  Trace* trace_;
  Tally tally_;
  bool cleans_late_ = false;
  OfferedHints hints_;
};

auto find_pod(std::vector<ActivePod>& pods, const PodUid& uid) {
  return std::find_if(pods.begin(), pods.end(),
                      [&](const ActivePod& pod) { return pod.spec.uid == uid; });
}

void forget(const Node& node, NodeState& state, const ContainerId& container) {
  node.cpu().remove_container(state.cpu, container);
  node.memory().remove_container(state.memory, container);
  state.affinity.erase(container);
}

}  // namespace

const ActivePod* NodeState::find(const PodUid& pod) const {
  const auto found = std::find_if(pods.begin(), pods.end(), [&](const ActivePod& candidate) {
    return candidate.spec.uid == pod;
  });
  return found == pods.end() ? nullptr : &*found;
}

NodeState empty_state(const Node& node) {
  NodeState state;
  // Starting from nothing cannot fail: there is nothing to check.
  (void)node.cpu().start(state.cpu);
  (void)node.memory().start(state.memory);
  return state;
}

Decision decide(const Node& node, NodeState state, const PodSpec& pod, Trace* trace,
                Counts* counts) {
  // DEVIATION: a rejection changes nothing under the profile `fixed`.
  std::optional<NodeState> before;
  if (is_fixed(node)) before = state;

  if (const auto known = find_pod(state.pods, pod.uid); known != state.pods.end()) {
    for (const Container& container : known->spec.containers) {
      if (pod.find(container.name) == nullptr) {
        release_further(node, state, {pod.uid, container.name});
      }
    }
    known->spec = pod;
  } else {
    state.pods.push_back({pod, {}});
  }

  Admitting admitting(node, state, pod, trace, counts);
  if (auto done = admitting.run(); !done) {
    if (trace != nullptr) {
      trace->add("decision", "pod",
                 fmt::format("rejected, {}: {}", done.error().reason, done.error().message));
    }
    if (before)
      return Rejected{std::move(done).error(), std::move(*before), admitting.take_hints()};
    for (const Container& container : pod.containers) {
      release_further(node, state, {pod.uid, container.name});
    }
    state.pods.erase(find_pod(state.pods, pod.uid));
    return Rejected{std::move(done).error(), std::move(state), admitting.take_hints()};
  }
  return Admitted{std::move(state), admitting.take_hints()};
}

Result<void> start_in_place(const Node& node, NodeState& state, const ContainerId& container) {
  const auto pod = find_pod(state.pods, container.pod);
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
  pod->started.insert(container.name);
  node.memory().container_started(state.memory, pod->spec, container.name);
  return {};
}

Result<NodeState> start_container(const Node& node, NodeState state, const ContainerId& container) {
  PINFOLD_TRY(start_in_place(node, state, container));
  return state;
}

NodeState remove_container(const Node& node, NodeState state, const ContainerId& container) {
  forget(node, state, container);
  release_further(node, state, container);
  if (is_fixed(node)) node.devices().remove_container(state.devices, container);
  if (const auto pod = find_pod(state.pods, container.pod); pod != state.pods.end()) {
    pod->started.erase(container.name);
  }
  return state;
}

NodeState remove_pod(const Node& node, NodeState state, const PodUid& uid) {
  const auto pod = find_pod(state.pods, uid);
  if (pod == state.pods.end()) return state;
  for (const Container& container : pod->spec.containers) {
    const ContainerId id{uid, container.name};
    // DEVIATION: under the profile `fixed` all assignments go with the pod. The kubelet hears of
    // containers that ran; what others hold is stale until the next admission.
    if (is_fixed(node) || pod->started.contains(container.name)) forget(node, state, id);
    node.devices().remove_container(state.devices, id);
    release_further(node, state, id);
  }
  state.pods.erase(pod);
  return state;
}

NodeState release_stale(const Node& node, NodeState state) {
  release_stale_cpus(node, state);
  release_stale_memory(node, state);
  release_stale_devices(node, state);
  state.affinity.erase_if([&](const auto& entry) { return state.find(entry.pod) == nullptr; });
  return state;
}

}  // namespace pinfold
