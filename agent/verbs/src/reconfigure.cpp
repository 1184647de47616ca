#include "pinfold/verbs/reconfigure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "pinfold/agent/known_machine.hpp"
#include "pinfold/agent/node_file.hpp"
#include "pinfold/decide/config_effects.hpp"
#include "pinfold/verbs/config_file.hpp"

namespace pinfold::verbs {
namespace {

Result<NodeConfig> read_config_for(const agent::NodeAgent& agent,
                                   const std::optional<std::string>& text,
                                   const NodeSource& source) {
  if (source.config) return source.config(text);
  if (!text) return NodeConfig{agent.node().config(), agent.options().profile_source};
  PINFOLD_LET_WRAP(auto parsed, parse_config(*text), "configuration");
  return node_config_of(std::move(parsed), agent.node().config());
}

/// Reads the target configuration; it has the profile of the node if nothing names another one.
Result<Config> read_target_config(const agent::NodeAgent& agent,
                                  const std::optional<std::string>& text, const NodeSource& source,
                                  std::vector<std::string>& warnings) {
  PINFOLD_LET(auto read, read_config_for(agent, text, source));
  // A caller has checked a text; a file of the node may leave out what a flag sets.
  PINFOLD_TRY(
      check_policies(text ? read.open_policies : read.unset_policies, agent.node().config()));
  warnings = std::move(read.warnings);
  return agent::with_profile_of(agent.node().config(), std::move(read.config), read.profile_source);
}

Result<void> check_request(const Reconfigure& request) {
  if (!request.undo) return {};
  const char* const other = request.config                  ? "a configuration"
                            : request.machine               ? "a machine"
                            : request.evict != Evict::kNone ? "pods to evict"
                                                            : nullptr;
  if (other == nullptr) return {};
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("undo: expected no configuration, machine or pods to evict, got {}", other));
}

Result<Node> make_node_of(const NodeSource& source, const Machine& machine, const Config& config) {
  auto providers = source.providers ? source.providers(machine) : Node::Providers();
  return agent::make_node(machine, config, std::move(providers));
}

/// Makes the node after the reconfiguration, and adds the warnings of its configuration.
Result<Node> make_target(const agent::NodeAgent& agent, const Reconfigure& request,
                         const NodeSource& source, std::vector<std::string>& warnings) {
  if (request.undo) {
    const auto& before = agent.before();
    if (before) return make_node_of(source, before->machine, before->config);
    return fail(ErrorCode::kNotFound,
                fmt::format("undo: state directory '{}' was not reconfigured, or its configuration "
                            "has changed since",
                            agent.options().state_dir));
  }
  PINFOLD_LET(const auto config, read_target_config(agent, request.config, source, warnings));
  if (request.machine) return make_node_of(source, *request.machine, config);
  if (!source.machine) return make_node_of(source, agent.node().machine(), config);
  PINFOLD_LET(auto machine, source.machine());
  return make_node_of(source, machine, config);
}

/// On the heap, because a node takes much of a small stack.
Result<std::unique_ptr<Node>> allocate_target(const agent::NodeAgent& agent,
                                              const Reconfigure& request, const NodeSource& source,
                                              std::vector<std::string>& warnings) {
  auto to = make_target(agent, request, source, warnings);
  if (!to) return fail(std::move(to).error());
  return std::make_unique<Node>(*std::move(to));
}

Result<ConfigFiles> open_config_files(const agent::NodeAgent& agent, const NodeSource& source) {
  const agent::AgentOptions& options = agent.options();
  PINFOLD_LET(auto fs, source.files ? source.files()
                                    : checkpoint::open_state_directory(
                                          options.state_dir,
                                          checkpoint::owner_check(options.insecure_state_dir)));
  return ConfigFiles::open(std::move(fs));
}

/// Returns the text of config.yaml that a start needs; nullopt if it already yields the target.
std::optional<std::string> text_to_install(const agent::NodeAgent& agent,
                                           const Reconfigure& request, const NodeSource& source,
                                           const Config& target, const ConfigFiles& files) {
  if (request.config) {
    return request.config == files.current() ? std::nullopt : request.config;
  }
  const auto is_target = [&](const std::optional<std::string>& text) {
    if (!text) return false;
    std::vector<std::string> unused;
    const auto config = read_target_config(agent, text, source, unused);
    return config && *config == target;
  };
  if (!request.undo || is_target(files.current())) return std::nullopt;
  return is_target(files.earlier()) ? *files.earlier() : to_json(target).dump(2) + "\n";
}

Result<void> install(const agent::NodeAgent& agent, const Reconfigure& request,
                     const NodeSource& source, const Config& target, ConfigFiles& files) {
  if (source.file == ConfigFile::kReplace && !files.current()) return {};
  const auto text = text_to_install(agent, request, source, target, files);
  if (!text) return {};
  auto installed = files.install(*text);
  if (!installed) (void)files.restore();
  return installed;
}

Result<void> apply(agent::NodeAgent& agent, Node to, agent::RunningProcesses running,
                   Reconfigured& outcome) {
  PINFOLD_LET(outcome.change, agent.reconfigure(std::move(to), outcome.planned.plan.next, running));
  outcome.is_applied = true;
  return {};
}

/// Installs the configuration before the commit, so that the next reconfiguration, or the next
/// start of the service, completes an interrupted one.
Result<void> install_and_apply(agent::NodeAgent& agent, const Reconfigure& request,
                               const NodeSource& source, Node to, Reconfigured& outcome) {
  if (source.file == ConfigFile::kLeave) {
    return apply(agent, std::move(to), request.running, outcome);
  }
  PINFOLD_LET_WRAP(auto files, open_config_files(agent, source), "install the configuration");
  PINFOLD_TRY_WRAP(install(agent, request, source, to.config(), files),
                   "install the configuration");
  auto applied = apply(agent, std::move(to), request.running, outcome);
  if (applied) return {};
  if (const auto restored = files.restore(); !restored) {
    applied.error().message +=
        fmt::format("; '{}/{}' has the new configuration: {}", agent.options().state_dir,
                    agent::kConfigFileName, restored.error().message);
  }
  return applied;
}

/// Reverts an uncommitted reconfiguration: restores the configuration file, and brings the kernel
/// to the state.
Result<void> take_back(agent::NodeAgent& agent, const Reconfigure& request, ConfigFiles& files,
                       Reconfigured& outcome) {
  outcome.planned = agent::plan_nothing(agent);
  outcome.planned.differences.push_back(fmt::format(
      "{}: becomes what it was before an interrupted reconfiguration", agent::kConfigFileName));
  if (request.dry_run) return {};
  PINFOLD_TRY_WRAP(files.take_back(), "restore the configuration");
  PINFOLD_LET(outcome.change, agent.reconfigure(std::nullopt, agent.state().node,
                                                agent::RunningProcesses::kRefuse));
  outcome.is_applied = true;
  return {};
}

/// Reverts a reconfiguration that was interrupted before its commit; false if none was.
Result<bool> take_back_interrupted(agent::NodeAgent& agent, const Reconfigure& request,
                                   const NodeSource& source, Reconfigured& outcome) {
  if (!request.undo || source.file == ConfigFile::kLeave) return false;
  PINFOLD_LET_WRAP(auto files, open_config_files(agent, source), "read the configuration");
  if (!files.is_interrupted(agent.node().config(), agent.before())) return false;
  PINFOLD_TRY(take_back(agent, request, files, outcome));
  return true;
}

/// Sets the parts of the node after the reconfiguration, if it is another one.
void note_other_node(const Node& from, const Node& to, Reconfigured& outcome) {
  if (to.config() == from.config() && to.machine() == from.machine()) return;
  outcome.other_node.emplace(NodeParts{to.machine(), to.config()});
}

}  // namespace

NodeConfig node_config_of(ParsedConfig parsed, const Config& until_now) {
  const agent::ProfileSource source = agent::profile_source_of(parsed);
  auto warnings = config_warnings(std::move(parsed.warnings),
                                  agent::with_profile_of(until_now, parsed.config, source));
  return {
      std::move(parsed.config), source, std::move(parsed.open_policies), {}, std::move(warnings)};
}

std::string_view to_string(Evict evict) {
  switch (evict) {
    case Evict::kNone:
      return "none";
    case Evict::kLost:
      return "lost";
    case Evict::kRejected:
      break;
  }
  return "rejected";
}

Result<Reconfigured> reconfigure(agent::NodeAgent& agent, const Reconfigure& request,
                                 const NodeSource& source) {
  PINFOLD_TRY(check_request(request));
  const auto allocated = std::make_unique<Reconfigured>();  // a caller's stack can be small
  Reconfigured& outcome = *allocated;
  PINFOLD_LET(const bool is_done, take_back_interrupted(agent, request, source, outcome));
  if (is_done) return std::move(outcome);
  PINFOLD_LET(const auto to, allocate_target(agent, request, source, outcome.warnings));
  PlanOptions rules;
  rules.evict = request.evict == Evict::kRejected;
  PINFOLD_LET(outcome.planned, request.undo ? agent::plan_undo(agent, *to)
                                            : agent::plan_reconfiguration(agent, *to, rules));
  note_other_node(agent.node(), *to, outcome);
  if (request.dry_run || !check_consent(request, outcome)) return std::move(outcome);
  if (source.check) PINFOLD_TRY(source.check(*to));
  PINFOLD_TRY(install_and_apply(agent, request, source, std::move(*to), outcome));
  return std::move(outcome);
}

Result<Reconfigured> defragment(agent::NodeAgent& agent, const Defragment& request) {
  Reconfigured outcome;
  if (agent.state().node.find(request.pod.uid) != nullptr) {
    outcome.planned.room.emplace();
    outcome.planned.room->pod = ref_of(request.pod);
    outcome.planned.room->is_active = true;
    outcome.planned.room->is_possible = true;
    return outcome;
  }
  PlanOptions rules;
  rules.steps = request.steps;
  PINFOLD_LET(outcome.planned, agent::plan_defragmentation(agent, request.pod, rules));
  const agent::Room& room = *outcome.planned.room;
  if (request.dry_run || !room.rejection || !room.is_possible) return outcome;
  PINFOLD_LET(outcome.change, agent.reconfigure(std::nullopt, outcome.planned.plan.next,
                                                agent::RunningProcesses::kRefuse));
  outcome.is_applied = true;
  return outcome;
}

Result<void> check_consent(const Reconfigure& request, const Reconfigured& outcome) {
  const auto& evicted = outcome.planned.plan.evicted;
  if (evicted.empty() || request.evict != Evict::kNone) return {};
  return fail(
      ErrorCode::kUnsupported,
      fmt::format("pods that no longer fit: {}; nothing has changed", fmt::join(evicted, ", ")));
}

}  // namespace pinfold::verbs
