#include <fmt/format.h>

#include <cstdio>

#include "agent/agent_arguments.hpp"
#include "agent/agent_session.hpp"
#include "commands.hpp"
#include "documents.hpp"
#include "pinfold/decide/fields.hpp"
#include "pinfold/text/message.hpp"

namespace pinfold::tools {
namespace {

struct RemoveOptions {
  AgentArguments agent;
  std::string pod;
  std::string container;
  bool kill = false;
};

Result<ExitStatus> run(const RemoveOptions& options) {
  PINFOLD_LET(auto session, AgentSession::open(options.agent));
  const agent::NodeAgent& agent = session.view();
  PINFOLD_LET(const auto uid, agent::find_pod_to_remove(agent, options.pod));
  const PodRef pod = ref_of(names_of_pods(agent.state().node), uid);
  const auto running =
      options.kill ? agent::RunningProcesses::kKill : agent::RunningProcesses::kRefuse;
  auto outcome =
      session.execute<agent::ChangeOutcome>(verbs::Remove{uid, options.container, running});
  if (!outcome && outcome.error().code == ErrorCode::kBusy) {
    (void)report(outcome.error());
    return kNo;
  }
  if (!outcome) return fail(std::move(outcome).error());
  PINFOLD_LET(const auto not_settled, session.checkpoint_journal());
  const CpuSet shared_pool = agent::shared_pool(agent.node(), agent.state().node);
  if (options.agent.output == OutputFormat::kJson) {
    fmt::print("{}",
               json_text(RemoveDocument{pod, options.container, shared_pool, !options.agent.dry_run,
                                        agent.enforces() && !outcome->not_enforced,
                                        outcome->not_enforced, not_settled}));
  } else {
    const std::string pool = shared_pool.to_string();
    fmt::print("{}{}: removed; shared pool: {}\n", escaped(options.pod),
               options.container.empty() ? "" : "/" + escaped(options.container),
               pool.empty() ? "any" : pool);
    print_dry_run(options.agent);
  }
  return outcome->not_enforced ? report_not_enforced(*outcome->not_enforced) : kYes;
}

}  // namespace

cli::Command remove_command() {
  auto options = std::make_shared<RemoveOptions>();
  cli::Command command{"remove", "Remove a pod or container and release its resources"};
  cli::Option container = container_option(options->container);
  container.help = "Remove only this container; the pod stays";
  command.add(agent_arguments(options->agent));
  command.add({output_option(options->agent.output),
               pod_option(options->pod),
               std::move(container),
               dry_run_option(options->agent),
               socket_option(options->agent),
               {"--kill", &options->kill, "Kill the processes that still run in it"}});
  command.sections = {
      {"Examples",
       {{"pinfold remove --dry-run --pod default/web", "Print what would be released"},
        {"pinfold remove --pod default/web --kill",
         "Kill the processes of the pod, remove it and release its resources"}}}};
  command.run = [options] { return exit_status(run(*options)); };
  return command;
}

}  // namespace pinfold::tools
