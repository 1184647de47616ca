#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "agent_options.hpp"
#include "agent_session.hpp"
#include "commands.hpp"
#include "pinfold/socket/comparison.hpp"
#include "pinfold/text/message.hpp"

namespace pinfold::tools {
namespace {

Result<ExitStatus> print_status(const AgentOptions& options) {
  PINFOLD_LET(auto agent, open_agent(options));
  PINFOLD_LET(const auto view, agent::node_status(agent));
  if (options.output == OutputFormat::kJson) {
    nlohmann::json out = to_json(view, agent);
    const auto comparison = read_comparison(options);
    out["comparison"] = comparison ? service::to_json(*comparison) : nlohmann::json();
    fmt::print("{}\n", out.dump(2));
    return view.ok ? kYes : kNo;
  }
  const auto& pods = view.pods;
  if (options.output == OutputFormat::kName) {
    for (const agent::PodStatus& pod : pods) {
      fmt::print("{}/{}\n", pod.spec.namespace_name, pod.spec.name);
    }
    return kYes;
  }
  const std::string pool = view.shared_pool.to_string();
  const std::string reserved = view.reserved.to_string();
  fmt::print("{}\n", node_picture(agent, view));
  fmt::print("shared pool: {}   reserved: {}   pods: {}   cgroups: {}\n",
             pool.empty() ? "any" : pool, reserved.empty() ? "none" : reserved, pods.size(),
             agent.enforces() ? fmt::format("{} at {}", agent.enforced()->mode(),
                                            escaped(agent.enforced()->root()))
                              : "not enforced");
  fmt::print("{}\n",
             agent::describe_profile(agent.node().config().profile, agent.profile_source()));
  if (!pods.empty()) fmt::print("\n{}", container_table(pods, agent.enforces()));
  if (const auto comparison = read_comparison(options)) {
    fmt::print("\n{}", comparison_text(*comparison));
  }
  if (!view.held.empty()) {
    fmt::print(
        "\nHeld for pods that only the kubelet's files name. 'pinfold admit' takes such a pod\n"
        "over; 'pinfold remove --pod UID' or 'pinfold reconcile --release-unknown' releases:\n");
    for (const agent::HeldContainer& held : view.held) {
      fmt::print("  {}/{}  CPUs {}, memory nodes {}\n", escaped(held.id.pod.value),
                 escaped(held.id.name), held.cpus.empty() ? "shared" : held.cpus.to_string(),
                 held.mems.empty() ? "any" : held.mems.to_string());
    }
  }
  if (!view.foreign.empty()) {
    fmt::print("\nNot Pinfold's, below the root:\n");
    for (const enforce::ForeignGroup& group : view.foreign) {
      fmt::print("  {}{}  {} process{}, CPUs {}\n", escaped(group.directory),
                 group.is_own ? " itself" : "", group.processes, group.processes == 1 ? "" : "es",
                 group.cpus.to_string());
    }
  }
  if (!agent.offline().empty()) {
    fmt::print("\nCPUs {} of this node are offline:\n", agent.offline().to_string());
    for (const std::string& line : view.affected) fmt::print("  {}\n", escaped(line));
  }
  if (!view.drift.empty()) {
    fmt::print("\nDrift from the desired state ('pinfold reconcile' corrects it):\n");
    for (const std::string& line : view.drift) fmt::print("  {}\n", escaped(line));
  }
  return view.ok ? kYes : kNo;
}

}  // namespace

cli::Command status_command() {
  auto options = std::make_shared<AgentOptions>();
  options->is_query = true;
  cli::Command command{"status",
                       "Show the desired and observed CPUs and NUMA nodes of every container"};
  command.add(agent_options(*options));
  command.add({socket_option(*options),
               {"-o,--output",
                cli::one_of<OutputFormat>(options->output, {{"text", OutputFormat::kText},
                                                            {"json", OutputFormat::kJson},
                                                            {"name", OutputFormat::kName}}),
                "Output format: text for people, json for programs, name for the active pods as "
                "NAMESPACE/NAME, one per line"}});
  command.sections = {
      {"Examples",
       {{"pinfold status", "Compare what containers should have with what they have"},
        {"pinfold status -o name", "Print the active pods, one per line"}}}};
  command.run = [options] { return exit_status(print_status(*options)); };
  return command;
}

}  // namespace pinfold::tools
