#include <iostream>
#include <pinfold/discover/discover.hpp>
#include <pinfold/pinfold.hpp>

using namespace pinfold;

Result<agent::NodeAgent> open(const std::string& state_dir, Machine machine) {
  auto config = parse_config("cpuManagerPolicy: static\nreservedSystemCPUs: '0'");
  if (!config) return fail(config.error());
  agent::AgentOptions options;
  options.state_dir = state_dir;
  options.enforce = false;  // without it: cgroups below options.cgroup_root
  return agent::open_agent(std::move(machine), config->config, options);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto machine = discover(HwlocSynthetic{"numa(memory=4GB) core:4 pu:1"}, "n");
  auto pod = parse_pod(
      "metadata: {name: db, uid: db-1}\n"
      "spec: {containers: [{name: main, resources: {limits: {cpu: 2, memory: 1Gi}}}]}");
  if (!machine || !pod) return 1;
  apply_defaults(*pod);
  auto agent = open(argv[1], *std::move(machine));
  if (!agent) {
    std::cerr << agent.error().message << '\n';
    return 1;
  }
  auto outcome = agent->admit(*pod);
  if (!outcome || outcome->rejection) return 1;
  const auto status = agent::pod_status(*agent, PodUid("db-1"));
  for (const auto& container : status->containers) {
    std::cout << container.resources.name << ": cpus " << container.desired.cpus << ", shares "
              << container.resources.linux_resources.cpu_shares << '\n';
  }
  return agent->remove_pod(PodUid("db-1"), agent::RunningProcesses::kRefuse) ? 0 : 1;
}
