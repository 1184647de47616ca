#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "agent_session.hpp"
#include "commands.hpp"
#include "input.hpp"
#include "pinfold/agent/reconfiguration.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/checkpoint/replace_all.hpp"
#include "pinfold/text/message.hpp"
#include "reconfigure_text.hpp"
#include "status_picture.hpp"

namespace pinfold::tools {
namespace {

enum class Evict { kNone, kLost, kRejected };

struct ReconfigureOptions {
  AgentOptions agent;  ///< of the node to be
  std::string from;    ///< the configuration until now, if the state directory does not say
  Evict evict = Evict::kNone;
  bool kill = false;
  bool undo = false;
  bool picture = false;
  std::string svg;
};

const std::string kConfigName = "config.yaml";
const std::string kEarlierConfigName = "config.yaml.before";

/// The agent as it is until now.
Result<agent::NodeAgent> open_before(const ReconfigureOptions& options) {
  auto opened = agent_options_of(options.agent, agent::ProfileSource::kConfiguration);
  if (!options.from.empty()) {
    PINFOLD_LET(auto parsed, agent::read_config(options.agent.state_dir, options.from));
    PINFOLD_LET(auto machine, read_machine(options.agent));
    return agent::open_agent(std::move(machine), std::move(parsed.config), std::move(opened));
  }
  auto stored = agent::read_stored_node(opened);
  if (!stored && stored.error().code == ErrorCode::kNotFound) {
    return fail(ErrorCode::kNotFound, stored.error().message +
                                          ": name that configuration with --from (the machine must "
                                          "be the same)");
  }
  if (!stored) return fail(std::move(stored).error());
  return agent::open_agent(std::move(stored->machine), std::move(stored->config),
                           std::move(opened));
}

/// The node from now on.
Result<Node> make_target(const ReconfigureOptions& options, const agent::NodeAgent& agent) {
  if (options.undo) {
    if (!agent.before()) {
      return fail(ErrorCode::kNotFound,
                  fmt::format("--undo: state directory '{}' was not "
                              "reconfigured, or its configuration has changed "
                              "since",
                              options.agent.state_dir));
    }
    return agent::make_node(agent.before()->machine, agent.before()->config);
  }
  PINFOLD_LET(auto node, read_config(options.agent));
  if (node.profile_source == agent::ProfileSource::kDefault) {
    node.config.profile = agent.node().config().profile;
  }
  return make_node(options.agent, std::move(node.config));
}

/// Puts the new configuration where the commands look for it, if it is there until now, and keeps
/// the old one. Before the commit: a reconfiguration that is interrupted goes on with the next
/// `pinfold reconfigure`.
Result<void> install_config(const ReconfigureOptions& options, const Config& target) {
  const std::string& directory = options.agent.state_dir;
  PINFOLD_LET(const auto fs,
              checkpoint::open_state_directory(
                  directory, checkpoint::owner_check(options.agent.insecure_state_dir)));
  PINFOLD_LET(const auto current, fs->read(kConfigName));
  if (!current || (options.agent.config.empty() && !options.undo)) return {};
  std::string text;
  if (options.undo) {
    PINFOLD_LET(const auto earlier, fs->read(kEarlierConfigName));
    const auto parsed = parse_config(earlier.value_or(""));
    text =
        earlier && parsed && parsed->config == target ? *earlier : to_json(target).dump(2) + "\n";
  } else {
    PINFOLD_LET(text, read_file(options.agent.config));
  }
  if (text == *current) return {};
  // The earlier one first: it is not lost if this ends in between.
  PINFOLD_TRY(checkpoint::replace_all(*fs, {{kEarlierConfigName, *current}}));
  return checkpoint::replace_all(*fs, {{kConfigName, text}});
}

/// Errors: kUnsupported if a service has the state directory.
Result<void> check_no_service(const AgentOptions& options) {
  PINFOLD_LET(const auto client, service::Client::connect(options.socket));
  if (!client || !is_same_directory(client->hello().state_dir, options.state_dir)) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("the service at '{}' has the state directory '{}': change its "
                          "configuration and reload it ('systemctl reload pinfold'); --dry-run "
                          "works here",
                          options.socket, options.state_dir));
}

void print(const ReconfigureOptions& options, const agent::NodeAgent& agent, const Node& to,
           const agent::Reconfiguration& planned) {
  if (options.agent.output == OutputFormat::kJson) return;
  fmt::print("{}", describe(agent, planned));
  if (options.picture) fmt::print("\n{}", pictures(agent, to, planned));
}

ExitStatus finish(const ReconfigureOptions& options, nlohmann::json out, bool is_applied,
                  const std::optional<Error>& not_enforced) {
  if (options.agent.output == OutputFormat::kJson) {
    out["applied"] = is_applied;
    if (not_enforced) out["error"] = not_enforced->message;
    fmt::print("{}\n", out.dump(2));
  } else if (options.agent.dry_run) {
    print_dry_run(options.agent);
  } else if (is_applied) {
    fmt::print("reconfigured; 'pinfold reconfigure --undo' goes back\n");
  }
  if (not_enforced) return report_not_enforced(*not_enforced);
  return is_applied || options.agent.dry_run ? kYes : kNo;
}

Result<ExitStatus> run(const ReconfigureOptions& options) {
  if (!options.agent.dry_run) {
    PINFOLD_TRY(check_no_service(options.agent));
  }
  PINFOLD_LET(auto agent, open_before(options));
  PINFOLD_LET(auto to, make_target(options, agent));
  PlanOptions rules;
  rules.evict = options.evict == Evict::kRejected;
  PINFOLD_LET(const auto planned,
              options.undo ? plan_undo(agent, to) : plan_reconfiguration(agent, to, rules));
  nlohmann::json out = to_json(agent, planned);
  print(options, agent, to, planned);
  if (!options.svg.empty()) {
    PINFOLD_TRY(write_svg(options.svg, "Reconfiguration of " + to.machine().name(),
                          panels_of(agent, to, planned)));
  }
  if (options.agent.dry_run) return finish(options, std::move(out), false, std::nullopt);
  if (!planned.plan.evicted.empty() && options.evict == Evict::kNone) {
    (void)report(
        {ErrorCode::kUnsupported, 0,
         fmt::format("pods that cannot stay: {}; nothing has changed. --evict lost removes "
                     "them, or remove others",
                     fmt::join(planned.plan.evicted, ", "))});
    return finish(options, std::move(out), false, std::nullopt);
  }
  PINFOLD_TRY_WRAP(install_config(options, to.config()), "install the configuration");
  auto changed = agent.reconfigure(
      std::move(to), planned.plan.next,
      options.kill ? agent::RunningProcesses::kKill : agent::RunningProcesses::kRefuse);
  if (!changed) return fail(std::move(changed).error());
  if (const auto settled = agent.settle(); !settled) {
    warn(fmt::format("{}: {}", checkpoint::kNotSettled, settled.error().message), "not settled");
  }
  return finish(options, std::move(out), true, changed->not_enforced);
}

}  // namespace

cli::Command reconfigure_command() {
  auto options = std::make_shared<ReconfigureOptions>();
  cli::Command command{
      "reconfigure",
      "Go on with another configuration or machine while containers run: plan which containers "
      "keep their CPUs and memory and which move, then apply it without a moment of overlap"};
  command.add(agent_options(options->agent));
  command.add(
      {output_option(options->agent.output),
       dry_run_option(options->agent),
       {.name = "--from",
        .target = &options->from,
        .help = "The KubeletConfiguration that the state is for, if the state directory does not "
                "say: a kubelet has written it until now",
        .value = "FILE",
        .excludes = {"--undo"}},
       {.name = "--evict",
        .target = cli::one_of<Evict>(
            options->evict,
            {{"none", Evict::kNone}, {"lost", Evict::kLost}, {"rejected", Evict::kRejected}}),
        .help =
            "The pods that are removed: none, those that cannot keep enough, or also those that "
            "the new rules would reject"},
       {"--kill", &options->kill, "Kill the processes of pods that are removed"},
       {.name = "--undo",
        .target = &options->undo,
        .help = "Go back to the node before the last reconfiguration, with what each container had "
                "then",
        .excludes = {"--config", "--machine", "--sysfs", "--profile", "--kubelet-binary",
                     "--evict"}},
       {"--picture", &options->picture, "Draw the node before and after"},
       svg_option(options->svg),
       socket_option(options->agent)});
  command.sections = {{"Examples",
                       {{"pinfold reconfigure --config new.yaml --dry-run",
                         "Print what each container would keep and what would move"},
                        {"pinfold reconfigure --config new.yaml", "Do it"},
                        {"pinfold reconfigure --undo", "Go back"}}}};
  command.run = [options] { return exit_status(run(*options)); };
  return command;
}

}  // namespace pinfold::tools
