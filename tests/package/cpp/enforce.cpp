#include <algorithm>
#include <iostream>
#include <pinfold/enforce/plan.hpp>

int main() {
  using namespace pinfold;
  enforce::GroupSettings group;
  group.cpus = CpuSet::range(1, 2);
  enforce::Layout layout;
  layout[enforce::GroupName(PodUid("db-1"))] = group;
  group.isolation = Isolation::kContainer;
  layout[{PodUid("db-1"), "main"}] = group;
  auto plan = enforce::plan({}, layout, CpuSet::range(0, 3));
  if (!plan || plan->empty()) return 1;
  std::cout << "main: " << plan->back().set << '\n';
}
