#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "pinfold/api/pod_level.hpp"
#include "request_change.hpp"
#include "summary.hpp"

/// How it works: whether a pod fits is a step function of each amount. For resources that count
/// whole, every step is tried. For memory the steps are where a set of NUMA nodes stops being
/// enough, alone or after other containers of the pod have taken theirs. So the amounts to try are
/// the differences of those: few enough to try all. Other rules have other steps (the containers of
/// a pod may not use up what it has as a whole), so shares of the amount are tried, too, and the
/// search looks between an amount that fits and the next larger one.
namespace pinfold::explain_detail {
namespace {

constexpr std::size_t kMostCombined =
    6;  ///< NUMA nodes, or containers, whose subsets are all tried

Quantity whole(std::int64_t count) { return Quantity::of(count, Quantity::Format::kDecimalSi); }

/// Returns the sums of all subsets, including the empty one. With more than kMostCombined amounts:
/// each alone, and the sums of the largest ones.
std::set<Quantity> sums_of(std::vector<Quantity> amounts) {
  std::set<Quantity> sums = {Quantity{}};
  if (amounts.size() <= kMostCombined) {
    for (const Quantity& amount : amounts) {
      const std::set<Quantity> before = sums;
      for (const Quantity& sum : before) sums.insert(sum + amount);
    }
    return sums;
  }
  std::sort(amounts.begin(), amounts.end(), std::greater<>());
  Quantity together;
  for (const Quantity& amount : amounts) {
    sums.insert(amount);
    sums.insert(together += amount);
  }
  return sums;
}

/// Returns an upper bound: a larger number of anything never fits.
std::int64_t most_there_is(const Failure& failure) {
  const Machine& machine = failure.node.machine();
  return static_cast<std::int64_t>(std::max(machine.cpus().size(), machine.devices().size()));
}

/// Returns the requests of the containers that get nothing; at least the smallest amount.
Quantity starved_request(const Failure& failure, const std::string& resource) {
  if (const auto shortage = find_init_shortage(failure, resource)) {
    return shortage->needed - shortage->left;
  }
  Quantity sum;
  for (const std::string& name : starved_containers(failure, resource)) {
    sum += amount_of(failure.pod.find(name)->resources.requests, resource);
  }
  if (resource == "cpu") return whole(std::max<std::int64_t>(sum.value(), 1));
  return std::max(sum, Quantity::bytes(std::int64_t{1} << 20U));
}

/// Returns by how much an amount may have to become smaller: what is missing at the places.
std::set<Quantity> shortages(const Failure& failure, const std::string& resource) {
  std::set<Quantity> all;
  for (const Missing& missing : find_missing(failure)) {
    for (const Amounts& amounts : missing.amounts) {
      if (amounts.resource == resource) all.insert(amounts.needed);
    }
  }
  if (is_starved(failure, resource)) all.insert(starved_request(failure, resource));
  return all;
}

/// Returns what sets of NUMA nodes have free, before the pod and at the step that failed.
std::set<Quantity> free_on_numa_nodes(const Failure& failure, const Target& target,
                                      const std::string& resource) {
  const PodView pod(failure.pod);
  auto all = failure.node.memory().amounts(failure.state.memory, pod,
                                           target ? &failure.pod.containers[*target] : nullptr);
  all.insert(all.end(), failure.amounts.begin(), failure.amounts.end());
  std::set<Quantity> free;
  for (const Amounts& amounts : all) {
    if (amounts.resource != resource) continue;
    std::vector<Quantity> each;
    for (const std::int32_t id : numa_ids({amounts})) each.push_back(free_at(amounts, id));
    free.merge(sums_of(std::move(each)));
  }
  return free;
}

/// Returns what the other containers of the pod request.
std::vector<Quantity> others(const PodSpec& pod, const Target& target,
                             const std::string& resource) {
  std::vector<Quantity> all;
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    const Quantity amount = requested(pod, i, resource);
    if (target != Target(i) && !amount.is_zero()) all.push_back(amount);
  }
  return all;
}

/// Adds eighths of an amount, then halves of the smallest.
void add_shares(const Quantity& of, const std::function<void(const Quantity&)>& add) {
  constexpr std::int64_t kParts = 8;
  constexpr std::int64_t kLeast = std::int64_t{1} << 20U;
  for (std::int64_t i = kParts - 1; i > 0; --i) add(Quantity::bytes(of.value() / kParts * i));
  for (std::int64_t bytes = of.value() / kParts; bytes >= kLeast; bytes /= 2) {
    add(Quantity::bytes(bytes));
  }
}

bool is_hugepages(const std::string& resource) {
  return is_memory_resource(resource) && resource != "memory";
}

/// Returns whether a machine has huge pages of a size.
bool exists(const Machine& machine, const std::string& hugepages) {
  const auto& nodes = machine.numa_nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](const NumaNode& node) {
    const auto found = node.hugepages.find(hugepages);
    return found != node.hugepages.end() && found->second > 0;
  });
}

/// Returns all smaller whole numbers, the nearest first.
std::vector<Quantity> smaller_numbers(const Failure& failure, const Quantity& from) {
  std::vector<Quantity> all;
  for (std::int64_t count = std::min(from.value(), most_there_is(failure) + 1); count > 1;
       --count) {
    all.push_back(whole(count - 1));
  }
  return all;
}

/// Returns an amount; under full-pcpus-only also the next numbers of CPUs, one of which is of whole
/// cores.
std::vector<Quantity> whole_cores_from(const Failure& failure, const std::string& resource,
                                       const Quantity& first) {
  std::vector<Quantity> all = {first};
  if (resource != "cpu" || !failure.node.cpu().options().full_pcpus_only) return all;
  for (int i = 1; i < failure.node.machine().cpus_per_core(); ++i) {
    all.push_back(whole(first.value() + i));
  }
  return all;
}

/// Returns the smallest amount that needs as many NUMA nodes as another resource does: the policy
/// restricted aligns an object only if all its resources need equally many.
std::vector<Quantity> amount_on_as_many_nodes(const Failure& failure, const Target& target,
                                              const std::string& resource) {
  const bool is_needed_by =
      failure.is_whole_pod() || (target && failure.container() == &failure.pod.containers[*target]);
  const bool is_restricted = failure.node.topology().policy() == TopologyPolicy::kRestricted;
  if (!is_restricted || failure.step.source != kTopology || !is_needed_by) return {};
  int width = 1;
  for (const Amounts& amounts : failure.amounts) width = std::max(width, least_nodes(amounts));
  for (const Amounts& amounts : failure.amounts) {
    if (amounts.resource != resource || least_nodes(amounts) == width) continue;
    std::vector<Quantity> capacities;
    for (const PlaceAmounts& place : amounts.places) {
      capacities.push_back(capacity_of(place, resource));
    }
    std::sort(capacities.begin(), capacities.end(), std::greater<>());
    Quantity more =
        is_memory_resource(resource) ? Quantity::bytes(std::int64_t{1} << 20U) : whole(1);
    for (int i = 0; i + 1 < width && i < std::ssize(capacities); ++i) {
      more += capacities[static_cast<std::size_t>(i)];
    }
    const Quantity from = requested(failure.pod, target, resource);
    return whole_cores_from(failure, resource,
                            rounded_down(resource, from + (more - amounts.needed)));
  }
  return {};
}

/// Returns the CPUs that the requests of other pods leave for a container; nullopt if they are
/// enough, or a whole number.
std::optional<Quantity> fraction_left(const Failure& failure, const Target& target) {
  for (const Amounts& amounts : request_amounts(failure.node, failure.state, failure.pod)) {
    const Quantity& free = amounts.places.front().free;
    if (amounts.resource != "cpu" || free >= amounts.needed) continue;
    const Quantity left = requested(failure.pod, target, "cpu") - (amounts.needed - free);
    if (left.sign() > 0 && !left.is_whole()) return left;
  }
  return std::nullopt;
}

}  // namespace

bool counts_whole(const Failure& failure, const Target& target, const std::string& resource) {
  if (!is_native_resource(resource)) return true;
  if (resource != "cpu") return false;
  const PodView pod(failure.pod);
  if (!target) return requested(failure.pod, target, resource).is_whole();
  return failure.node.cpu().is_static() &&
         failure.node.cpu().guaranteed_cpus(pod, pod.containers[*target]) > 0;
}

bool is_starved(const Failure& failure, const std::string& resource) {
  return !starved_containers(failure, resource).empty() ||
         find_init_shortage(failure, resource).has_value();
}

Quantity rounded_down(const std::string& resource, const Quantity& amount) {
  constexpr std::int64_t kMi = std::int64_t{1} << 20U;
  if (!is_memory_resource(resource) || amount.value() < kMi) return amount;
  return Quantity::bytes(amount.value() / kMi * kMi);
}

std::vector<Quantity> smaller_amounts(const Failure& failure, const Target& target,
                                      const std::string& resource) {
  const Quantity from = requested(failure.pod, target, resource);
  if (counts_whole(failure, target, resource)) {
    return smaller_numbers(failure, from);
  }
  std::set<Quantity, std::greater<>> all;
  const auto add = [&](const Quantity& to) {
    if (to.sign() > 0 && to < from) all.insert(rounded_down(resource, to));
  };
  for (const Quantity& amount : shortages(failure, resource)) add(from - amount);
  if (is_memory_resource(resource)) add_shares(from, add);
  const std::vector<Quantity> of_others = others(failure.pod, target, resource);
  for (const Quantity& amount : of_others) add(amount);  // an init container leaves it to them
  const std::set<Quantity> taken = sums_of(of_others);
  for (const Quantity& free : free_on_numa_nodes(failure, target, resource)) {
    for (const Quantity& sum : taken) add(free - sum);
  }
  if (is_hugepages(resource) && !exists(failure.node.machine(), resource)) return {Quantity{}};
  return {all.begin(), all.end()};
}

std::vector<Quantity> shared_amounts(const Failure& failure, const Target& target,
                                     bool with_just_less) {
  if (!target || !counts_whole(failure, target, "cpu")) return {};
  const Quantity from = requested(failure.pod, target, "cpu");
  std::vector<Quantity> all;
  if (failure.pod.containers[*target].kind == ContainerKind::kApp) {
    if (const auto left = fraction_left(failure, target)) all.push_back(*left);
    if (with_just_less || !amount_on_as_many_nodes(failure, target, "cpu").empty()) {
      all.push_back(from - Quantity::milli(1));
    }
    return all;
  }
  for (std::int64_t count = std::min(from.value(), most_there_is(failure) + 1); count > 0;
       --count) {
    all.push_back(whole(count) - Quantity::milli(1));
  }
  return all;
}

std::vector<Quantity> larger_amounts(const Failure& failure, const Target& target,
                                     const std::string& resource) {
  const Quantity from = requested(failure.pod, target, resource);
  const bool starves = is_starved(failure, resource) && !target;
  if (is_memory_resource(resource)) {
    if (starves) return {from + starved_request(failure, resource)};
    if (!from.is_whole()) return {Quantity::bytes(from.value())};
    return amount_on_as_many_nodes(failure, target, resource);
  }
  const bool needs_whole_cores = failure.why.reason == kUnevenCores;
  const std::int64_t most = most_there_is(failure);
  if (from.value() > most) return {};
  if (!is_native_resource(resource)) return amount_on_as_many_nodes(failure, target, resource);
  if (resource != "cpu") return {};
  if (!starves && !needs_whole_cores) return amount_on_as_many_nodes(failure, target, resource);
  const std::int64_t first = starves ? starved_request(failure, resource).value() : 1;
  if (first > most) return {};
  std::vector<Quantity> all;
  all.reserve(static_cast<std::size_t>(failure.node.machine().cpus_per_core()));
  for (int i = 0; i < failure.node.machine().cpus_per_core(); ++i) {
    all.push_back(whole(from.value() + first + i));
  }
  return all;
}

}  // namespace pinfold::explain_detail
