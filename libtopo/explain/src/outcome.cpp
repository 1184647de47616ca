#include "outcome.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "pinfold/decide/allocatable.hpp"

namespace pinfold::explain_detail {
namespace {

/// Returns the source of the step that allocates a resource.
std::string_view source_of(const std::string& resource) {
  if (resource == "cpu") return "cpu";
  return is_memory_resource(resource) ? "memory" : "devices";
}

void add_missing(Missing& missing, const Amounts& amounts, const Quantity& free) {
  if (free < amounts.needed) {
    missing.amounts.push_back({amounts.resource, amounts.needed - free, {}});
  }
}

/// Returns the largest missing share of what is needed, over all resources.
double worst_share(const Failure& failure, const Missing& missing) {
  double worst = 0;
  for (const Amounts& lack : missing.amounts) {
    for (const Amounts& amounts : failure.amounts) {
      if (amounts.resource != lack.resource) continue;
      worst = std::max(worst, static_cast<double>(lack.needed.nano()) /
                                  static_cast<double>(amounts.needed.nano()));
    }
  }
  return worst;
}

/// Returns whether the failed step allocates the resource.
bool is_of_step(const Failure& failure, const std::string& resource) {
  const std::string_view source = failure.step.source;
  return source == kTopology || source == kRequests || source == source_of(resource);
}

std::vector<Missing> missing_by_numa_node(const Failure& failure) {
  std::vector<Missing> all;
  for (const std::int32_t id : numa_ids(failure.amounts)) {
    Missing& missing = all.emplace_back(Missing{{id}, {}});
    for (const Amounts& amounts : failure.amounts) {
      if (is_of_step(failure, amounts.resource)) {
        add_missing(missing, amounts, free_at(amounts, id));
      }
    }
  }
  std::stable_sort(all.begin(), all.end(), [&](const Missing& a, const Missing& b) {
    if (a.amounts.size() != b.amounts.size()) return a.amounts.size() < b.amounts.size();
    return worst_share(failure, a) < worst_share(failure, b);
  });
  return all;
}

/// Finds the resource that needs the most NUMA nodes, and returns what is missing on the `width`
/// NUMA nodes with the most of it free.
Missing missing_on_several(const Failure& failure, int width) {
  const auto widest = std::max_element(
      failure.amounts.begin(), failure.amounts.end(),
      [](const Amounts& a, const Amounts& b) { return least_nodes(a) < least_nodes(b); });
  std::vector<std::int32_t> ids = numa_ids(failure.amounts);
  std::stable_sort(ids.begin(), ids.end(), [&](std::int32_t a, std::int32_t b) {
    return free_at(*widest, a) > free_at(*widest, b);
  });
  ids.resize(std::min(ids.size(), static_cast<std::size_t>(width)));
  std::sort(ids.begin(), ids.end());
  Missing missing{ids, {}};
  for (const Amounts& amounts : failure.amounts) {
    Quantity free;
    for (const std::int32_t id : ids) free += free_at(amounts, id);
    add_missing(missing, amounts, free);
  }
  return missing;
}

}  // namespace

Quantity capacity_of(const PlaceAmounts& place, const std::string& resource) {
  const Quantity usable = place.free + place.held;
  return resource == "cpu" ? usable + place.reserved : usable;
}

int least_nodes(const Amounts& amounts) {
  std::vector<Quantity> capacities;
  for (const PlaceAmounts& place : amounts.places) {
    capacities.push_back(capacity_of(place, amounts.resource));
  }
  std::sort(capacities.begin(), capacities.end(), std::greater<>());
  Quantity sum;
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    sum += capacities[i];
    if (sum >= amounts.needed) return static_cast<int>(i) + 1;
  }
  return 1;
}

const Container* Failure::container() const {
  return is_whole_pod() ? nullptr : pod.find(step.object);
}

std::optional<Failure> find_failure(const Node& node, const NodeState& state, const PodSpec& pod,
                                    Trace* trace) {
  Trace unused;  // amounts are recorded only with a trace
  Decision decision = decide(node, state, pod, trace == nullptr ? &unused : trace, nullptr,
                             AdmissionChecks::kManagersAndRequests);
  auto* const rejected = std::get_if<Rejected>(&decision);
  if (rejected == nullptr) return std::nullopt;
  Failure failure{node, state, pod, std::move(rejected->why), std::move(rejected->step), {}, {}};
  const std::string& object = failure.step.object;
  if (failure.why.reason == kOutOfPods) return failure;
  if (failure.step.source == kRequests) {
    failure.amounts = request_amounts(node, state, pod);
    std::erase_if(failure.amounts, [](const Amounts& amounts) {
      return amounts.places.front().free >= amounts.needed;
    });
    return failure;
  }
  failure.hints = std::move(rejected->hints[object]);
  failure.amounts = std::move(rejected->amounts[object]);
  return failure;
}

std::optional<NodeState> served_before(const Failure& failure) {
  if (failure.is_whole_pod()) return std::nullopt;
  PodSpec before = failure.pod;
  const auto own = std::find_if(
      before.containers.begin(), before.containers.end(),
      [&](const Container& container) { return container.name == failure.step.object; });
  if (own == before.containers.end()) return std::nullopt;
  before.containers.erase(own, before.containers.end());
  Decision decision = decide(failure.node, failure.state, before);
  auto* const admitted = std::get_if<Admitted>(&decision);
  return admitted == nullptr ? std::nullopt : std::optional(std::move(admitted->next));
}

std::vector<std::int32_t> numa_ids(const std::vector<Amounts>& amounts) {
  std::set<std::int32_t> ids;
  for (const Amounts& resource : amounts) {
    for (const PlaceAmounts& place : resource.places) {
      ids.insert(place.numa_nodes.begin(), place.numa_nodes.end());
    }
  }
  return {ids.begin(), ids.end()};
}

Quantity free_at(const Amounts& amounts, std::int32_t numa_node) {
  Quantity free;
  for (const PlaceAmounts& place : amounts.places) {
    const auto& ids = place.numa_nodes;
    const bool is_here = ids.empty() || std::find(ids.begin(), ids.end(), numa_node) != ids.end();
    if (is_here) free += place.free;
  }
  return free;
}

Quantity free_in_all(const Amounts& amounts) {
  Quantity free;
  for (const PlaceAmounts& place : amounts.places) free += place.free;
  return free;
}

bool needs_one_numa_node(const Failure& failure) {
  return failure.node.topology().policy() == TopologyPolicy::kSingleNumaNode &&
         (failure.step.source == kTopology || failure.step.source == "memory");
}

std::vector<Missing> find_missing(const Failure& failure) {
  if (failure.amounts.empty()) return {};
  if (needs_one_numa_node(failure)) return missing_by_numa_node(failure);
  if (failure.step.source == kTopology) {
    int width = 1;
    for (const Amounts& amounts : failure.amounts) width = std::max(width, least_nodes(amounts));
    if (width > 1) return {missing_on_several(failure, width)};
    return missing_by_numa_node(failure);
  }
  Missing missing;
  for (const Amounts& amounts : failure.amounts) {
    if (is_of_step(failure, amounts.resource)) {
      add_missing(missing, amounts, free_in_all(amounts));
    }
  }
  return {missing};
}

std::set<std::string> missing_resources(const Failure& failure) {
  std::set<std::string> names;
  for (const Missing& place : find_missing(failure)) {
    for (const Amounts& amounts : place.amounts) names.insert(amounts.resource);
  }
  return names;
}

std::int64_t other_pods(const Failure& failure) {
  const std::int64_t all = std::ssize(failure.state.pods);
  return failure.state.find(failure.pod.uid) == nullptr ? all : all - 1;
}

std::vector<Amounts> request_amounts(const Node& node, const NodeState& state, const PodSpec& pod) {
  const ResourceList capacities = allocatable(node);
  ResourceList totals;
  totals["cpu"] = Quantity::of(static_cast<std::int64_t>(node.machine().cpus().size()),
                               Quantity::Format::kDecimalSi);
  totals["memory"] = Quantity::bytes(static_cast<std::int64_t>(node.machine().memory()));
  std::vector<Amounts> all;
  const ResourceList by_others = requests_of_pods(node.gates(), state, pod.uid);
  for (const auto& [name, needed] : total_requests(node.gates(), pod)) {
    if (!is_native_resource(name) || needed.is_zero()) continue;
    const Quantity used = amount_of(by_others, name);
    const Quantity capacity = amount_of(capacities, name);
    const Quantity total = totals.contains(name) ? totals[name] : capacity;
    all.push_back(
        {name, needed, {{{}, std::max(capacity - used, Quantity{}), used, total - capacity}}});
  }
  return all;
}

}  // namespace pinfold::explain_detail
