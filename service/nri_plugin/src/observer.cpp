#include "observer.hpp"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "pinfold/nri_plugin/group_path.hpp"

namespace pinfold::nri {

using agent::LogLevel;

Observer::Observer(const Node& node, FollowerOptions options)
    : Follower(node, std::move(options)), state_(empty_state(node)) {}

void Observer::execute(const Node& node, const AgentRequests& requests) {
  for (const std::string& note : requests.notes) log(LogLevel::kInfo, "NRI: " + note);
  for (const PodUid& uid : requests.remove_pods) {
    state_ = remove_pod(node, std::move(state_), uid);
  }
  for (const ContainerId& id : requests.remove_containers) {
    state_ = remove_container(node, std::move(state_), id);
  }
  for (const PodSpec& pod : requests.admit) {
    Decision decision = decide(node, std::move(state_), pod);
    if (auto* const rejected = std::get_if<Rejected>(&decision)) {
      log(LogLevel::kWarning,
          fmt::format("NRI: pod '{}/{}' would be rejected, {}: {}", pod.namespace_name, pod.name,
                      rejected->why.reason, rejected->why.message));
      state_ = std::move(rejected->next);
    } else {
      state_ = std::move(std::get<Admitted>(decision).next);
    }
  }
}

void Observer::synchronize(Agent& agent, const api::SynchronizeRequest& request) {
  known_ = KnownPods(request);
  execute(agent.node(), plan_synchronize(known_, premises_, state_));
  look(agent);
}

Result<api::CreateContainerResponse> Observer::create(Agent& agent,
                                                      const api::CreateContainerRequest& request) {
  const auto plan = plan_create(known_, request, premises_, state_);
  if (plan) {
    execute(agent.node(), plan->requests);
  } else {
    log(LogLevel::kWarning, "NRI: would not be created: " + plan.error().message);
  }
  known_.create(request.pod(), request.container());
  return api::CreateContainerResponse();
}

api::UpdateContainerResponse Observer::update(Agent& /*agent*/,
                                              const api::UpdateContainerRequest& /*request*/) {
  return {};
}

Result<void> Observer::change(Agent& agent, const api::StateChangeEvent& event) {
  known_.change(event);
  if (event.event() == api::Event::RUN_POD_SANDBOX) {
    if (const auto plan = plan_sandbox(event.pod(), premises_, state_))
      execute(agent.node(), *plan);
  } else {
    execute(agent.node(), plan_removal(known_, state_));
  }
  if (event.event() == api::Event::POST_START_CONTAINER) look(agent);
  return {};
}

void Observer::look(Agent& agent) {
  counters_.differences = 0;
  std::map<std::string, std::string> lines;
  for (const auto& [sandbox, pod] : known_.all()) {
    for (const KnownContainer& container : pod.containers) {
      if (container.phase != Phase::kStarted) continue;
      const PodUid uid = pod.uid();
      const auto id = find_container(state_, uid, container.shown.name());
      const auto resources =
          id ? container_resources(agent.node(), state_, *id) : fail(ErrorCode::kNotFound, "");
      const auto directory =
          group_directory(options_.mount, container.shown.linux().cgroups_path());
      if (!resources || !directory || resources->cpuset_cpus.empty()) continue;
      const auto group = agent.enforced()->open_elsewhere(*directory);
      const auto has = group ? effective_cpus(*group) : fail(group.error());
      if (!has || *has == resources->cpuset_cpus) continue;
      ++counters_.differences;
      lines[container.shown.id()] = fmt::format(
          "NRI: container '{}' of pod '{}' runs on CPUs {}, would have {}", container.shown.name(),
          uid, has->to_string(), resources->cpuset_cpus.to_string());
    }
  }
  for (const auto& [id, line] : lines) {
    if (const auto before = logged_.find(id); before == logged_.end() || before->second != line) {
      log(LogLevel::kInfo, line);
    }
  }
  logged_ = std::move(lines);
}

std::vector<api::ContainerUpdate> Observer::updates(Agent& /*agent*/, std::size_t /*limit*/) {
  return {};
}

void Observer::updated(Agent& /*agent*/, const std::vector<api::ContainerUpdate>& /*updates*/) {}

}  // namespace pinfold::nri
