#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "pinfold/scheduling/answers.hpp"
#include "zones.hpp"

/// A request of kube-scheduler: the first byte says of which kind. No request changes the fleet.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold;
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  cluster::ClusterView view{cluster::ClusterOptions{}};
  view.set_topology(test::two_zones("single-numa-node", "pod", {{"cpu", "8"}}, "a"));
  const auto before = view.fleet(kube::Time(0)).available(0, 0);
  const std::vector<std::int64_t> amounts(before.begin(), before.end());
  if (data[0] % 2 == 0) {
    const auto args = scheduling::parse_extender_args(body);
    if (!args) return 0;
    const auto result = scheduling::filter(view, *args, kube::Time(0));
    if (result.passed.size() + result.failed.size() > args->nodes.size()) std::abort();
    (void)to_json(result, *args);
    (void)scheduling::prioritize(view, *args, ScoringStrategy::kLeastAllocated, kube::Time(0));
  } else {
    const auto args = scheduling::parse_preemption_args(body);
    if (!args) return 0;
    if (scheduling::preempt(view, *args, kube::Time(0)).size() > args->victims.size()) std::abort();
  }
  const auto after = view.fleet(view.options().reserve).available(0, 0);
  if (!std::equal(after.begin(), after.end(), amounts.begin(), amounts.end())) std::abort();
  return 0;
}
