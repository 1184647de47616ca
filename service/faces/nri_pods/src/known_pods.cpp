#include "pinfold/nri_pods/known_pods.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace pinfold::nri {
namespace {

template <class Containers>
auto find_name(Containers& containers, std::string_view name) {
  return std::find_if(containers.begin(), containers.end(),
                      [&](const KnownContainer& known) { return known.shown.name() == name; });
}

/// Adds a container, replacing one with its name.
void put(KnownContainer container, std::vector<KnownContainer>& containers) {
  const auto same = find_name(containers, container.shown.name());
  if (same == containers.end()) {
    containers.push_back(std::move(container));
  } else {
    *same = std::move(container);
  }
}

/// Empty strings, and missing numbers, mean no change.
void take_cpu(const api::LinuxCPU& cpu, KnownContainer& known) {
  api::LinuxCPU& shown = *known.shown.mutable_linux()->mutable_resources()->mutable_cpu();
  if (!cpu.cpus().empty()) shown.set_cpus(cpu.cpus());
  if (!cpu.mems().empty()) shown.set_mems(cpu.mems());
  if (cpu.has_quota()) shown.mutable_quota()->set_value(cpu.quota().value());
  if (cpu.has_period()) shown.mutable_period()->set_value(cpu.period().value());
  if (cpu.has_shares()) shown.mutable_shares()->set_value(cpu.shares().value());
}

Phase phase_of(api::ContainerState state) {
  switch (state) {
    case api::ContainerState::CONTAINER_CREATED:
      return Phase::kCreated;
    case api::ContainerState::CONTAINER_PAUSED:
    case api::ContainerState::CONTAINER_RUNNING:
      return Phase::kStarted;
    case api::ContainerState::CONTAINER_STOPPED:
      return Phase::kStopped;
    default:
      return Phase::kCreating;
  }
}

std::optional<Phase> phase_after(api::Event event) {
  switch (event) {
    case api::Event::POST_CREATE_CONTAINER:
      return Phase::kCreated;
    case api::Event::START_CONTAINER:
    case api::Event::POST_START_CONTAINER:
      return Phase::kStarted;
    case api::Event::STOP_CONTAINER:
      return Phase::kStopped;
    default:
      return std::nullopt;
  }
}

}  // namespace

const KnownContainer* KnownPod::find(std::string_view container_name) const {
  const auto found = find_name(containers, container_name);
  return found == containers.end() ? nullptr : &*found;
}

KnownPods::KnownPods(const api::SynchronizeRequest& request, const AgeOf& age) {
  const auto age_of = [&](std::uint32_t process) { return age ? age(process) : 0; };
  for (const api::PodSandbox& sandbox : request.pods()) {
    pods_[sandbox.id()] = {sandbox, age_of(sandbox.pid()), {}, true};
  }
  // NRI does not report times of creation, and a runtime shows its containers in any order.
  std::vector<std::pair<double, const api::Container*>> oldest_first;
  for (const api::Container& container : request.containers()) {
    oldest_first.emplace_back(age_of(container.pid()), &container);
  }
  std::stable_sort(oldest_first.begin(), oldest_first.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [seconds, container] : oldest_first) {
    const auto pod = pods_.find(container->pod_sandbox_id());
    if (pod == pods_.end()) continue;
    pod->second.age = std::max(pod->second.age, seconds);
    put({*container, phase_of(container->state())}, pod->second.containers);
  }
  // A pod that has ended keeps its sandbox, without a process, until the pod is deleted.
  std::erase_if(pods_, [](const auto& entry) {
    return entry.second.containers.empty() && entry.second.sandbox.pid() == 0;
  });
}

void KnownPods::create(const api::PodSandbox& sandbox, const api::Container& container) {
  KnownPod& pod = pods_[sandbox.id()];
  pod.sandbox = sandbox;
  put({container, Phase::kCreating}, pod.containers);
}

void KnownPods::change(const api::StateChangeEvent& event) {
  switch (event.event()) {
    case api::Event::RUN_POD_SANDBOX:
      pods_[event.pod().id()].sandbox = event.pod();
      return;
    case api::Event::STOP_POD_SANDBOX:
    case api::Event::REMOVE_POD_SANDBOX:
      pods_.erase(event.pod().id());
      return;
    default:
      change_container(event);
  }
}

void KnownPods::change_container(const api::StateChangeEvent& event) {
  const auto pod = pods_.find(event.container().pod_sandbox_id());
  if (pod == pods_.end()) return;
  auto& containers = pod->second.containers;
  const auto known = find_name(containers, event.container().name());
  // Events of an earlier container of the same name arrive late.
  if (known == containers.end() || known->shown.id() != event.container().id()) return;
  // Events arrive late; a stopped container does not start again under its id.
  known->phase = std::max(known->phase, phase_after(event.event()).value_or(known->phase));
  const bool has_adjustment = known->phase != Phase::kCreating && known->phase != Phase::kStopped;
  if (has_adjustment && event.container().has_linux()) {
    take_cpu(event.container().linux().resources().cpu(), *known);
  }
  if (event.event() != api::Event::REMOVE_CONTAINER) return;
  known->phase = Phase::kStopped;
  const bool all_stopped = std::all_of(
      containers.begin(), containers.end(),
      [](const KnownContainer& container) { return container.phase == Phase::kStopped; });
  if (pod->second.is_from_synchronize && all_stopped) pods_.erase(pod);
}

void KnownPods::update(const api::ContainerUpdate& update) {
  for (auto& [id, pod] : pods_) {
    for (KnownContainer& known : pod.containers) {
      if (known.shown.id() != update.container_id()) continue;
      take_cpu(update.linux().resources().cpu(), known);
    }
  }
}

const KnownPod* KnownPods::find(std::string_view sandbox_id) const {
  const auto found = pods_.find(sandbox_id);
  return found == pods_.end() ? nullptr : &found->second;
}

const KnownContainer* KnownPods::find_name_of(const api::Container& container) const {
  const KnownPod* const pod = find(container.pod_sandbox_id());
  return pod == nullptr ? nullptr : pod->find(container.name());
}

}  // namespace pinfold::nri
