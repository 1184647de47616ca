#include <iostream>
#include <pinfold/pinfold.hpp>

#include "machine.hpp"

int main() {
  using namespace pinfold;
  auto machine = four_cpus();
  auto config = parse_config("cpuManagerPolicy: static\nreservedSystemCPUs: '0'");
  auto pod = parse_pod(
      "metadata: {name: db, uid: db-1}\n"
      "spec: {containers: [{name: main, resources: {limits: {cpu: 2, memory: 1Gi}}}]}");
  if (!machine || !config || !pod) return 1;
  apply_defaults(*pod);
  agent::AgentOptions options;
  options.state_dir = "consumer-state";
  options.enforce = false;
  auto agent = agent::open_agent(*machine, config->config, options);
  if (!agent || !agent->admit(*pod)) return 2;
  const auto status = agent::pod_status(*agent, PodUid("db-1"));
  for (const auto& container : status->containers) {
    std::cout << container.resources.name << ": " << container.desired.cpus << '\n';
  }
}
