#include <fmt/format.h>
#include <prometheus/text_serializer.h>

#include <cstdio>

#include "agent/agent_arguments.hpp"
#include "agent/agent_session.hpp"
#include "commands.hpp"
#include "pinfold/metrics/families.hpp"

namespace pinfold::tools {
namespace {

Result<ExitStatus> print_metrics(const AgentArguments& options) {
  PINFOLD_LET(const auto agent, open_agent(options));
  const auto families = metrics::node_families(agent.node(), agent.state().node, agent.metrics());
  fmt::print("{}", prometheus::TextSerializer().Serialize(families));
  return kYes;
}

}  // namespace

cli::Command metrics_command() {
  auto options = std::make_shared<AgentArguments>();
  options->is_query = true;
  options->no_enforce = true;  // metrics only need the state
  cli::Command command{"metrics",
                       "Print metrics in the Prometheus text format, under the kubelet's names"};
  command.add(agent_arguments(*options));
  command.sections = {{"Examples",
                       {{"pinfold metrics > /var/lib/node_exporter/pinfold.prom",
                         "Write a file for the textfile collector of node_exporter"}}}};
  command.run = [options] { return exit_status(print_metrics(*options)); };
  return command;
}

}  // namespace pinfold::tools
