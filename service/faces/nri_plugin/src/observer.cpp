#include "observer.hpp"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "pinfold/nri_plugin/group_path.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::nri {

using agent::LogLevel;

namespace {

std::string describe(const verbs::CpusetDifference& difference) {
  std::string text = fmt::format(
      "NRI: container '{}' of pod '{}' runs on {}, would have {}", difference.container.container,
      to_string(difference.container.pod), cpus_named(difference.observed_cpus),
      difference.desired_cpus.empty() ? "any" : difference.desired_cpus.to_string());
  const enforce::NodeSet& mems = difference.desired_mems;
  if (!mems.empty() && mems != difference.observed_mems) {
    text += fmt::format("; on memory nodes {}, would have {}", difference.observed_mems.to_string(),
                        mems.to_string());
  }
  if (!difference.why_shared.empty()) text += "; shared, as " + difference.why_shared;
  return text;
}

}  // namespace

Observer::Observer(const Node& node, FollowerOptions options)
    : Follower(std::move(options)), state_(empty_state(node)) {}

void Observer::execute(const Node& node, const AgentRequests& requests) {
  for (const std::string& note : requests.notes) log(LogLevel::kInfo, "NRI: " + note);
  for (const PodUid& uid : requests.remove_pods) {
    state_ = remove_pod(node, std::move(state_), uid);
  }
  for (const ContainerId& id : requests.remove_containers) {
    state_ = remove_container(node, std::move(state_), id);
  }
  for (const ContainerId& id : requests.release) {
    state_ = remove_container(node, std::move(state_), id);
  }
  for (const auto& [uid, shown] : requests.shown) why_shared_[uid] = shown.why_shared;
  for (const PodSpec& pod : requests.admit) {
    const auto shown = requests.shown.find(pod.uid);
    const Places places = shown == requests.shown.end() ? Places() : shown->second.places;
    Decision decision = decide_keeping(node, std::move(state_), pod, places);
    if (auto* const rejected = std::get_if<Rejected>(&decision)) {
      log(LogLevel::kWarning,
          fmt::format("NRI: pod '{}/{}' would be rejected, {}: {}", pod.namespace_name, pod.name,
                      rejected->why.reason, rejected->why.message));
      state_ = std::move(rejected->next);
    } else {
      state_ = std::move(std::get<Admitted>(decision).next);
    }
  }
  std::erase_if(why_shared_, [&](const auto& why) { return state_.find(why.first) == nullptr; });
}

api::SynchronizeResponse Observer::synchronize(Agent& agent,
                                               const api::SynchronizeRequest& request) {
  known_ = KnownPods(request, age());
  is_synchronized_ = true;
  execute(agent.node(), plan_synchronize(known_, premises(agent), state_));
  look(agent);
  return {};
}

Result<api::CreateContainerResponse> Observer::create(Agent& agent,
                                                      const api::CreateContainerRequest& request) {
  create_container(agent, request.pod(), request.container());
  return api::CreateContainerResponse();
}

void Observer::create_container(const Agent& agent, const api::PodSandbox& pod,
                                const api::Container& container) {
  api::CreateContainerRequest request;
  *request.mutable_pod() = pod;
  *request.mutable_container() = container;
  // A cpuset is the kubelet's own decision, which is compared with ours.
  request.mutable_container()->mutable_linux()->mutable_resources()->mutable_cpu()->clear_cpus();
  const auto plan = plan_create(known_, request, premises(agent), state_);
  if (plan) {
    execute(agent.node(), plan->requests);
  } else {
    log(LogLevel::kWarning, "NRI: would not be created: " + plan.error().message);
  }
  known_.create(pod, container);
}

Result<api::UpdateContainerResponse> Observer::update(
    Agent& /*agent*/, const api::UpdateContainerRequest& /*request*/) {
  return api::UpdateContainerResponse();
}

api::StopContainerResponse Observer::stop(Agent& agent, const api::StopContainerRequest& request) {
  (void)change(agent, event_of(request));
  return {};
}

/// Plans for a container that Synchronize has missed, or that was created without a plugin.
void Observer::take_unknown(const Agent& agent, const api::StateChangeEvent& event) {
  const api::Container& container = event.container();
  const KnownContainer* const known = known_.find_name_of(container);
  // Events of an earlier container of the same name arrive late.
  if (known != nullptr &&
      (known->shown.id() == container.id() || known->phase != Phase::kStopped)) {
    return;
  }
  create_container(agent, event.pod(), container);
}

Result<void> Observer::change(Agent& agent, const api::StateChangeEvent& event) {
  const bool is_start = event.event() == api::Event::START_CONTAINER ||
                        event.event() == api::Event::POST_START_CONTAINER;
  if (is_synchronized_ && is_start) take_unknown(agent, event);
  known_.change(event);
  if (event.event() == api::Event::RUN_POD_SANDBOX) {
    if (const auto plan = plan_sandbox(event.pod(), premises(agent), state_))
      execute(agent.node(), *plan);
  } else {
    execute(agent.node(), plan_removal(known_, state_));
  }
  if (event.event() == api::Event::POST_START_CONTAINER) look(agent);
  return {};
}

std::string Observer::why_shared(const Node& node, const ContainerId& id) const {
  const auto noted = why_shared_.find(id.pod);
  if (noted != why_shared_.end() && !noted->second.empty()) return noted->second;
  const ActivePod* const pod = state_.find(id.pod);
  const Container* const container = pod == nullptr ? nullptr : pod->spec.find(id.name);
  return container == nullptr ? "" : node.cpu().why_shared(pod->spec, *container);
}

/// Skips containers without a decision, and those whose group cannot be read.
void Observer::compare(const Agent& agent, const KnownPod& pod, const KnownContainer& container,
                       verbs::Comparison& comparison) const {
  const auto id = find_container(state_, pod.uid(), container.shown.name());
  const auto directory = group_directory(options_.mount, container.shown.linux().cgroups_path());
  if (!id || !directory) return;
  const auto resources = container_resources(agent.node(), state_, *id);
  const auto group = agent.enforced()->reader(*directory);
  if (!resources || !group) return;
  auto cpus = group->cpus();
  auto mems = group->mems();
  auto desired_mems = enforce::NodeSet::parse(resources->cpuset_mems);
  if (!cpus || !mems || !desired_mems) return;
  ++comparison.compared;
  CpuSet desired_cpus = resources->cpuset_cpus - agent.offline();
  const bool has_cpus = desired_cpus.empty() || *cpus == desired_cpus;
  const bool has_mems = desired_mems->empty() || *mems == *desired_mems;
  if (has_cpus && has_mems) return;
  comparison.differences.push_back(
      {{{pod.uid(), pod.sandbox.namespace_(), pod.sandbox.name()}, container.shown.name()},
       *std::move(cpus),
       std::move(desired_cpus),
       *std::move(mems),
       *std::move(desired_mems),
       resources->isolation == Isolation::kHost ? why_shared(agent.node(), *id) : std::string()});
}

void Observer::look(Agent& agent) {
  if (!is_synchronized_) return;
  verbs::Comparison comparison;
  for (const auto& [sandbox, pod] : known_.all()) {
    for (const KnownContainer& container : pod.containers) {
      if (container.phase == Phase::kStarted) compare(agent, pod, container, comparison);
    }
  }
  std::map<ContainerId, std::string> lines;
  for (const verbs::CpusetDifference& difference : comparison.differences) {
    const ContainerId id = id_of(difference.container);
    std::string& line = lines[id];
    line = describe(difference);
    const auto before = logged_.find(id);
    if (before == logged_.end() || before->second != line) log(LogLevel::kInfo, line);
  }
  logged_ = std::move(lines);
  counters_.differences = comparison.differences.size();
  comparison_ = std::move(comparison);
}

}  // namespace pinfold::nri
