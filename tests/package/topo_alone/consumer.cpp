#include <iostream>
#include <pinfold/decide/decide.hpp>

#include "../cpp/machine.hpp"

// A decision on values alone: reads no text.
int main() {
  using namespace pinfold;
  Config config;
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = "0";
  PodSpec pod;
  pod.uid = PodUid("db-1");
  const auto memory = Quantity::parse("1Gi");
  const auto cpus = Quantity::parse("2");
  const auto machine = four_cpus();
  if (!memory || !cpus || !machine) return 1;
  pod.containers = {{"main", ContainerKind::kApp, {{}, {{"cpu", *cpus}, {"memory", *memory}}}}};
  apply_defaults(pod);
  const auto node = Node::make(*machine, config);
  if (!node) return 2;
  auto decision = decide(*node, empty_state(*node), pod);
  auto* yes = std::get_if<Admitted>(&decision);
  if (yes == nullptr) return 3;
  std::cout << "main: " << *yes->next.cpu.assignments.find({pod.uid, "main"}) << '\n';
}
