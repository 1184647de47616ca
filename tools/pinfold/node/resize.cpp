#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "agent/agent_arguments.hpp"
#include "agent/agent_session.hpp"
#include "agent/agent_view.hpp"
#include "commands.hpp"
#include "documents.hpp"
#include "pinfold/decide/fields.hpp"
#include "pinfold/picture/text.hpp"
#include "pinfold/text/message.hpp"
#include "pinfold/types/amount_text.hpp"

namespace pinfold::tools {
namespace {

struct ResizeOptions {
  AgentArguments agent;
  std::string pod;
  std::string container;
  std::string cpu;
  bool explain = false;
};

/// Returns the container that --container names, or the only one, or the only one with exclusive
/// CPUs.
Result<std::string> container_of(const ResizeOptions& options, const agent::NodeAgent& agent,
                                 const PodUid& uid) {
  if (!options.container.empty()) return options.container;
  const ActivePod* const pod = agent.state().node.find(uid);
  if (pod == nullptr) {
    return fail(ErrorCode::kNotFound, fmt::format("no active pod '{}'", options.pod));
  }
  const auto& containers = pod->spec.containers;
  if (containers.size() == 1) return containers.front().name;
  std::vector<std::string> exclusive;
  for (const Container& one : containers) {
    if (one.kind == ContainerKind::kInit) continue;  // it cannot be resized
    const bool has_own = agent.node().cpu().guaranteed_cpus(PodView(pod->spec), one) > 0 &&
                         agent.state().node.cpu.assignments.find({uid, one.name}) != nullptr;
    if (has_own) exclusive.push_back(one.name);
  }
  if (exclusive.size() == 1) return exclusive.front();
  return fail(
      ErrorCode::kInvalidArgument,
      exclusive.empty()
          ? fmt::format("pod '{}' has no container with exclusive CPUs", options.pod)
          : fmt::format("--container: pod '{}' has {} containers with exclusive CPUs: expected "
                        "one of '{}'",
                        options.pod, exclusive.size(), fmt::join(exclusive, "', '")));
}

std::string outcome_text(const agent::ResizeOutcome& outcome) {
  const std::string before = outcome.before.to_string();
  const std::string cpus = counted(outcome.after.size(), "CPU");
  if (outcome.before == outcome.after) return fmt::format("already has {}: {}", cpus, before);
  return fmt::format("resized from {} to {}: {} instead of {}", outcome.before.size(), cpus,
                     outcome.after.to_string(), before);
}

void print_text(const ResizeOptions& options, const std::string& name,
                const ResizeDocument& document) {
  const agent::ResizeOutcome& outcome = document.outcome;
  if (!outcome.refused) {
    fmt::print("{}: {}\n", name, outcome_text(outcome));
  } else {
    fmt::print("{}: not resized, {}: {}\n", name, to_string(outcome.refused->reason),
               escaped(outcome.refused->why.message));
    if (!outcome.refused->advice.empty()) fmt::print("  {}\n", escaped(outcome.refused->advice));
  }
  if (outcome.trace) fmt::print("{}", trace_text(*outcome.trace));
  print_dry_run(options.agent);
}

Result<ExitStatus> run(const ResizeOptions& options) {
  const auto cpu = Quantity::parse(options.cpu);
  if (!cpu) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--cpu '{}': {}", options.cpu, expected_amount("cpu", options.cpu)));
  }
  PINFOLD_LET(auto session, AgentSession::open(options.agent));
  const agent::NodeAgent& agent = session.view();
  PINFOLD_LET(const auto uid, agent::find_pod_uid(agent, options.pod));
  PINFOLD_LET(const auto container, container_of(options, agent, uid));
  const ContainerRef named{ref_of(names_of_pods(agent.state().node), uid), container};
  PINFOLD_LET(auto outcome, session.execute<agent::ResizeOutcome>(
                                verbs::Resize{{{uid, container}, *cpu}, options.explain}));
  PINFOLD_LET(const auto not_settled, session.checkpoint_journal());
  const bool is_refused = outcome.refused.has_value();
  const bool is_done = !is_refused && !outcome.not_enforced;
  ResizeDocument document{named, std::move(outcome), is_done && agent.enforces(),
                          !is_refused && !options.agent.dry_run, not_settled};
  if (options.agent.output == OutputFormat::kJson) {
    fmt::print("{}", json_text(document));
  } else {
    print_text(options, escaped(to_string(named.pod) + "/" + container), document);
  }
  if (document.outcome.not_enforced) return report_not_enforced(*document.outcome.not_enforced);
  return document.outcome.refused ? kNo : kYes;
}

}  // namespace

cli::Command resize_command() {
  auto options = std::make_shared<ResizeOptions>();
  cli::Command command{
      "resize",
      "Change the number of exclusive CPUs of a running container. It always keeps the CPUs it was "
      "admitted with; when it grows, it keeps all of its CPUs"};
  cli::Option pod = pod_option(options->pod);
  pod.name = "POD";
  pod.value.clear();
  command.add(agent_arguments(options->agent));
  cli::Option container = container_option(options->container);
  container.help = "Name of the container; required if more than one has exclusive CPUs";
  container.suggested_with = "";
  command.add({output_option(options->agent.output),
               dry_run_option(options->agent),
               socket_option(options->agent),
               {"--explain", &options->explain, "Explain the decision"},
               std::move(container),
               {.name = "--cpu",
                .target = &options->cpu,
                .help = "The container's new CPU request and limit (a whole number)",
                .value = "N",
                .required = true},
               std::move(pod)});
  command.sections = {
      {"Examples",
       {{"pinfold resize default/web --container main --cpu 4 --dry-run --explain",
         "Print which CPUs the container would have, and why"},
        {"pinfold resize default/web --container main --cpu 4", "Give it 4 CPUs"}}}};
  command.run = [options] { return exit_status(run(*options)); };
  return command;
}

}  // namespace pinfold::tools
