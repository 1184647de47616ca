#include "admission.hpp"

#include "pinfold/align/explanation.hpp"
#include "pinfold/api/pod_level.hpp"
#include "pinfold/decide/stale.hpp"
#include "provider_states.hpp"

namespace pinfold {
namespace {

/// The index of the memory manager's hints; see pod_hints().
constexpr std::size_t kMemoryHints = 2;

// Sources of trace facts.
constexpr const char* kCpu = "cpu";
constexpr const char* kMemory = "memory";
constexpr const char* kDevices = "devices";

Rejection affinity_error(const Node& node, const PodSpec& pod) {
  static constexpr const char* kReason = "TopologyAffinityError";
  if (!is_managed_as_pod(node.gates(), pod)) {
    return {kReason, "Resources cannot be allocated with Topology locality"};
  }
  return {kReason, node.topology().scope() == TopologyScope::kPod
                       ? "Pod Scope pod with pod-level resources failed admission under pod-scope "
                         "topology manager"
                       : "Pod Scope pod with pod-level resources failed admission with a "
                         "container-level topology manager"};
}

/// Returns how much of each resource is assigned.
UsageByResource usage_of(const Node& node, const NodeState& state) {
  UsageByResource usage = node.memory().usage(state.memory);
  usage.merge(node.devices().usage(state.devices));
  if (auto of_cpus = node.cpu().usage(state.cpu); !of_cpus.empty()) {
    usage["cpu"] = std::move(of_cpus);
  }
  return usage;
}

}  // namespace

Admission AdmissionInProgress::run() {
  tally_.requested();
  auto done = in_scope();
  if (!done) tally_.rejected();
  return done;
}

void AdmissionInProgress::release_stale_first() {
  const bool is_none = node_.topology().policy() == TopologyPolicy::kNone;
  // QUIRK: the kubelet's managers release stale assignments when they are first called.
  // With policy none, that is when they allocate, which a rejection by an earlier manager prevents.
  releases_stale_late_ = is_none && node_.quirks().policy_none_releases_stale_late;
  // QUIRK: nor does the kubelet release them before it knows all its pods.
  const bool keeps_stale =
      state_.pods_are_unknown && node_.quirks().stale_state_kept_until_pods_are_known;
  if (keeps_stale) releases_stale_late_ = false;
  if (!keeps_stale && !releases_stale_late_) state_ = release_stale(node_, std::move(state_));
}

Admission AdmissionInProgress::in_scope() {
  release_stale_first();
  if (node_.topology().policy() == TopologyPolicy::kNone) return each_container(nullptr);
  if (node_.topology().scope() == TopologyScope::kContainer) return in_container_scope();
  return in_pod_scope();
}

Admission AdmissionInProgress::resize(const std::string& name) {
  release_stale_first();
  if (releases_stale_late_) release_stale_cpus(node_, state_);
  const Container& container = *pod_.spec.find(name);
  TopologyHint affinity;
  if (node_.topology().policy() != TopologyPolicy::kNone) {
    const bool is_joint = node_.topology().scope() == TopologyScope::kPod;
    const Container* const object = is_joint ? nullptr : &container;
    const auto merged = merge(object, is_joint ? pod_hints() : container_hints(container));
    if (!merged.admit) return reject(object);
    affinity = merged.best;
    for (const Container& one : pod_.containers) {
      if (is_joint || &one == &container) store(one, affinity);
    }
  }
  note_amounts(&container, container.name);
  auto cpus = node_.cpu().resize(state_.cpu, pod_, container, affinity, trace_);
  return cpus ? cpus : reject_unmerged(container, kCpu, std::move(cpus));
}

Admission AdmissionInProgress::in_container_scope() {
  for (const Container& container : pod_.containers) {
    const auto merged = merge(&container, container_hints(container));
    if (!merged.admit) return reject(&container);
    store(container, merged.best);
    PINFOLD_TRY(allocate(container, merged.best));
    tally_.aligned(&container);
  }
  return {};
}

Admission AdmissionInProgress::in_pod_scope() {
  const auto merged = merge(nullptr, pod_hints());
  if (!merged.admit) return reject(nullptr);
  auto done = is_managed_as_pod(node_.gates(), pod_) ? allocate_pod(merged.best)
                                                     : each_container(&merged.best);
  if (done) tally_.aligned(nullptr);
  return done;
}

Admission AdmissionInProgress::each_container(const TopologyHint* affinity) {
  for (const Container& container : pod_.containers) {
    if (affinity != nullptr) store(container, *affinity);
    PINFOLD_TRY(allocate(container, affinity == nullptr ? TopologyHint{} : *affinity));
  }
  return {};
}

std::vector<ResourceHints> AdmissionInProgress::container_hints(const Container& container) {
  std::vector<ResourceHints> hints;
  hints.push_back(node_.devices().container_hints(state_.devices, pod_, container));
  hints.push_back(node_.cpu().container_hints(state_.cpu, pod_, container, kind_));
  hints.push_back(node_.memory().container_hints(state_.memory, pod_, container));
  for (const auto& provider : node_.providers()) {
    hints.push_back(provider->container_hints(provider_state(state_, *provider), pod_, container));
  }
  return hints;
}

std::vector<ResourceHints> AdmissionInProgress::pod_hints() {
  std::vector<ResourceHints> hints;
  hints.push_back(node_.devices().pod_hints(state_.devices, pod_));
  hints.push_back(node_.cpu().pod_hints(state_.cpu, pod_, kind_));
  hints.push_back(node_.memory().pod_hints(state_.memory, pod_));
  for (const auto& provider : node_.providers()) {
    hints.push_back(provider->pod_hints(provider_state(state_, *provider), pod_));
  }
  return hints;
}

void AdmissionInProgress::note_amounts(const Container* container, const std::string& object) {
  if (trace_ == nullptr || amounts_.contains(object)) return;
  std::vector<Amounts>& all = amounts_[object];
  const auto add = [&](const std::vector<Amounts>& some) {
    all.insert(all.end(), some.begin(), some.end());
  };
  add(node_.devices().amounts(state_.devices, pod_, container));
  add(node_.cpu().amounts(state_.cpu, pod_, container));
  add(node_.memory().amounts(state_.memory, pod_, container));
}

void AdmissionInProgress::explain_amounts(const std::string& object) {
  for (const Amounts& amounts : amounts_[object]) {
    const char* const source = amounts.resource == "cpu"              ? kCpu
                               : is_memory_resource(amounts.resource) ? kMemory
                                                                      : kDevices;
    trace_->add(source, object, describe(amounts));
  }
}

Admission AdmissionInProgress::reject_unmerged(const Container& container, const char* source,
                                               Admission rejection) {
  failed_ = {source, container.name};
  const bool is_none = node_.topology().policy() == TopologyPolicy::kNone;
  if (trace_ != nullptr && is_none) explain_amounts(container.name);
  return rejection;
}

MergedHint AdmissionInProgress::merge(const Container* container,
                                      std::vector<ResourceHints> hints) {
  const std::string object = container == nullptr ? "pod" : container->name;
  UsageByResource usage;
  if (node_.topology().needs_usage()) usage = usage_of(node_, state_);
  const MergedHint merged = node_.topology().merge(hints, usage);
  if (trace_ != nullptr) explain_merged(container, object, hints, merged, usage);
  note_amounts(container, object);
  if (trace_ != nullptr && !merged.best.preferred) explain_amounts(object);
  ResourceHints& all = hints_[object];
  for (ResourceHints& of_provider : hints) all.merge(of_provider);
  return merged;
}

void AdmissionInProgress::explain_merged(const Container* container, const std::string& object,
                                         const std::vector<ResourceHints>& hints,
                                         const MergedHint& merged, const UsageByResource& usage) {
  HintCauses causes;
  if (container == nullptr) {
    if (auto why = node_.cpu().why_no_pod_hints(state_.cpu, pod_); !why.empty()) {
      causes["cpu"] = std::move(why);
    }
    if (const auto why = node_.memory().why_no_pod_hints(pod_); !why.empty()) {
      for (const auto& [resource, list] : hints[kMemoryHints]) causes[resource] = why;
    }
  }
  const TopologyManager& topology = node_.topology();
  for (std::string& text :
       sentences(topology, explain_merge(topology, hints, merged, causes, usage))) {
    trace_->add("topology", object, std::move(text));
  }
}

Admission AdmissionInProgress::reject(const Container* container) {
  tally_.no_affinity(container);
  failed_ = {"topology", container == nullptr ? "pod" : container->name};
  return tl::unexpected(affinity_error(node_, pod_));
}

void AdmissionInProgress::store(const Container& container, const TopologyHint& affinity) {
  state_.affinity[{pod_.uid, container.name}] = affinity;
}

Admission AdmissionInProgress::allocate(const Container& container, const TopologyHint& affinity) {
  note_amounts(&container, container.name);
  const bool releases_stale = releases_stale_late_ && &container == &pod_.containers.front();
  if (releases_stale) release_stale_devices(node_, state_);
  auto devices = node_.devices().allocate(state_.devices, pod_, container, affinity, trace_);
  if (!devices) return reject_unmerged(container, kDevices, std::move(devices));

  if (releases_stale) release_stale_cpus(node_, state_);
  tally_.begin(&container);
  auto cpus = node_.cpu().allocate(state_.cpu, pod_, container, affinity, trace_);
  tally_.cpu_done(&container, cpus);
  if (!cpus) return reject_unmerged(container, kCpu, std::move(cpus));

  if (releases_stale) release_stale_memory(node_, state_);
  auto memory = node_.memory().allocate(state_.memory, pod_, container, affinity, trace_);
  tally_.memory_done(&container, memory);
  if (!memory) return reject_unmerged(container, kMemory, std::move(memory));
  return allocate_in_providers(container, affinity);
}

Admission AdmissionInProgress::allocate_pod(const TopologyHint& affinity) {
  for (const Container& container : pod_.containers) store(container, affinity);
  tally_.begin(nullptr);
  auto cpus = node_.cpu().allocate_pod(state_.cpu, pod_, affinity, trace_);
  tally_.cpu_done(nullptr, cpus);
  failed_ = {kCpu, "pod"};
  if (!cpus) return cpus;
  auto memory = node_.memory().allocate_pod(state_.memory, pod_, affinity, trace_);
  tally_.memory_done(nullptr, memory);
  failed_ = {kMemory, "pod"};
  if (!memory) return memory;
  for (const Container& container : pod_.containers) {
    PINFOLD_TRY(allocate_in_providers(container, affinity));
  }
  return {};
}

Admission AdmissionInProgress::allocate_in_providers(const Container& container,
                                                     const TopologyHint& affinity) {
  for (const auto& provider : node_.providers()) {
    std::string value = provider_state(state_, *provider);
    auto done = provider->allocate(value, pod_, container, affinity);
    set_provider_state(state_, *provider, std::move(value));
    if (trace_ != nullptr && !done) {
      trace_->add(provider->name(), container.name, done.error().message);
    }
    if (done) continue;
    failed_ = {provider->name(), container.name};
    return done;
  }
  return {};
}

}  // namespace pinfold
