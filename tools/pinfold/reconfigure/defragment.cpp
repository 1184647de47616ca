#include <fmt/format.h>

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "agent/agent_session.hpp"
#include "agent/command_line.hpp"
#include "commands.hpp"
#include "documents.hpp"
#include "input.hpp"
#include "node/explain.hpp"
#include "node/status_picture.hpp"
#include "pinfold/api/pod_documents.hpp"
#include "pinfold/picture/text.hpp"
#include "pinfold/text/message.hpp"
#include "pinfold/text/words.hpp"
#include "reconfigure/reconfigure_drawing.hpp"
#include "reconfigure/reconfigure_text.hpp"

namespace pinfold::tools {
namespace {

constexpr int kMostSteps = 1'000'000;

struct DefragmentOptions {
  AgentArguments agent;
  std::string file;
  int steps = static_cast<int>(kDefragmentationSteps);
  Drawing drawing;
  bool no_validation = false;

  [[nodiscard]] bool is_text() const { return agent.output != OutputFormat::kJson; }
};

Result<PodSpec> read_new_pod(const DefragmentOptions& options) {
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

/// Explains why there is no plan.
std::string impossible_text(const DefragmentOptions& options,
                            const agent::Reconfiguration& planned) {
  if (planned.room->limit) {
    return fmt::format("No move of a container helps, {}: {}\n", planned.room->limit->reason,
                       escaped(planned.room->limit->message));
  }
  if (planned.plan.optimal) {
    return "No moves of containers make room for it: the search tried all of them\n";
  }
  return fmt::format("No plan found in {}: one may exist, allow more with --steps\n",
                     counted(static_cast<std::size_t>(options.steps), "step"));
}

void print_plan(const DefragmentOptions& options, const verbs::Reconfigured& done) {
  const agent::Reconfiguration& planned = done.planned;
  const agent::Room& room = *planned.room;
  const std::string name = escaped(to_string(room.pod));
  if (room.is_active) {
    fmt::print("{}: already active on this node, nothing has to move\n", name);
    return;
  }
  if (!room.rejection) {
    fmt::print("{}: the node can admit it now, nothing has to move\n", name);
    return;
  }
  std::string text = fmt::format("{}: rejected, {}: {}\n", name, room.rejection->reason,
                                 escaped(room.rejection->message));
  if (room.is_possible) {
    fmt::print("{}{}", wrapped_lines(text, terminal_style()), describe(planned));
    return;
  }
  text += fmt::format(
      "{}What is missing, who holds it and what would help:\n  {}\n",
      impossible_text(options, planned),
      escaped(explain_command_line(options.agent, {options.file}, "", options.no_validation)));
  fmt::print("{}", wrapped_lines(text, terminal_style()));
}

void print_json(const DefragmentOptions& options, const verbs::Reconfigured& done) {
  const agent::Room& room = *done.planned.room;
  DefragmentDocument document{done, std::nullopt};
  if (room.is_possible && !room.is_active) document.then = admit_command_line(options);
  fmt::print("{}", json_text(document));
}

ExitStatus finish_moves(const DefragmentOptions& options, const verbs::Reconfigured& done) {
  const agent::Room& room = *done.planned.room;
  if (!options.is_text()) {
    print_json(options, done);
  } else if (room.is_possible && !room.is_active) {
    if (done.is_applied) {
      fmt::print(
          "{}moved; 'pinfold reconfigure --undo' undoes this until another pod is admitted\n",
          describe_measured(done));
    }
    print_dry_run(options.agent);
    fmt::print("To admit {}:\n  {}\n", escaped(to_string(room.pod)),
               escaped(admit_command_line(options)));
  }
  if (done.change.not_enforced) return report_not_enforced(*done.change.not_enforced);
  return room.is_possible ? kYes : kNo;
}

Result<ExitStatus> run(const DefragmentOptions& options) {
  PINFOLD_LET(PodSpec pod, read_new_pod(options));
  const verbs::Defragment request{std::move(pod), options.agent.dry_run,
                                  static_cast<std::size_t>(options.steps)};
  const OwnAgent own{
      [&] { return open_agent(options.agent); },
      {},
      options.agent.dry_run,
      [&](const socket::Hello& hello) { return check_options(options.agent, hello); }};
  PINFOLD_LET(const auto answered, reconfigure_node(options.agent, request, own));
  const verbs::Reconfigured& done = answered.outcome;
  if (!done.planned.room) return fail(ErrorCode::kInternal, "the answer names no pod");
  if (options.is_text()) print_plan(options, done);
  if (done.planned.room->rejection && done.planned.room->is_possible) {
    Drawing drawing = options.drawing;
    drawing.picture = drawing.picture && options.is_text();
    PINFOLD_TRY(draw(drawing, "Room for " + to_string(done.planned.room->pod), answered));
  }
  return finish_moves(options, done);
}

}  // namespace

cli::Command defragment_command() {
  auto options = std::make_shared<DefragmentOptions>();
  cli::Command command{
      "defragment",
      "Make room for a pod that the node rejects: move as few containers as possible; exclusive "
      "CPUs never overlap on the way"};
  command.add(agent_arguments(options->agent));
  command.add({{.name = "--for",
                .target = &options->file,
                .help = "The pod: a manifest, YAML or JSON; - for standard input",
                .value = "FILE",
                .required = true},
               output_option(options->agent.output),
               dry_run_option(options->agent),
               {"--picture", &options->drawing.picture, "Draw the node before and after"},
               svg_option(options->drawing.svg),
               {"--steps", cli::Integer{&options->steps, 1, kMostSteps},
                "Limit of the search: placements to try"},
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
