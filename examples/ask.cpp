#include <iostream>
#include <pinfold/decide/decide.hpp>
#include <pinfold/discover/discover.hpp>

int main() {
  using namespace pinfold;
  auto machine = discover(HwlocSynthetic{"pack:2 [numa(memory=8GB)] core:2 pu:2"}, "two-sockets");
  auto config = parse_config("cpuManagerPolicy: static\nreservedSystemCPUs: '0'");
  auto pod = parse_pod(
      "metadata: {name: db, uid: db-1}\nspec: {containers: [{name: main,"
      " resources: {limits: {cpu: 2, memory: 1Gi}}}]}");
  apply_defaults(*pod);
  auto node = Node::make(*machine, config->config);
  auto decision = decide(*node, empty_state(*node), *pod);
  if (auto* yes = std::get_if<Admitted>(&decision))
    std::cout << "main: " << *yes->next.cpu.assignments.find({pod->uid, "main"})
              << "  shared pool: " << yes->next.cpu.default_set << '\n';
}
