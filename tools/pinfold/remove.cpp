#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "agent_options.hpp"

namespace pinfold::tools {
namespace {

struct RemoveOptions {
  AgentOptions agent;
  std::string pod;
  std::string container;
  bool kill = false;
};

int run(const RemoveOptions& options) {
  auto agent = open_agent(options.agent);
  if (!agent) return report(agent.error());
  auto uid = agent::find_pod_uid(*agent, options.pod);
  if (!uid) return report(uid.error());
  const auto running =
      options.kill ? agent::RunningProcesses::kKill : agent::RunningProcesses::kRefuse;
  auto outcome = options.container.empty()
                     ? agent->remove_pod(*uid, running)
                     : agent->remove_container({*uid, options.container}, running);
  if (!outcome) {
    (void)report(outcome.error());
    return outcome.error().code == ErrorCode::kBusy ? kNo : kBadRequest;
  }
  const std::string pool = agent::shared_pool(agent->node(), agent->state().node).to_string();
  if (options.agent.output == OutputFormat::kJson) {
    nlohmann::json out = {{"removed", true},
                          {"pod", uid->value},
                          {"shared_pool", pool},
                          {"stored", !options.agent.dry_run},
                          {"enforced", agent->enforces() && !outcome->not_enforced}};
    if (!options.container.empty()) out["container"] = options.container;
    if (outcome->not_enforced) out["error"] = outcome->not_enforced->message;
    fmt::print("{}\n", out.dump(2));
  } else {
    fmt::print("{}{}: removed; shared pool: {}\n", options.pod,
               options.container.empty() ? "" : "/" + options.container,
               pool.empty() ? "any" : pool);
    print_dry_run(options.agent);
  }
  return outcome->not_enforced ? report_not_enforced(*outcome->not_enforced) : kYes;
}

}  // namespace

void add_remove(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<RemoveOptions>();
  CLI::App* const command =
      app.add_subcommand("remove", "Forget a pod or one of its containers, and give its CPUs back");
  add_agent_options(*command, options->agent);
  add_pod_option(*command, options->pod);
  command->add_option("--container", options->container, "Only this container; its pod stays")
      ->type_name("NAME");
  add_dry_run(*command, options->agent);
  command->add_flag("--kill", options->kill, "Kill processes that still run there");
  command->callback([options, &exit_status] { exit_status = run(*options); });
}

}  // namespace pinfold::tools
