#include <fmt/format.h>

#include <cstddef>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "agent_session.hpp"
#include "command_line.hpp"
#include "commands.hpp"
#include "explain.hpp"
#include "input.hpp"
#include "pinfold/agent/reconfiguration.hpp"
#include "pinfold/api/pod_documents.hpp"
#include "pinfold/text/message.hpp"
#include "pod_validation.hpp"
#include "reconfigure_text.hpp"
#include "text.hpp"

namespace pinfold::tools {
namespace {

using nlohmann::json;

constexpr int kMostSteps = 1'000'000;

struct DefragmentOptions {
  AgentOptions agent;
  std::string file;
  int steps = static_cast<int>(PlanOptions{}.steps);
  bool picture = false;
  bool no_validation = false;

  [[nodiscard]] bool is_text() const { return agent.output != OutputFormat::kJson; }
};

Result<PodSpec> read_pod(const DefragmentOptions& options) {
  PINFOLD_LET(auto pods, read_pods({options.file}));
  if (pods.size() != 1) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--for '{}': expected one pod, found {}", options.file, pods.size()));
  }
  if (!options.no_validation) PINFOLD_TRY(validate_all(pods));
  return std::move(pods.front());
}

std::string admit_command_line(const DefragmentOptions& options) {
  return changing_command_line("admit", options.agent) +
         (options.no_validation ? " --no-validation " : " ") + shell_word(options.file);
}

json room_json(const DefragmentOptions& options, const agent::NodeAgent& agent,
               const agent::Reconfiguration& planned) {
  const agent::Room& room = *planned.room;
  json out = tools::to_json(agent, planned);
  out["pod"] = room.pod;
  out["active"] = false;
  out["admitted"] = !room.rejection;
  out["possible"] = room.is_possible;
  out["reason"] = room.rejection ? room.rejection->reason : "";
  out["message"] = room.rejection ? room.rejection->message : "";
  out["limit"] = room.limit ? room.limit->message : "";
  if (room.is_possible) out["then"] = admit_command_line(options);
  return out;
}

/// Why there is no plan.
std::string impossible_text(const DefragmentOptions& options,
                            const agent::Reconfiguration& planned) {
  if (planned.room->limit) {
    return fmt::format("No move of a container helps, {}: {}\n", planned.room->limit->reason,
                       escaped(planned.room->limit->message));
  }
  if (planned.plan.optimal) {
    return "No moves of containers make room for it: the search has tried everything\n";
  }
  return fmt::format("No plan was found in {}: there may be one, --steps allows more\n",
                     counted(static_cast<std::size_t>(options.steps), "step"));
}

void print_plan(const DefragmentOptions& options, const agent::NodeAgent& agent,
                const agent::Reconfiguration& planned) {
  const agent::Room& room = *planned.room;
  const std::string name = escaped(room.pod);
  if (!room.rejection) {
    fmt::print("{}: the node admits it as it is, nothing has to move\n", name);
    return;
  }
  fmt::print("{}: rejected, {}: {}\n", name, room.rejection->reason,
             escaped(room.rejection->message));
  if (!room.is_possible) {
    fmt::print(
        "{}What is missing, who has it and what would help:\n  {}\n",
        impossible_text(options, planned),
        escaped(explain_command_line(options.agent, {options.file}, "", options.no_validation)));
    return;
  }
  fmt::print("{}", describe(agent, planned));
  if (options.picture) fmt::print("\n{}", pictures(agent, agent.node(), planned));
}

/// `done`: nullptr if nothing was applied.
ExitStatus finish_moves(const DefragmentOptions& options, const agent::NodeAgent& agent,
                        const agent::Room& room, json out, const agent::ReconfigureOutcome* done) {
  if (!options.is_text()) {
    out["applied"] = done != nullptr;
    if (done != nullptr) out["measured"] = tools::to_json(agent, done->measured);
    if (done != nullptr && done->not_enforced) out["error"] = done->not_enforced->message;
    fmt::print("{}\n", out.dump(2));
  } else if (room.is_possible) {
    if (done != nullptr) {
      fmt::print("{}moved; 'pinfold reconfigure --undo' goes back until a pod is admitted\n",
                 describe(agent, done->measured));
    }
    print_dry_run(options.agent);
    fmt::print("To admit {}:\n  {}\n", escaped(room.pod), escaped(admit_command_line(options)));
  }
  if (done != nullptr && done->not_enforced) return report_not_enforced(*done->not_enforced);
  return room.is_possible ? kYes : kNo;
}

ExitStatus report_active(const DefragmentOptions& options, const PodSpec& pod) {
  const std::string name = pod.namespace_name + "/" + pod.name;
  if (options.is_text()) {
    fmt::print("{}: is active on this node already, nothing has to move\n", escaped(name));
  } else {
    const json out = {{"pod", name}, {"active", true}, {"possible", true}, {"applied", false}};
    fmt::print("{}\n", out.dump(2));
  }
  return kYes;
}

Result<ExitStatus> run(const DefragmentOptions& options) {
  PINFOLD_LET(const PodSpec pod, read_pod(options));
  if (!options.agent.dry_run) {
    PINFOLD_TRY(check_no_service(options.agent, "stop it first"));
  }
  PINFOLD_LET(auto agent, open_agent(options.agent));
  if (agent.state().node.find(pod.uid) != nullptr) return report_active(options, pod);
  PlanOptions rules;
  rules.steps = static_cast<std::size_t>(options.steps);
  PINFOLD_LET(const auto planned, plan_defragmentation(agent, pod, rules));
  const agent::Room& room = *planned.room;
  json out = room_json(options, agent, planned);
  if (options.is_text()) print_plan(options, agent, planned);
  const bool has_moves = room.is_possible && room.rejection;
  if (!has_moves || options.agent.dry_run) {
    return finish_moves(options, agent, room, std::move(out), nullptr);
  }
  PINFOLD_LET(const auto done, agent.reconfigure(planned.plan.next));
  if (const auto settled = agent.settle(); !settled) {
    warn(fmt::format("{}: {}", checkpoint::kNotSettled, settled.error().message), "not settled");
  }
  return finish_moves(options, agent, room, std::move(out), &done);
}

}  // namespace

cli::Command defragment_command() {
  auto options = std::make_shared<DefragmentOptions>();
  cli::Command command{
      "defragment",
      "Make room for a pod that the node rejects: move as few containers as possible, with no "
      "moment of overlap, so that the pod is admitted afterwards"};
  command.add(agent_options(options->agent));
  command.add({{.name = "--for",
                .target = &options->file,
                .help = "The pod: a manifest, YAML or JSON; - for standard input",
                .value = "FILE",
                .required = true},
               output_option(options->agent.output),
               dry_run_option(options->agent),
               {"--picture", &options->picture, "Draw the node before and after"},
               {"--steps", cli::Integer{&options->steps, 1, kMostSteps},
                "How long the search may last: placements that are tried"},
               no_validation_option(options->no_validation),
               socket_option(options->agent)});
  command.sections = {
      {"Examples",
       {{"pinfold defragment --for pod.yaml --dry-run", "Print which containers would move"},
        {"pinfold defragment --for pod.yaml && pinfold admit pod.yaml",
         "Move them, then admit the pod"}}}};
  command.run = [options] { return exit_status(run(*options)); };
  return command;
}

}  // namespace pinfold::tools
