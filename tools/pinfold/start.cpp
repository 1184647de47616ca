#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "agent_options.hpp"

namespace pinfold::tools {
namespace {

struct StartOptions {
  AgentOptions agent;
  std::string pod;
  std::string container;
};

int run(const StartOptions& options) {
  auto agent = open_agent(options.agent);
  if (!agent) return report(agent.error());
  auto uid = agent::find_pod_uid(*agent, options.pod);
  if (!uid) return report(uid.error());
  auto outcome = agent->start({*uid, options.container});
  if (!outcome) return report(outcome.error());
  if (options.agent.output == OutputFormat::kJson) {
    nlohmann::json out = {{"started", true},
                          {"pod", uid->value},
                          {"container", options.container},
                          {"enforced", agent->enforces() && !outcome->not_enforced}};
    if (outcome->not_enforced) out["error"] = outcome->not_enforced->message;
    fmt::print("{}\n", out.dump(2));
  } else {
    fmt::print("{}/{}: started\n", options.pod, options.container);
  }
  return outcome->not_enforced ? report_not_enforced(*outcome->not_enforced) : kYes;
}

}  // namespace

void add_start(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<StartOptions>();
  CLI::App* const command = app.add_subcommand(
      "start", "Tell that a container is about to start: what ran before it gives its CPUs back");
  add_agent_options(*command, options->agent);
  add_pod_option(*command, options->pod);
  command->add_option("--container", options->container, "Which of its containers")
      ->type_name("NAME")
      ->required();
  command->callback([options, &exit_status] { exit_status = run(*options); });
}

}  // namespace pinfold::tools
