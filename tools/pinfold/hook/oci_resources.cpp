#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "agent/agent_arguments.hpp"
#include "agent/agent_session.hpp"
#include "commands.hpp"
#include "hook/oci.hpp"
#include "pinfold/agent/status.hpp"

namespace pinfold::tools {
namespace {

struct ResourcesOptions {
  AgentArguments agent;
  std::string pod;
  std::string container;
  ExecCpus exec = ExecCpus::kAll;
};

Result<nlohmann::json> resources_of(agent::NodeAgent& agent, const ResourcesOptions& options) {
  PINFOLD_LET(auto uid, agent::find_pod_uid(agent, options.pod));
  const auto pod = agent::desired_pod(agent, agent.state(), uid);
  const bool is_only = options.container.empty() && pod->containers.size() == 1;
  for (const agent::ContainerStatus& container : pod->containers) {
    if (!is_only && container.resources.name != options.container) continue;
    return oci_config(container.resources, container.desired.cpus, options.exec);
  }
  std::vector<std::string> names;
  for (const agent::ContainerStatus& container : pod->containers) {
    names.push_back(container.resources.name);
  }
  const std::string given =
      options.container.empty() ? "" : fmt::format(" '{}'", options.container);
  return fail(ErrorCode::kNotFound,
              fmt::format("--container{}: expected one of the containers of pod '{}': '{}'", given,
                          options.pod, fmt::join(names, "', '")));
}

Result<ExitStatus> run(const ResourcesOptions& options) {
  PINFOLD_LET(auto agent, open_agent(options.agent));
  PINFOLD_LET(const auto resources, resources_of(agent, options));
  fmt::print("{}\n", resources.dump(2));
  return kYes;
}

}  // namespace

cli::Command oci_resources_command() {
  auto options = std::make_shared<ResourcesOptions>();
  options->agent.is_query = true;
  cli::Command command{
      "oci-resources",
      "Print the part of an OCI config.json that a container of an admitted pod needs: "
      "linux.resources, linux.memoryPolicy and process.execCPUAffinity"};
  cli::Option container = container_option(options->container);
  container.help = "Name of the container [the pod's only container]";
  command.add(agent_arguments(options->agent));
  command.add(
      {output_option(options->agent.output),
       pod_option(options->pod),
       std::move(container),
       {"--exec-cpus",
        cli::one_of<ExecCpus>(options->exec,
                              {{"all", ExecCpus::kAll}, {"first", ExecCpus::kFirst}}),
        "CPUs of commands that are executed in a container with exclusive CPUs, such as probes: "
        "all of them, or the first one only"}});
  command.sections = {{"Examples",
                       {{"pinfold oci-resources --pod default/web --container main",
                         "Print what a container's config.json needs"},
                        {"pinfold oci-resources --pod default/web --exec-cpus first",
                         "The same, with probes on the first of its CPUs only"}}}};
  command.run = [options] { return exit_status(run(*options)); };
  return command;
}

}  // namespace pinfold::tools
