#include <fmt/format.h>

#include "agent/agent_arguments.hpp"
#include "agent/agent_session.hpp"
#include "commands.hpp"
#include "documents.hpp"
#include "pinfold/decide/fields.hpp"
#include "pinfold/text/message.hpp"

namespace pinfold::tools {
namespace {

struct StartOptions {
  AgentArguments agent;
  std::string pod;
  std::string container;
};

Result<ExitStatus> run(const StartOptions& options) {
  PINFOLD_LET(auto session, AgentSession::open(options.agent));
  const agent::NodeAgent& agent = session.view();
  PINFOLD_LET(const auto uid, agent::find_pod_uid(agent, options.pod));
  PINFOLD_LET(const auto outcome,
              session.execute<agent::ChangeOutcome>(verbs::Start{{uid, options.container}}));
  PINFOLD_LET(const auto not_settled, session.checkpoint_journal());
  if (options.agent.output == OutputFormat::kJson) {
    fmt::print("{}", json_text(StartDocument{
                         {ref_of(names_of_pods(agent.state().node), uid), options.container},
                         agent.enforces() && !outcome.not_enforced,
                         outcome.not_enforced,
                         not_settled}));
  } else {
    fmt::print("{}/{}: started\n", escaped(options.pod), escaped(options.container));
  }
  return outcome.not_enforced ? report_not_enforced(*outcome.not_enforced) : kYes;
}

}  // namespace

cli::Command start_command() {
  auto options = std::make_shared<StartOptions>();
  cli::Command command{
      "start",
      "Mark a container as about to start; releases what earlier init containers no longer need"};
  cli::Option container = container_option(options->container);
  container.required = true;
  command.add(agent_arguments(options->agent));
  command.add({output_option(options->agent.output), socket_option(options->agent),
               pod_option(options->pod), std::move(container)});
  command.sections = {{"Examples",
                       {{"pinfold start --pod default/web --container main",
                         "Mark the container as about to start"}}}};
  command.run = [options] { return exit_status(run(*options)); };
  return command;
}

}  // namespace pinfold::tools
