#include <iostream>
#include <pinfold/checkpoint/inspect.hpp>

int main() {
  using namespace pinfold;
  CpuCheckpoint state;
  state.default_set = *CpuSet::parse("0,3");
  state.assignments[{PodUid("db-1"), "main"}] = *CpuSet::parse("1-2");
  auto read =
      checkpoint::inspect_cpu(checkpoint::encode_cpu(state, "static", checkpoint::CpuFormat::kV2));
  if (!read || read->version != 2) return 1;
  std::cout << "main: " << read->state.assignments[{PodUid("db-1"), "main"}] << '\n';
}
