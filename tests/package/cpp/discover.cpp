#include <iostream>
#include <pinfold/discover/discover.hpp>

int main() {
  using namespace pinfold;
  auto machine = discover(HwlocSynthetic{"numa(memory=4GB) core:3 pu:1"}, "n");
  if (!machine) return 1;
  std::cout << "main: " << (machine->all_cpus() - CpuSet{0}) << '\n';
}
