// The fast merge against the kubelet's enumeration, on arbitrary hints.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "bytes.hpp"
#include "topology.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using pinfold::NumaMask;
  using pinfold::TopologyPolicy;
  pinfold::test::Bytes bytes({data, size});

  pinfold::test::NaiveRules rules;
  rules.nodes = static_cast<int>(1 + bytes.below(8));
  rules.policy = static_cast<TopologyPolicy>(bytes.below(4));
  rules.options.prefer_closest_numa_nodes = bytes.below(2) == 1;
  rules.options.prefer_most_allocated_numa_node = bytes.below(2) == 1;
  rules.distances = pinfold::test::flat_distances(rules.nodes);
  rules.distances[0].back() = 10 + bytes.below(20);
  for (int node = 0; node < rules.nodes; ++node) {
    for (const char* const resource : {"a", "b", "cpu", "memory"}) {
      rules.usage[resource].push_back({NumaMask::of(node), bytes.below(4), 3});
    }
  }
  if (!rules.options.prefer_most_allocated_numa_node) {
    rules.options.numa_allocation_strategy =
        static_cast<pinfold::NumaAllocationStrategy>(bytes.below(3));
    rules.options.numa_score_weights["b"] = static_cast<int>(bytes.below(3));
  }

  std::vector<pinfold::ResourceHints> providers(2);
  std::size_t combinations = 1;
  for (unsigned i = 0; !bytes.empty() && i < 8; ++i) {
    pinfold::HintList& list = providers[i % 2][std::string(1, static_cast<char>('a' + i))];
    const unsigned length = bytes.below(24);
    if (length == 23) continue;  // no preference
    list.emplace();
    for (unsigned k = 0; k < length; ++k) {
      const NumaMask mask(1 + bytes.below((1U << static_cast<unsigned>(rules.nodes)) - 1));
      list->push_back({mask, bytes.below(2) == 1});
    }
    std::stable_sort(list->begin(), list->end(), pinfold::test::hint_order);
    combinations *= std::max<std::size_t>(1, list->size());
    if (combinations > 100'000) return 0;  // the enumeration would take too long
  }
  const auto fast = pinfold::test::manager_of(rules).merge(providers, rules.usage);
  const auto naive = pinfold::test::NaiveMerge(rules)(providers);
  if (fast.admit != naive.admit) std::abort();
  const bool is_compared = fast.admit || rules.options.numa_allocation_strategy ==
                                             pinfold::NumaAllocationStrategy::kNone;
  if (is_compared && fast != naive) std::abort();
  return 0;
}
