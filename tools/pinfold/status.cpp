#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "agent_options.hpp"

namespace pinfold::tools {
namespace {

using nlohmann::json;

int run(const AgentOptions& options) {
  auto agent = open_agent(options);
  if (!agent) return report(agent.error());
  auto drift = agent->find_drift();
  if (!drift) return report(drift.error());
  std::vector<PodView> pods;
  for (const ActivePod& pod : agent->state().node.pods) {
    if (auto view = view_pod(*agent, pod.spec.uid)) pods.push_back(*std::move(view));
  }
  const NodeState& state = agent->state().node;
  const std::string pool = enforce::shared_pool(agent->node(), state).to_string();
  const std::string reserved = agent->node().cpu().reserved().to_string();
  bool is_good = drift->empty();
  for (const PodView& pod : pods) is_good = is_good && is_well(pod);
  if (options.output == OutputFormat::kJson) {
    json out = {{"cgroups", cgroups_json(*agent)}, {"shared_pool", pool}, {"reserved", reserved},
                {"pods", json::array()},           {"drift", *drift},     {"ok", is_good}};
    for (const PodView& pod : pods) out["pods"].push_back(to_json(pod, *agent));
    fmt::print("{}\n", out.dump(2));
    return is_good ? kYes : kNo;
  }
  fmt::print("{}\n", node_picture(*agent, pods));
  fmt::print("shared pool: {}   reserved: {}   pods: {}   cgroups: {}\n",
             pool.empty() ? "any" : pool, reserved.empty() ? "none" : reserved, pods.size(),
             agent->enforces()
                 ? fmt::format("{} at {}", agent->cgroups()->mode(), agent->cgroups()->root())
                 : "not enforced");
  if (!pods.empty()) fmt::print("\n{}", container_table(pods, agent->enforces()));
  if (!drift->empty()) {
    fmt::print("\nThe kernel does not have what was decided; 'pinfold reconcile' repairs it:\n");
    for (const std::string& line : *drift) fmt::print("  {}\n", line);
  }
  return is_good ? kYes : kNo;
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
