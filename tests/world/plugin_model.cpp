#include "plugin_model.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

namespace pinfold::world {
namespace {

namespace api = nri::api;
using agent::AgentState;
using agent::RunningProcesses;

bool has(const AgentState& state, const PodUid& uid, const std::string& name) {
  const ActivePod* const pod = state.node.find(uid);
  return pod != nullptr && pod->spec.find(name) != nullptr;
}

/// Returns true if a container has as many CPUs on record as it gets exclusively; its pod is
/// decided before others.
bool may_have_own(const PodSpec* pod, const api::Container& shown) {
  constexpr std::int64_t kWhole = 1000;
  const Container* const container = pod == nullptr ? nullptr : pod->find(shown.name());
  if (container == nullptr) return false;
  const auto cpus = CpuSet::parse(shown.linux().resources().cpu().cpus());
  const std::int64_t milli = amount_of(container->resources.requests, "cpu").milli_value();
  return cpus && milli > 0 && static_cast<std::int64_t>(cpus->size()) * kWhole == milli;
}

}  // namespace

PluginModel::Told* PluginModel::Pod::find(const std::string& name) {
  const auto found = std::find_if(containers.begin(), containers.end(),
                                  [&](const Told& one) { return one.name == name; });
  return found == containers.end() ? nullptr : &*found;
}

PluginModel::Steps PluginModel::begin(const AgentState& state, const nri::PluginRequest& call) {
  places_.clear();
  if (const auto* const all = std::get_if<api::SynchronizeRequest>(&call)) {
    return synchronize(state, *all);
  }
  if (const auto* const one = std::get_if<api::CreateContainerRequest>(&call)) {
    return create(state, one->pod(), one->container());
  }
  if (const auto* const one = std::get_if<api::StopContainerRequest>(&call)) {
    end_container(one->container(), false);
    return remove_ended(state);
  }
  if (const auto* const one = std::get_if<api::StateChangeEvent>(&call)) return change(state, *one);
  return {};
}

void PluginModel::end(const AgentState& state, const nri::PluginRequest& call) {
  const auto add_known = [&](const auto& request) {
    const PodUid uid(request.pod().uid());
    if (has(state, uid, request.container().name())) add(request.pod(), request.container());
  };
  if (const auto* const create = std::get_if<api::CreateContainerRequest>(&call)) {
    return add_known(*create);
  }
  const auto* const event = std::get_if<api::StateChangeEvent>(&call);
  if (event != nullptr && event->event() == api::Event::START_CONTAINER) add_known(*event);
}

void PluginModel::add(const api::PodSandbox& sandbox, const api::Container& container) {
  Pod& pod = pods_[sandbox.id()];
  pod.uid = PodUid(sandbox.uid());
  const Told told{container.name(), container.id()};
  if (Told* const same = pod.find(container.name())) {
    *same = told;
  } else {
    pod.containers.push_back(told);
  }
}

PodSpec PluginModel::part_of(const PodUid& uid, const std::vector<std::string>& names) const {
  const PodSpec* const whole = spec_of_(uid);
  PodSpec part;
  if (whole == nullptr) return part;
  part.uid = uid;
  part.name = whole->name;
  part.namespace_name = whole->namespace_name;
  for (const std::string& name : names) {
    if (const Container* const container = whole->find(name)) {
      // no message says which kind it is
      part.containers.push_back({name, ContainerKind::kApp, container->resources});
    }
  }
  return part;
}

PluginModel::Steps PluginModel::synchronize(const AgentState& state,
                                            const api::SynchronizeRequest& request) {
  pods_.clear();
  std::set<PodUid> with_own;
  for (const api::PodSandbox& sandbox : request.pods()) {
    pods_[sandbox.id()] = {PodUid(sandbox.uid()), {}, true};
  }
  for (const api::Container& container : request.containers()) {
    const auto pod = pods_.find(container.pod_sandbox_id());
    if (pod == pods_.end()) continue;
    pod->second.containers.push_back({container.name(), container.id()});
    const auto cpus = CpuSet::parse(container.linux().resources().cpu().cpus());
    if (cpus && !cpus->empty()) places_[pod->second.uid][container.name()].cpus = *cpus;
    if (may_have_own(spec_of_(pod->second.uid), container)) with_own.insert(pod->second.uid);
  }
  Steps steps = remove_ended(state);
  verbs::Admit admit;
  for (const auto& [id, pod] : pods_) {
    std::vector<std::string> names;
    for (const Told& told : pod.containers) names.push_back(told.name);
    const bool is_new =
        std::any_of(names.begin(), names.end(),
                    [&, &uid = pod.uid](const auto& name) { return !has(state, uid, name); });
    if (is_new) admit.pods.push_back(part_of(pod.uid, names));
  }
  std::stable_partition(admit.pods.begin(), admit.pods.end(),
                        [&](const PodSpec& pod) { return with_own.contains(pod.uid); });
  // In one transaction; if that fails, one by one.
  for (PodSpec& pod : admit.pods) steps.emplace_back(verbs::Admit{{std::move(pod)}});
  return steps;
}

/// Admits a container that the state does not know: the ended containers of its pod are removed,
/// and it is added to the living ones.
PluginModel::Steps PluginModel::create(const AgentState& state, const api::PodSandbox& sandbox,
                                       const api::Container& container) {
  const PodUid uid(sandbox.uid());
  const bool has_cpus = !container.linux().resources().cpu().cpus().empty();
  if (has(state, uid, container.name()) || has_cpus) return {};  // another program gave it CPUs
  Steps steps;
  std::vector<std::string> living;
  if (const auto pod = pods_.find(sandbox.id()); pod != pods_.end()) {
    for (const Told& told : pod->second.containers) {
      if (told.is_over && has(state, uid, told.name)) {
        steps.emplace_back(verbs::Remove{uid, told.name, RunningProcesses::kRefuse});
      }
      if (!told.is_over && told.name != container.name()) living.push_back(told.name);
    }
  }
  living.push_back(container.name());
  steps.emplace_back(verbs::Admit{{part_of(uid, living)}});
  return steps;
}

PluginModel::Steps PluginModel::change(const AgentState& state,
                                       const api::StateChangeEvent& event) {
  const api::Container& container = event.container();
  const auto told_of = [&]() -> Told* {
    const auto pod = pods_.find(event.pod().id());
    return pod == pods_.end() ? nullptr : pod->second.find(container.name());
  };
  const auto lives = [&] {  // even if the news is late
    Told* const told = told_of();
    if (told != nullptr && told->id == container.id()) told->is_over = false;
  };
  switch (event.event()) {
    case api::Event::RUN_POD_SANDBOX:
      pods_[event.pod().id()].uid = PodUid(event.pod().uid());
      return {};
    case api::Event::START_CONTAINER: {
      Steps steps = create(state, event.pod(), container);
      steps.emplace_back(verbs::Start{{PodUid(event.pod().uid()), container.name()}});
      return steps;
    }
    case api::Event::POST_START_CONTAINER: {
      const Told* const told = told_of();
      const bool is_of_earlier = told != nullptr && told->id != container.id() && !told->is_over;
      if (is_of_earlier) return {};
      Steps steps = create(state, event.pod(), container);
      lives();
      return steps;
    }
    case api::Event::POST_CREATE_CONTAINER:
      lives();
      return remove_ended(state);
    case api::Event::POST_UPDATE_CONTAINER:
      return {};
    case api::Event::STOP_POD_SANDBOX:
    case api::Event::REMOVE_POD_SANDBOX:
      pods_.erase(event.pod().id());
      return remove_ended(state);
    case api::Event::REMOVE_CONTAINER:
      end_container(container, true);
      return remove_ended(state);
    default:
      return remove_ended(state);
  }
}

/// Ends a container. `is_removed`: the last removal also ends a pod for which no further event
/// comes.
void PluginModel::end_container(const api::Container& container, bool is_removed) {
  const auto found = pods_.find(container.pod_sandbox_id());
  if (found == pods_.end()) return;
  Pod& pod = found->second;
  Told* const told = pod.find(container.name());
  if (told == nullptr || told->id != container.id()) return;
  told->is_over = true;
  const bool has_ended = std::all_of(pod.containers.begin(), pod.containers.end(),
                                     [](const Told& one) { return one.is_over; });
  if (is_removed && pod.is_from_synchronize && has_ended) pods_.erase(found);
}

PluginModel::Steps PluginModel::end_pods(const AgentState& state, const std::vector<PodUid>& pods) {
  std::erase_if(pods_, [&](const auto& entry) {
    return std::find(pods.begin(), pods.end(), entry.second.uid) != pods.end();
  });
  return remove_ended(state);
}

PluginModel::Steps PluginModel::remove_ended(const AgentState& state) const {
  Steps steps;
  const auto add = [&](const PodUid& uid) {
    const bool lives = std::any_of(pods_.begin(), pods_.end(),
                                   [&](const auto& entry) { return entry.second.uid == uid; });
    if (!lives) steps.emplace_back(verbs::Remove{uid, "", RunningProcesses::kRefuse});
  };
  for (const ActivePod& pod : state.node.pods) add(pod.spec.uid);
  for (const PodUid& uid : state.node.held) add(uid);
  return steps;
}

}  // namespace pinfold::world
