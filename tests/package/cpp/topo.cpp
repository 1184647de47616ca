#include <iostream>
#include <pinfold/decide/decide.hpp>

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
  auto node = Node::make(*machine, config->config);
  if (!node) return 2;
  auto decision = decide(*node, empty_state(*node), *pod);
  auto* yes = std::get_if<Admitted>(&decision);
  if (yes == nullptr) return 3;
  std::cout << "main: " << *yes->next.cpu.assignments.find({pod->uid, "main"}) << '\n';
}
