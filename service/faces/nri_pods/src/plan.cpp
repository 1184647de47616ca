#include "pinfold/nri_pods/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "inverse.hpp"
#include "pinfold/api/pod_level.hpp"
#include "pinfold/decide/linux_resources.hpp"

// How it works
//
// Every function compares what the runtime has shown (KnownPods) with the state of the agent
// (NodeState), and returns requests or answers as values. Nothing here has side effects, so that
// the enforcer, the observer and the tests share the same plans.
//
// A pod of the runtime becomes one pod of the agent under its own UID, plus one BestEffort pod per
// unannounced container under unannounced_uid(). find_container() looks for a container under both.
// - A pod with a resource annotation is decided once, at its sandbox, as a whole. A container
//   outside the annotation is unannounced.
// - A pod without one is decided again, as all living containers together, whenever a new container
//   is created. Stopped containers are removed first, because they were init containers.
//
// Invariants:
// - A request never admits a pod that the agent has unchanged, and admits each UID at most once.
// - plan_synchronize() admits pods that may already have exclusive CPUs first, then older before
//   newer ones, so that running containers keep their CPUs where possible.
// - A container is updated only if its cpuset or quota differs from the runtime's record. An empty
//   string changes nothing.
//
// Cost: plan_create() depends on the containers of one pod; the other plans go through all
// containers and look each up in the state.

namespace pinfold::nri {
namespace {

/// Returns all UIDs under which the agent may have a pod of the runtime.
std::set<PodUid> living_uids(const KnownPods& known) {
  std::set<PodUid> uids;
  for (const auto& [id, pod] : known.all()) {
    const PodUid uid = pod.uid();
    uids.insert(uid);
    for (const KnownContainer& container : pod.containers) {
      if (container.phase == Phase::kStopped) continue;
      uids.insert(unannounced_uid(uid, container.shown.name()));
    }
  }
  return uids;
}

/// Returns whether a pod is already decided by its annotation, which happens once, at its sandbox.
bool is_decided(const RecoveredPod& pod, const NodeState& state) {
  const bool has_annotation = pod.is_announced || pod.refused_annotation;
  return has_annotation && state.find(pod.uid) != nullptr;
}

void add_note(const RecoveredPod& pod, const Demand& demanded, AgentRequests& requests) {
  if (pod.refused_quiet) requests.notes.push_back(pod.refused_quiet->message);
  if (pod.refused_annotation) {
    requests.notes.push_back(pod.refused_annotation->message);
  } else if (pod.qos == QosClass::kGuaranteed && demanded.exclusive.empty()) {
    requests.notes.push_back(fmt::format("pod '{}/{}' has no exclusive CPUs: {}",
                                         pod.namespace_name, pod.name, demanded.why_shared));
  }
}

void add_pod(PodSpec pod, const NodeState& state, AgentRequests& requests) {
  const ActivePod* const active = state.find(pod.uid);
  const bool is_asked = std::any_of(requests.admit.begin(), requests.admit.end(),
                                    [&](const PodSpec& other) { return other.uid == pod.uid; });
  if (is_asked || pod.containers.empty() || (active != nullptr && active->spec == pod)) return;
  requests.admit.push_back(std::move(pod));
}

/// Releases the CPUs of containers that are shared now that another one is known: the static policy
/// would keep those of a pod that is decided again.
void release_shared(const Demand& demanded, const NodeState& state, AgentRequests& requests) {
  const ActivePod* const active = state.find(demanded.pod.uid);
  if (active == nullptr || active->spec == demanded.pod) return;
  for (const Container& container : demanded.pod.containers) {
    const ContainerId id{demanded.pod.uid, container.name};
    const auto& exclusive = demanded.exclusive;
    const bool is_exclusive =
        std::find(exclusive.begin(), exclusive.end(), container.name) != exclusive.end();
    if (is_exclusive || state.cpu.assignments.find(id) == nullptr) continue;
    requests.release.push_back(id);
  }
}

void admit(const RecoveredPod& pod, const Premises& premises, const NodeState& state,
           AgentRequests& requests) {
  Demand demanded = demand(pod, premises);
  ShownPod& shown = requests.shown[pod.uid];
  shown.qos = pod.qos;
  shown.why_shared = demanded.why_shared;
  shown.quiet = pod.quiet;
  for (PodSpec& other : demanded.unannounced) add_pod(std::move(other), state, requests);
  if (is_decided(pod, state)) return;
  add_note(pod, demanded, requests);
  release_shared(demanded, state, requests);
  add_pod(std::move(demanded.pod), state, requests);
}

std::vector<api::Container> shown_of(const KnownPod& pod) {
  std::vector<api::Container> shown;
  for (const KnownContainer& container : pod.containers) shown.push_back(container.shown);
  return shown;
}

/// Removes stopped containers of a pod: they were init containers if another one is created after
/// them.
void remove_ended(const KnownPod& pod, const PodUid& uid, const NodeState& state,
                  AgentRequests& requests) {
  const ActivePod* const active = state.find(uid);
  if (active == nullptr) return;
  for (const KnownContainer& container : pod.containers) {
    const std::string& name = container.shown.name();
    if (container.phase != Phase::kStopped || active->spec.find(name) == nullptr) continue;
    requests.remove_containers.push_back({uid, name});
  }
}

/// Returns the new container and those that live together with it.
std::vector<api::Container> living_with(const KnownPod* pod, const api::Container& container) {
  std::vector<api::Container> shown;
  if (pod != nullptr) {
    for (const KnownContainer& other : pod->containers) {
      const bool is_same = other.shown.name() == container.name();
      if (!is_same && other.phase != Phase::kStopped) shown.push_back(other.shown);
    }
  }
  shown.push_back(container);
  return shown;
}

/// Returns the places of a pod's containers on the runtime's record.
Places places_of(const KnownPod& pod) {
  Places places;
  for (const KnownContainer& container : pod.containers) {
    const api::LinuxCPU& cpu = container.shown.linux().resources().cpu();
    const auto cpus = CpuSet::parse(cpu.cpus());
    const auto mems = CpuSet::parse(cpu.mems());
    if (container.phase == Phase::kStopped || !cpus || !mems || cpus->empty()) continue;
    Place& place = places[container.shown.name()];
    place.cpus = *cpus;
    for (const CpuId node : *mems) place.mems.push_back(node.value);
  }
  return places;
}

/// Returns whether a container that should get exclusive CPUs already has that many CPUs.
bool may_have_own(const Demand& demanded, const Places& places) {
  return std::any_of(demanded.exclusive.begin(), demanded.exclusive.end(),
                     [&](const std::string& name) {
                       const auto place = places.find(name);
                       const Container* const container = demanded.pod.find(name);
                       if (place == places.end() || container == nullptr) return false;
                       const Quantity cpus = amount_of(container->resources.requests, "cpu");
                       return place->second.cpus.size() == static_cast<std::size_t>(cpus.value());
                     });
}

/// A pod found by Synchronize.
struct SynchronizedPod {
  const KnownPod* known = nullptr;
  RecoveredPod pod;
  Places places;
  bool may_have_own = false;
};

/// Recovers all pods and puts them into the order of decision. Errors become notes.
std::vector<SynchronizedPod> find_pods(const KnownPods& known, const Premises& premises,
                                       std::vector<std::string>& notes) {
  std::vector<SynchronizedPod> found;
  for (const auto& [id, pod] : known.all()) {
    auto recovered = recover(pod.sandbox, shown_of(pod), premises);
    if (!recovered) {
      notes.push_back(recovered.error().message);
      continue;
    }
    Places places = places_of(pod);
    const bool has_own = may_have_own(demand(*recovered, premises), places);
    found.push_back({&pod, *std::move(recovered), std::move(places), has_own});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const SynchronizedPod& a, const SynchronizedPod& b) {
                     if (a.may_have_own != b.may_have_own) return a.may_have_own;
                     return a.known->age > b.known->age;
                   });
  return found;
}

/// Returns the containers of a pod that the agent does not have.
std::vector<std::string> new_containers(const KnownPod& pod, const PodUid& uid,
                                        const NodeState& state) {
  std::vector<std::string> names;
  for (const KnownContainer& container : pod.containers) {
    if (!find_container(state, uid, container.shown.name()))
      names.push_back(container.shown.name());
  }
  return names;
}

/// Returns the desired CPUs; `shown` is the runtime's record. With the policy none a container has
/// no cpuset, but an earlier one cannot be removed, so it gets all CPUs.
CpuSet cpus_of(const Node& node, const ContainerResources& resources, const std::string& shown) {
  if (!resources.cpuset_cpus.empty()) return resources.cpuset_cpus;
  if (node.cpu().is_static()) return node.cpu().reserved();
  return shown.empty() ? CpuSet() : node.machine().all_cpus();
}

/// Returns the desired memory nodes. Nodes from an earlier policy become all nodes that have
/// memory.
std::string mems_of(const Node& node, const ContainerResources& resources,
                    const std::string& shown) {
  if (!resources.cpuset_mems.empty() || shown.empty()) return resources.cpuset_mems;
  std::vector<std::int32_t> nodes;
  for (const NumaNode& numa : node.machine().numa_nodes()) {
    if (numa.memory > 0) nodes.push_back(numa.id.value);
  }
  return fmt::format("{}", fmt::join(nodes, ","));
}

/// Sets the desired cpuset. Empty strings mean no change.
void set_cpuset(const Node& node, const ContainerResources& resources,
                const api::Container& container, api::LinuxCPU& cpu) {
  const api::LinuxCPU& shown = container.linux().resources().cpu();
  cpu.set_cpus(cpus_of(node, resources, shown.cpus()).to_string());
  cpu.set_mems(mems_of(node, resources, shown.mems()));
}

/// Returns the CFS quota that must replace the runtime's; nullopt if it can stay. A container has
/// no quota with exclusive CPUs, and that of its limit when its CPUs are shared again.
std::optional<std::int64_t> find_quota(const LinuxResources& desired, const api::LinuxCPU& shown) {
  if (!desired.cpu_quota) return std::nullopt;
  const std::int64_t has = shown.quota().value();
  const bool is_lifted = *desired.cpu_quota == -1;
  const bool is_due = is_lifted ? has > 0 : *desired.cpu_quota > 0 && has < 0;
  return is_due ? desired.cpu_quota : std::nullopt;
}

void set_quota(std::int64_t quota, const LinuxResources& desired, api::LinuxCPU& cpu) {
  cpu.mutable_quota()->set_value(quota);
  if (quota > 0 && desired.cpu_period) cpu.mutable_period()->set_value(*desired.cpu_period);
}

bool needs_change(const std::string& desired, const std::string& shown) {
  return !desired.empty() && desired != shown;
}

/// Returns the update that a container needs, if any.
std::optional<api::ContainerUpdate> find_update(const Node& node, const NodeState& state,
                                                const PodUid& uid, const KnownContainer& known) {
  if (known.phase == Phase::kCreating || known.phase == Phase::kStopped) return std::nullopt;
  const auto id = find_container(state, uid, known.shown.name());
  if (!id) return std::nullopt;
  const auto resources = container_resources(node, state, *id);
  if (!resources) return std::nullopt;
  api::ContainerUpdate update;
  update.set_container_id(known.shown.id());
  api::LinuxCPU& cpu = *update.mutable_linux()->mutable_resources()->mutable_cpu();
  set_cpuset(node, *resources, known.shown, cpu);
  const api::LinuxCPU& shown = known.shown.linux().resources().cpu();
  const auto quota = find_quota(resources->linux_resources, shown);
  if (quota) set_quota(*quota, resources->linux_resources, cpu);
  if (!quota && !needs_change(cpu.cpus(), shown.cpus()) && !needs_change(cpu.mems(), shown.mems()))
    return std::nullopt;
  return update;
}

}  // namespace

Result<void> check_node(const Node& node) {
  if (!node.quirks().rejected_pod_keeps_resources) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("profile '{}': a rejection would end a pod whose containers run: "
                          "expected the profile '{}'",
                          to_string(node.config().profile), to_string(Profile::kFixed)));
}

std::optional<ContainerId> find_container(const NodeState& state, const PodUid& uid,
                                          const std::string& name) {
  for (const PodUid& candidate : {uid, unannounced_uid(uid, name)}) {
    const ActivePod* const pod = state.find(candidate);
    if (pod != nullptr && pod->spec.find(name) != nullptr) return ContainerId{candidate, name};
  }
  return std::nullopt;
}

AgentRequests plan_removal(const KnownPods& known, const NodeState& state) {
  const std::set<PodUid> living = living_uids(known);
  AgentRequests requests;
  for (const ActivePod& pod : state.pods) {
    if (!living.contains(pod.spec.uid)) requests.remove_pods.push_back(pod.spec.uid);
  }
  for (const PodUid& uid : state.held) {
    if (!living.contains(uid)) requests.remove_pods.push_back(uid);
  }
  return requests;
}

Result<AgentRequests> plan_sandbox(const api::PodSandbox& sandbox, const Premises& premises,
                                   const NodeState& state) {
  AgentRequests requests;
  PINFOLD_LET(const auto pod, recover(sandbox, {}, premises));
  if (pod.refused_annotation) requests.notes.push_back(pod.refused_annotation->message);
  const bool is_active = state.find(pod.uid) != nullptr;
  if (pod.is_announced && !is_active) admit(pod, premises, state, requests);
  return requests;
}

Result<CreatePlan> plan_create(const KnownPods& known, const api::CreateContainerRequest& request,
                               const Premises& premises, const NodeState& state) {
  const api::Container& container = request.container();
  const std::string& cpus = container.linux().resources().cpu().cpus();
  if (!cpus.empty()) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("container '{}' already has the cpuset '{}': set cpuManagerPolicy: "
                            "none for the kubelet, and let no other plugin set cpusets",
                            container.name(), cpus));
  }
  const KnownPod* const pod = known.find(request.pod().id());
  const auto shown = living_with(pod, container);
  PINFOLD_LET(auto recovered, recover(request.pod(), shown, premises));
  if (const auto id = find_container(state, recovered.uid, container.name()))
    return CreatePlan{{}, *id};
  CreatePlan plan;
  if (is_decided(recovered, state)) {
    recovered.unannounced = {container.name()};
  } else if (pod != nullptr && !recovered.is_announced) {
    remove_ended(*pod, recovered.uid, state, plan.requests);
  }
  admit(recovered, premises, state, plan.requests);
  const auto& others = recovered.unannounced;
  const bool is_other = std::find(others.begin(), others.end(), container.name()) != others.end();
  plan.container = {is_other ? unannounced_uid(recovered.uid, container.name()) : recovered.uid,
                    container.name()};
  return plan;
}

AgentRequests plan_synchronize(const KnownPods& known, const Premises& premises,
                               const NodeState& state) {
  AgentRequests requests = plan_removal(known, state);
  for (SynchronizedPod& found : find_pods(known, premises, requests.notes)) {
    RecoveredPod& pod = found.pod;
    const std::vector<std::string> added = new_containers(*found.known, pod.uid, state);
    if (is_decided(pod, state)) pod.unannounced = added;
    const bool is_new = state.find(pod.uid) == nullptr;
    if (is_new || !added.empty()) {
      admit(pod, premises, state, requests);
      requests.shown[pod.uid].places.merge(found.places);
    } else {
      requests.shown[pod.uid] = {pod.qos, demand(pod, premises).why_shared, pod.quiet, {}};
    }
  }
  return requests;
}

std::vector<DueUpdate> plan_updates(const KnownPods& known, const Node& node,
                                    const NodeState& state) {
  std::vector<DueUpdate> updates;
  for (const auto& [id, pod] : known.all()) {
    const PodUid uid = pod.uid();
    for (const KnownContainer& container : pod.containers) {
      auto update = find_update(node, state, uid, container);
      if (update) updates.push_back({*std::move(update), container.phase == Phase::kStarted});
    }
  }
  return updates;
}

std::optional<ResizeRequest> find_resize(const api::UpdateContainerRequest& request,
                                         const Node& node, const NodeState& state) {
  const auto id = find_container(state, PodUid(request.pod().uid()), request.container().name());
  if (!id) return std::nullopt;
  const auto resources = container_resources(node, state, *id);
  if (!resources || resources->isolation != Isolation::kContainer) return std::nullopt;
  const api::LinuxCPU& cpu = request.linux_resources().cpu();
  const std::int64_t quota = cpu.quota().value();
  const std::uint64_t period = cpu.period().value();
  if (quota < 0 || cpu.shares().value() == 0) return std::nullopt;
  // With a quota both must agree; without one, with cpuCFSQuota off, only whole CPUs are certain.
  const bool has_quota = quota > 0 && period >= kMinPeriodUs && period <= kMaxPeriodUs;
  const MilliCpu milli =
      has_quota ? milli_cpu_of_quota(quota, period) : milli_cpu_of_shares(cpu.shares().value());
  if (cpu_shares(milli.value) != cpu.shares().value()) return std::nullopt;
  const Quantity asked = Quantity::milli(milli.value);
  if (!has_quota && !asked.is_whole()) return std::nullopt;
  const Container& container = *state.find(id->pod)->spec.find(id->name);
  if (asked.milli_value() == amount_of(container.resources.requests, "cpu").milli_value()) {
    return std::nullopt;
  }
  return ResizeRequest{*id, asked};
}

api::UpdateContainerResponse answer_update(const api::UpdateContainerRequest& request,
                                           const Node& node, const NodeState& state) {
  api::UpdateContainerResponse answer;
  const auto id = find_container(state, PodUid(request.pod().uid()), request.container().name());
  if (!id) return answer;
  const auto resources = container_resources(node, state, *id);
  if (!resources) return answer;
  api::ContainerUpdate update;
  update.set_container_id(request.container().id());
  api::LinuxCPU& cpu = *update.mutable_linux()->mutable_resources()->mutable_cpu();
  set_cpuset(node, *resources, request.container(), cpu);
  if (resources->linux_resources.cpu_quota == -1) cpu.mutable_quota()->set_value(-1);
  *answer.add_update() = std::move(update);
  return answer;
}

Result<api::CreateContainerResponse> answer_create(const Node& node, const NodeState& state,
                                                   const ContainerId& container) {
  PINFOLD_LET(const auto resources, container_resources(node, state, container));
  api::CreateContainerResponse answer;
  api::LinuxCPU& cpu =
      *answer.mutable_adjust()->mutable_linux()->mutable_resources()->mutable_cpu();
  set_cpuset(node, resources, api::Container(), cpu);  // a new container has no cpuset yet
  if (resources.linux_resources.cpu_quota == -1) cpu.mutable_quota()->set_value(-1);
  return answer;
}

}  // namespace pinfold::nri
