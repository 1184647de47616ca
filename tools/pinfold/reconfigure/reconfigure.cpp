#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/agent_arguments.hpp"
#include "agent/agent_session.hpp"
#include "agent/command_line.hpp"
#include "agent/config_source.hpp"
#include "agent/node_source.hpp"
#include "commands.hpp"
#include "documents.hpp"
#include "node/status_picture.hpp"
#include "pinfold/agent/node_file.hpp"
#include "pinfold/picture/text.hpp"
#include "reconfigure/reconfigure_drawing.hpp"
#include "reconfigure/reconfigure_text.hpp"

namespace pinfold::tools {
namespace {

using verbs::Evict;

struct ReconfigureOptions {
  AgentArguments agent;  ///< of the new node
  /// The old configuration, and the old machine as JSON, if the state directory does not record
  /// them. from_machine "": the machine is the same.
  std::string from;
  std::string from_machine;
  Evict evict = Evict::kNone;
  bool kill = false;
  bool undo = false;
  Drawing drawing;
};

/// A request, and the policies that its configuration leaves unset: see ParsedConfig.
struct ReconfigureCall {
  verbs::Reconfigure request;
  std::vector<std::string> unset_policies = {};
};

/// Opens the agent of a directory that a kubelet has used, with the kubelet's configuration. If
/// that does not name a profile, it is derived from the state files if possible.
Result<agent::NodeAgent> open_from(const ReconfigureOptions& options) {
  NodeOptions then;
  then.state_dir = options.agent.state_dir;
  then.insecure_state_dir = options.agent.insecure_state_dir;
  then.config = options.from;
  then.machine = options.from_machine.empty() ? options.agent.machine : options.from_machine;
  then.sysfs = options.agent.sysfs;
  PINFOLD_LET(auto node, read_config(then));
  PINFOLD_LET(auto machine, read_machine(then));
  auto agent = agent::open_agent(std::move(machine), std::move(node.config),
                                 agent_options_of(options.agent, node.profile_source));
  if (agent || agent.error().code != ErrorCode::kCorrupt) return agent;
  return fail(ErrorCode::kCorrupt,
              with_own_advice(options.agent, agent.error()).message +
                  "; the state does not match --from and this machine: if the machine has "
                  "changed, name the previous one with --from-machine, or first run 'pinfold "
                  "checkpoint repair' with the previous configuration");
}

/// Opens the agent before the reconfiguration.
Result<agent::NodeAgent> open_before(const ReconfigureOptions& options) {
  if (!options.from.empty()) return open_from(options);
  auto opened = agent_options_of(options.agent, agent::ProfileSource::kConfiguration);
  auto stored = agent::read_stored_node(opened);
  if (!stored && stored.error().code == ErrorCode::kNotFound) {
    return fail(ErrorCode::kNotFound,
                stored.error().message + ": name that configuration with --from");
  }
  if (!stored) return fail(std::move(stored).error());
  auto agent =
      agent::open_agent(std::move(stored->machine), std::move(stored->config), std::move(opened));
  if (agent || agent.error().code != ErrorCode::kCorrupt) return agent;
  return fail(ErrorCode::kCorrupt,
              with_own_advice(options.agent, agent.error()).message +
                  "; if a kubelet has run with another configuration since, name it with --from");
}

/// Opens the agent. Fails if no new configuration is named, because the kubelet's defaults are
/// probably not meant.
Result<agent::NodeAgent> open_to_change(const ReconfigureOptions& options,
                                        const std::vector<std::string>& unset_policies) {
  PINFOLD_LET(auto agent, open_before(options));
  PINFOLD_TRY(check_policies(unset_policies, agent.node().config()));
  const bool is_named = options.undo || !lacks_config(options.agent);
  Config defaults;
  defaults.profile = agent.node().config().profile;
  if (is_named || agent.node().config() == defaults) return agent;
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("no new configuration: name one with --config ('{}' does not exist, and this "
                  "node does not use the kubelet's defaults)",
                  own_config_file(options.agent)));
}

/// Returns the given option that only a command without a service supports; "" if there is none.
std::string own_option(const ReconfigureOptions& options) {
  if (!options.from.empty()) return fmt::format("--from '{}'", options.from);
  if (!options.agent.profile.empty()) return fmt::format("--profile '{}'", options.agent.profile);
  if (options.agent.kubelet_binary.empty()) return "";
  return fmt::format("--kubelet-binary '{}'", options.agent.kubelet_binary);
}

Result<ReconfigureCall> make_call(const ReconfigureOptions& options) {
  ReconfigureCall call;
  verbs::Reconfigure& request = call.request;
  request.evict = options.evict;
  request.running =
      options.kill ? agent::RunningProcesses::kKill : agent::RunningProcesses::kRefuse;
  request.undo = options.undo;
  request.dry_run = options.agent.dry_run;
  if (names_config(options.agent)) {
    PINFOLD_LET(auto read, read_config_text(options.agent));
    request.config = std::move(read.text);
    call.unset_policies = std::move(read.unset_policies);
    PINFOLD_LET_WRAP(const auto parsed, parse_config(*request.config), options.agent.config);
    for (const std::string& warning : parsed.warnings) warn("configuration: " + warning);
  }
  if (!options.agent.machine.empty() || options.agent.sysfs != NodeOptions{}.sysfs) {
    PINFOLD_LET(request.machine, read_machine(options.agent));
  }
  return Result<ReconfigureCall>(std::move(call));
}

/// Checks the options against those of the service, which reads its configuration again when it
/// starts, without the options of this command.
Result<void> check_hello(const ReconfigureOptions& options,
                         const std::vector<std::string>& unset_policies,
                         const socket::Hello& hello) {
  PINFOLD_TRY(check_policies(unset_policies, hello.config));
  if (options.agent.dry_run) return {};
  if (const std::string option = own_option(options); !option.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: the service at '{}' has the state directory '{}', and reads its "
                            "own configuration: name the profile there",
                            option, options.agent.socket, options.agent.state_dir));
  }
  return check_cgroup_options(options.agent, hello);
}

Result<void> print(const ReconfigureOptions& options, const AnsweredReconfigure& done) {
  Drawing drawing = options.drawing;
  if (options.agent.output == OutputFormat::kJson) {
    drawing.picture = false;
  } else {
    fmt::print("{}", describe(done.outcome.planned));
    if (options.agent.no_enforce && !done.outcome.planned.steps.empty()) {
      fmt::print("{}", wrapped_lines("--no-enforce: Pinfold does not perform these steps. The "
                                     "kubelet sets the CPUs when it starts; running containers "
                                     "keep their memory nodes\n",
                                     terminal_style()));
    }
  }
  return draw(drawing, "Reconfiguration of " + done.from.machine.name(), done);
}

ExitStatus finish(const ReconfigureOptions& options, const verbs::Reconfigure& request,
                  const verbs::Reconfigured& outcome) {
  if (options.agent.output == OutputFormat::kJson) {
    verbs::Reconfigured shown = outcome;
    shown.other_node.reset();  // it has the machine and the configuration in full
    fmt::print("{}", json_text(shown));
  } else if (options.agent.dry_run) {
    print_dry_run(options.agent);
  } else if (outcome.is_applied) {
    fmt::print("{}{}\n", describe_measured(outcome),
               options.undo ? "the previous state is restored"
                            : "reconfigured; 'pinfold reconfigure --undo' undoes it");
  }
  if (outcome.change.not_enforced) return report_not_enforced(*outcome.change.not_enforced);
  if (outcome.is_applied) return kYes;
  if (auto refused = verbs::check_consent(request, outcome); !refused) {
    refused.error().message +=
        ". Remove them with --evict lost, or make room by removing other pods";
    (void)report(refused.error());
    return kNo;
  }
  return options.agent.dry_run ? kYes : kNo;
}

Result<ExitStatus> run(const ReconfigureOptions& options) {
  PINFOLD_LET(const auto call, make_call(options));
  // Plan here, not in the service, with options that only this command supports.
  const bool is_own = options.agent.dry_run && !own_option(options).empty();
  const OwnAgent own{
      [&] { return open_to_change(options, call.unset_policies); },
      source_of_command(options.agent), is_own,
      [&](const socket::Hello& hello) { return check_hello(options, call.unset_policies, hello); }};
  PINFOLD_LET(const auto done, reconfigure_node(options.agent, call.request, own));
  PINFOLD_TRY(print(options, done));
  return finish(options, call.request, done.outcome);
}

}  // namespace

cli::Command reconfigure_command() {
  auto options = std::make_shared<ReconfigureOptions>();
  cli::Command command{
      "reconfigure",
      "Change the configuration or machine while containers run: plan which containers keep their "
      "CPUs and memory and which move, then apply the plan without any overlap of exclusive CPUs"};
  command.add(agent_arguments(options->agent));
  command.add(
      {output_option(options->agent.output),
       dry_run_option(options->agent),
       {.name = "--from",
        .target = &options->from,
        .help = "The KubeletConfiguration of the current state, if the state directory does not "
                "have it because a kubelet wrote the state",
        .value = "FILE",
        .excludes = {"--undo"}},
       {.name = "--from-machine",
        .target = &options->from_machine,
        .help = "With --from: the machine of the current state, as JSON [this machine]",
        .value = "FILE",
        .needs = "--from"},
       {.name = "--evict",
        .target = cli::one_of<Evict>(
            options->evict,
            {{"none", Evict::kNone}, {"lost", Evict::kLost}, {"rejected", Evict::kRejected}}),
        .help = "Pods that may be removed: none; lost, those that cannot keep enough; or rejected, "
                "also those that the new rules would reject"},
       {"--kill", &options->kill, "Kill the processes of pods that are removed"},
       {.name = "--undo",
        .target = &options->undo,
        .help = "Undo the last reconfiguration, and give each container back what it had before",
        .excludes = {"--config", "--kubelet-flags", "--machine", "--sysfs", "--profile",
                     "--kubelet-binary", "--evict"}},
       {"--picture", &options->drawing.picture, "Draw the node before and after"},
       svg_option(options->drawing.svg),
       socket_option(options->agent)});
  command.sections = {{"Examples",
                       {{"pinfold reconfigure --config new.yaml --dry-run",
                         "Print what each container would keep and what would move"},
                        {"pinfold reconfigure --config new.yaml", "Apply the plan"},
                        {"pinfold reconfigure --undo", "Undo it"},
                        {"pinfold reconfigure --no-enforce --state-dir /var/lib/kubelet --from "
                         "/var/lib/kubelet/config.yaml --config new.yaml",
                         "The same for a stopped kubelet that will start with new.yaml"}}}};
  command.run = [options] { return exit_status(run(*options)); };
  return command;
}

}  // namespace pinfold::tools
