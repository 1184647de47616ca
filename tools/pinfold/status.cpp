#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "agent_options.hpp"

namespace pinfold::tools {
namespace {

int run(const AgentOptions& options) {
  auto agent = open_agent(options);
  if (!agent) return report(agent.error());
  auto view = agent::node_status(*agent);
  if (!view) return report(view.error());
  if (options.output == OutputFormat::kJson) {
    fmt::print("{}\n", to_json(*view, *agent).dump(2));
    return view->ok ? kYes : kNo;
  }
  const auto& pods = view->pods;
  const std::string pool = view->shared_pool.to_string();
  const std::string reserved = view->reserved.to_string();
  fmt::print("{}\n", node_picture(*agent, pods));
  fmt::print("shared pool: {}   reserved: {}   pods: {}   cgroups: {}\n",
             pool.empty() ? "any" : pool, reserved.empty() ? "none" : reserved, pods.size(),
             agent->enforces()
                 ? fmt::format("{} at {}", agent->cgroups()->mode(), agent->cgroups()->root())
                 : "not enforced");
  if (!pods.empty()) fmt::print("\n{}", container_table(pods, agent->enforces()));
  if (!agent->offline().empty()) {
    fmt::print("\nCPUs {} of this node are offline:\n", agent->offline().to_string());
    for (const std::string& line : view->affected) fmt::print("  {}\n", line);
  }
  if (!view->drift.empty()) {
    fmt::print("\nThe kernel does not have what was decided; 'pinfold reconcile' repairs it:\n");
    for (const std::string& line : view->drift) fmt::print("  {}\n", line);
  }
  return view->ok ? kYes : kNo;
}

}  // namespace

void add_status(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<AgentOptions>();
  CLI::App* const command =
      app.add_subcommand("status", "Show who has which CPUs, decided and in the kernel");
  add_agent_options(*command, *options);
  command->callback([options, &exit_status] { exit_status = run(*options); });
}

}  // namespace pinfold::tools
