#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "agent_options.hpp"

namespace pinfold::tools {
namespace {

int run(const AgentOptions& options) {
  auto agent = open_agent(options);
  if (!agent) return report(agent.error());
  auto found = agent->reconcile();
  if (!found) return report(found.error());
  if (options.output == OutputFormat::kJson) {
    fmt::print("{}\n", to_json(*found).dump(2));
  } else {
    if (found->drift.empty()) fmt::print("nothing to repair\n");
    for (const std::string& line : found->drift) fmt::print("found     {}\n", line);
    for (const enforce::Step& step : found->done) fmt::print("did       {}\n", to_string(step));
    for (const std::string& line : found->remaining) fmt::print("remaining {}\n", line);
  }
  return found->remaining.empty() ? kYes : kNo;
}

}  // namespace

void add_reconcile(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<AgentOptions>();
  CLI::App* const command =
      app.add_subcommand("reconcile", "Repair whatever in the kernel is not as decided");
  add_agent_options(*command, *options);
  command->callback([options, &exit_status] { exit_status = run(*options); });
}

}  // namespace pinfold::tools
