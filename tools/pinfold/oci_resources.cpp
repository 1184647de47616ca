#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "agent_options.hpp"
#include "oci.hpp"

namespace pinfold::tools {
namespace {

struct ResourcesOptions {
  AgentOptions agent;
  std::string pod;
  std::string container;
};

Result<nlohmann::json> resources_of(agent::NodeAgent& agent, const ResourcesOptions& options) {
  PINFOLD_LET(auto uid, agent::find_pod_uid(agent, options.pod));
  const auto pod = agent::desired_pod(agent.node(), agent.state(), agent.facts(), uid);
  const bool is_only = options.container.empty() && pod->containers.size() == 1;
  for (const agent::ContainerStatus& container : pod->containers) {
    if (!is_only && container.resources.name != options.container) continue;
    return oci_resources(container.resources, container.desired.cpus);
  }
  return fail(ErrorCode::kNotFound,
              fmt::format("container '{}': expected the name of a container of pod '{}'",
                          options.container, options.pod));
}

int run(const ResourcesOptions& options) {
  auto agent = open_agent(options.agent);
  if (!agent) return report(agent.error());
  auto resources = resources_of(*agent, options);
  if (!resources) return report(resources.error());
  fmt::print("{}\n", resources->dump(2));
  return kYes;
}

}  // namespace

void add_oci_resources(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<ResourcesOptions>();
  CLI::App* const command = app.add_subcommand(
      "oci-resources", "Print linux.resources of an OCI config for a container of an admitted pod");
  add_agent_options(*command, options->agent);
  add_pod_option(*command, options->pod);
  command->add_option("--container", options->container, "its name [the only one]")
      ->type_name("NAME");
  command->callback([options, &exit_status] { exit_status = run(*options); });
}

}  // namespace pinfold::tools
