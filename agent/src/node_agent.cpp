#include "pinfold/agent/node_agent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pinfold/agent/known_machine.hpp"
#include "pinfold/agent/pods_file.hpp"
#include "pinfold/checkpoint/start.hpp"
#include "pinfold/enforce/drift.hpp"

namespace pinfold::agent {
namespace {

constexpr int kKillTimeoutMs = 5000;

/// What an agent remembers of pods goes with them.
void forget_inactive(AgentState& state) {
  const auto is_gone = [&](const PodUid& uid) { return state.node.find(uid) == nullptr; };
  std::erase_if(state.removed, [&](const ContainerId& id) { return is_gone(id.pod); });
  state.adopted.erase_if([&](const auto& entry) { return is_gone(entry.pod); });
  std::erase_if(state.ending, is_gone);
}

/// One pod decided; `state` becomes what the decision leaves.
AdmitOutcome decide_into(const Node& node, AgentState& state, const PodSpec& pod, Trace* trace,
                         Counts& counts) {
  Decision decision = decide(node, std::move(state.node), pod, trace, &counts);
  auto* const rejected = std::get_if<Rejected>(&decision);
  state.node = rejected != nullptr ? std::move(rejected->next)
                                   : std::move(std::get<Admitted>(decision).next);
  if (rejected == nullptr) {  // admitted again: it runs again
    std::erase_if(state.removed, [&](const ContainerId& id) { return id.pod == pod.uid; });
  }
  forget_inactive(state);
  AdmitOutcome outcome;
  if (rejected != nullptr) outcome.rejection = std::move(rejected->why);
  return outcome;
}

std::string intent_to_admit(const std::vector<PodSpec>& pods) {
  std::string text = "admit pod";
  for (const PodSpec& pod : pods) {
    text += fmt::format("{} '{}'", &pod == &pods.front() ? "" : ",", pod.name);
  }
  return text;
}

}  // namespace

Result<NodeAgent> NodeAgent::open(Node node, checkpoint::Store store,
                                  std::optional<enforce::Cgroups> cgroups, AgentOptions options,
                                  CpuSet offline) {
  NodeAgent agent(std::move(node), std::move(store), std::move(options));
  agent.offline_ = std::move(offline);
  PINFOLD_TRY(agent.restore());
  agent.cgroups_ = std::move(cgroups);
  if (agent.cgroups_) {
    agent.adopt_known();
    PINFOLD_TRY(agent.observe());
    agent.dirty_ = !enforce::drift(agent.observed_, agent.desired()).empty();
  }
  return agent;
}

Result<void> NodeAgent::restore() {
  PINFOLD_LET_WRAP(stored_, store_.load(), "read the state");
  checkpoint::KubeletFiles files{stored_.cpu, stored_.memory};
  auto started = checkpoint::start(node_, files, {}, options_.state_dir);
  if (!started) {
    return fail(ErrorCode::kCorrupt, fmt::format("start: {}: {}", to_string(started.error().stage),
                                                 started.error().error));
  }
  state_.node = *std::move(started);
  // Unreadable counts are forgotten, as a restart of the kubelet forgets all of them.
  if (const auto kept = store_.read_side_file(kMetricsFileName); kept && *kept) {
    metrics_ = decode_metrics(**kept).value_or(Metrics{});
  }
  if (auto known = store_.read_side_file(kMachineFileName)) {
    known_machine_ = std::move(*known).value_or("");
  }
  next_files_ = {std::move(files.cpu), std::move(files.memory), stored_.pods};
  if (!stored_.pods) return {};
  PINFOLD_TRY_WRAP(decode_pods(*stored_.pods, state_),
                   fmt::format("'{}/{}'", options_.state_dir, checkpoint::kPodsFileName));
  return {};
}

enforce::Layout NodeAgent::desired() const {
  return without_cpus(desired_layout(node_, state_, facts()), offline_,
                      shared_pool(node_, state_.node));
}

CpuSet NodeAgent::online_pool() const { return shared_pool(node_, state_.node) - offline_; }

std::vector<std::string> NodeAgent::affected() const {
  std::vector<std::string> lines;
  const CpuSet& offline = offline_;
  if (offline.empty()) return lines;
  const enforce::Layout now = desired();
  for (const auto& [name, group] : desired_layout(node_, state_, facts())) {
    if (name.is_pod() || group.isolation == Isolation::kHost || !group.cpus.intersects(offline)) {
      continue;
    }
    const CpuSet& left = now.at(name).cpus;
    const ActivePod* const pod = state_.node.find(name.pod);
    lines.push_back(fmt::format(
        "{}/{}, container {}: has lost CPUs {} of its {}, runs on {}{}", pod->spec.namespace_name,
        pod->spec.name, name.container, (group.cpus & offline).to_string(), group.cpus.to_string(),
        left.to_string(), group.cpus.contains_all(left) ? "" : " of the shared pool"));
  }
  if (const CpuSet lost = shared_pool(node_, state_.node) & offline; !lost.empty()) {
    lines.push_back(fmt::format("shared pool: has lost CPUs {}, {} left", lost.to_string(),
                                online_pool().empty() ? "none" : online_pool().to_string()));
  }
  return lines;
}

/// Durable first; in memory only once it is.
Result<void> NodeAgent::commit(AgentState next) {
  if (options_.dry_run) {
    state_ = std::move(next);
    return {};
  }
  checkpoint::KubeletFiles files{next_files_.cpu, next_files_.memory};
  checkpoint::update(node_, state_.node, next.node, files);
  checkpoint::Files bytes{std::move(files.cpu), std::move(files.memory), encode_pods(next)};
  if (bytes != stored_) {
    PINFOLD_TRY_WRAP(store_.commit(bytes), "persist");
    stored_ = bytes;
    next_files_ = std::move(bytes);
  }
  state_ = std::move(next);
  if (std::string machine = node_.machine().to_json().dump(); machine != known_machine_) {
    // Without it an offline CPU makes the next start fail as the kubelet's does; no more than that.
    if (store_.write_side_file(kMachineFileName, machine)) known_machine_ = std::move(machine);
  }
  return {};
}

/// Counts that cannot be kept are no reason to fail an admission.
void NodeAgent::save_metrics() {
  if (!options_.dry_run) (void)store_.write_side_file(kMetricsFileName, encode_metrics(metrics_));
}

Result<AdmitOutcome> NodeAgent::admit(const PodSpec& pod, Trace* trace) {
  std::vector<Trace> traces;
  PINFOLD_LET(auto outcomes, admit_with({pod}, trace != nullptr ? &traces : nullptr, nullptr));
  if (trace != nullptr) *trace = std::move(traces.front());
  return std::move(outcomes.front());
}

Result<std::vector<AdmitOutcome>> NodeAgent::admit_together(const std::vector<PodSpec>& pods,
                                                            std::vector<Trace>* traces) {
  return admit_with(pods, traces, nullptr);
}

/// An adoption goes with the only pod.
Result<std::vector<AdmitOutcome>> NodeAgent::admit_with(const std::vector<PodSpec>& pods,
                                                        std::vector<Trace>* traces,
                                                        const Adoption* adoption) {
  if (!offline_.empty()) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("{}: CPUs {} of this node are offline: nothing is admitted until they "
                            "are back",
                            intent_to_admit(pods), offline_.to_string()));
  }
  const auto begin = std::chrono::steady_clock::now();
  AgentState next = state_;
  std::vector<AdmitOutcome> outcomes;
  for (const PodSpec& pod : pods) {
    Trace* const trace = traces != nullptr ? &traces->emplace_back() : nullptr;
    outcomes.push_back(decide_into(node_, next, pod, trace, metrics_.counts));
  }
  if (adoption != nullptr && outcomes.front().rejection) adoption = nullptr;
  if (adoption != nullptr) {
    next.adopted[{pods.front().uid, adoption->container}] = adoption->directory;
    next.ending.insert(pods.front().uid);
  }
  PINFOLD_TRY_WRAP(commit(std::move(next)), intent_to_admit(pods));
  const auto took = std::chrono::steady_clock::now() - begin;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const auto& rejection = outcomes[i].rejection;
    log(LogLevel::kInfo, fmt::format("pod '{}': {}", pods[i].uid,
                                     rejection ? "rejected, " + rejection->message : "admitted"));
    metrics_.observe(took);
  }
  save_metrics();
  const auto not_enforced =
      adopt_and_apply(adoption, adoption != nullptr ? pods.front().uid : PodUid());
  for (AdmitOutcome& outcome : outcomes) outcome.not_enforced = not_enforced;
  return outcomes;
}

Result<ChangeOutcome> NodeAgent::start(const ContainerId& container) {
  PINFOLD_TRY(container_resources(node_, state_.node, container));
  AgentState next = state_;
  PINFOLD_LET(next.node, start_container(node_, std::move(next.node), container));
  next.removed.erase(container);
  PINFOLD_TRY_WRAP(commit(std::move(next)), fmt::format("start container '{}'", container.name));
  return ChangeOutcome{apply()};
}

Result<void> NodeAgent::attach(const ContainerId& container, pid_t process) {
  if (!cgroups_) {
    return fail(ErrorCode::kUnsupported, "this agent enforces nothing: there are no groups");
  }
  if (!desired().contains(container)) {
    return fail(
        ErrorCode::kNotFound,
        fmt::format("container '{}' of pod '{}' has no group: it is gone or was never there",
                    container.name, container.pod));
  }
  return cgroups_->attach(container, process);
}

Result<void> NodeAgent::make_empty(const std::vector<enforce::GroupName>& groups,
                                   RunningProcesses running) {
  if (!cgroups_) return {};
  for (const enforce::GroupName& group : groups) {
    PINFOLD_LET(auto pids, cgroups_->processes(group));
    if (pids.empty()) continue;
    if (running == RunningProcesses::kKill) {
      PINFOLD_TRY(cgroups_->kill(group, kKillTimeoutMs));
      continue;
    }
    return fail(ErrorCode::kBusy,
                fmt::format("'{}' still has {} process{} ({}{}): stop the container first",
                            to_string(group), pids.size(), pids.size() == 1 ? "" : "es",
                            pids.front(), pids.size() == 1 ? "" : ", ..."));
  }
  return {};
}

Result<ChangeOutcome> NodeAgent::remove_container(const ContainerId& container,
                                                  RunningProcesses running) {
  PINFOLD_TRY(container_resources(node_, state_.node, container));
  PINFOLD_TRY(make_empty({container}, running));
  AgentState next = state_;
  next.node = pinfold::remove_container(node_, std::move(next.node), container);
  next.removed.insert(container);
  next.adopted.erase(container);
  PINFOLD_TRY_WRAP(commit(std::move(next)), fmt::format("remove container '{}'", container.name));
  log(LogLevel::kInfo,
      fmt::format("container '{}' of pod '{}': removed", container.name, container.pod));
  return ChangeOutcome{apply()};
}

Result<ChangeOutcome> NodeAgent::remove_pod(const PodUid& uid, RunningProcesses running) {
  const ActivePod* const pod = state_.node.find(uid);
  if (pod == nullptr) {
    return fail(ErrorCode::kNotFound, fmt::format("pod '{}' is not active on this node", uid));
  }
  std::vector<enforce::GroupName> groups;
  for (const auto& [name, group] : observed_) {
    if (name.pod == uid) groups.push_back(name);
  }
  PINFOLD_TRY(make_empty(groups, running));
  AgentState next = state_;
  next.node = pinfold::remove_pod(node_, std::move(next.node), uid);
  forget_inactive(next);
  PINFOLD_TRY_WRAP(commit(std::move(next)), fmt::format("remove pod '{}'", uid));
  log(LogLevel::kInfo, fmt::format("pod '{}': removed", uid));
  return ChangeOutcome{apply()};
}

}  // namespace pinfold::agent
