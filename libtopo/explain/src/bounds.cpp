#include "bounds.hpp"

#include <algorithm>

#include "pinfold/api/pod_level.hpp"
#include "pinfold/decide/allocatable.hpp"

namespace pinfold::explain_detail {
namespace {

/// Caps an amount so that sums of a thousand of them do not overflow. No machine has more than
/// that.
std::int64_t bounded(std::int64_t amount) {
  constexpr std::int64_t kMost = std::int64_t{1} << 52U;
  return std::clamp(amount, -kMost, kMost);
}

/// Places for pods: each pod needs one.
constexpr const char* kPods = "pods";
constexpr Quantity kOnePod = Quantity::of(1, Quantity::Format::kDecimalSi);

std::int64_t in_units(const std::string& resource, const Quantity& amount) {
  return bounded(is_memory_resource(resource) ? amount.value() : amount.milli_value());
}

void add_cpus_of(const Failure& failure, const PodUid& uid, SlotAmounts& out) {
  const CpuState& state = failure.state.cpu;
  CpuSet cpus;
  if (const auto whole = state.pods.find(uid); whole != state.pods.end()) cpus = whole->second;
  if (const auto* const containers = state.assignments.find(uid)) {
    for (const auto& [name, some] : *containers) cpus |= some;
  }
  for (const Machine::Group& numa : failure.node.machine().numa_groups()) {
    const auto milli = static_cast<std::int64_t>(cpus.count_common(numa.cpus)) * 1000;
    out[{"cpu", numa.id}] += milli;
    out[{"cpu", kWholeNode}] += milli;
  }
}

void add_memory_of(const Failure& failure, const PodUid& uid, SlotAmounts& out) {
  const auto add = [&](const std::vector<MemoryBlock>& blocks) {
    for (const MemoryBlock& block : blocks) {
      const std::int64_t size = bounded(static_cast<std::int64_t>(block.size));
      for (const std::int32_t id : block.numa_affinity) out[{block.type, id}] += size;
      out[{block.type, kWholeNode}] += size;
    }
  };
  const MemoryState& state = failure.state.memory;
  if (const auto whole = state.pods.find(uid); whole != state.pods.end()) {
    add(whole->second);
  } else if (const auto* const containers = state.assignments.find(uid)) {
    for (const auto& [name, blocks] : *containers) add(blocks);
  }
}

void add_devices_of(const Failure& failure, const PodUid& uid, SlotAmounts& out) {
  constexpr std::int64_t kOne = 1000;
  const auto* const containers = failure.state.devices.assignments.find(uid);
  if (containers == nullptr) return;
  const Machine& machine = failure.node.machine();
  std::map<std::pair<std::string, std::string>, std::vector<std::int32_t>> places;
  for (const Device& device : machine.devices()) {
    auto& ids = places[{device.resource, device.id}];
    for (const NumaId id : device.numa_nodes) ids.push_back(id.value);
    if (ids.empty()) ids = machine.numa_ids(machine.all_numa());
  }
  for (const auto& [name, resources] : *containers) {
    for (const auto& [resource, devices] : resources) {
      for (const std::string& device : devices) {
        out[{resource, kWholeNode}] += kOne;
        for (const std::int32_t id : places[{resource, device}]) out[{resource, id}] += kOne;
      }
    }
  }
}

}  // namespace

SlotAmounts freed_by(const Failure& failure, const PodUid& uid) {
  SlotAmounts out;
  add_cpus_of(failure, uid, out);
  add_memory_of(failure, uid, out);
  add_devices_of(failure, uid, out);
  if (const ActivePod* const pod = failure.state.find(uid)) {
    out[{kPods, kByRequests}] = in_units(kPods, kOnePod);
    for (const auto& [name, amount] : total_requests(failure.node.gates(), pod->spec)) {
      if (is_native_resource(name)) out[{name, kByRequests}] += in_units(name, amount);
    }
  } else if (failure.state.held.contains(uid)) {
    for (const auto& [name, amount] : held_amounts(failure.state, uid)) {
      out[{name, kByRequests}] += in_units(name, amount);
    }
  }
  return out;
}

Bounds::Bounds(const Failure& failure) {
  const TopologyManager& topology = failure.node.topology();
  const PodView pod(failure.pod);
  add_requests(failure);
  const bool is_single = topology.policy() == TopologyPolicy::kSingleNumaNode;
  if (topology.policy() != TopologyPolicy::kNone && topology.scope() == TopologyScope::kPod) {
    add(failure, pod, nullptr, is_single);
    return;
  }
  for (const Container& container : failure.pod.containers) {
    add(failure, pod, &container, is_single);
  }
}

void Bounds::add_need(Place& place, const std::string& resource, const Quantity& needed,
                      const Quantity& free) {
  const auto [slot, is_new] = slots_.try_emplace({resource, place.id}, slots_.size());
  if (is_new) free_.push_back(in_units(resource, free));
  place.needs.push_back({slot->second, in_units(resource, needed)});
}

void Bounds::add_requests(const Failure& failure) {
  Place place{kByRequests, {}};
  const ResourceList capacities = allocatable(failure.node);
  for (const Amounts& amounts : request_amounts(failure.node, failure.state, failure.pod)) {
    // Negative if the other pods request more than there is.
    const Quantity left = amount_of(capacities, amounts.resource) - amounts.places.front().held;
    add_need(place, amounts.resource, amounts.needed, left);
  }
  const std::int64_t others = other_pods(failure);
  if (const auto most = allowed_pods(failure.node); most && others >= *most) {
    add_need(place, kPods, kOnePod, Quantity::of(*most - others, Quantity::Format::kDecimalSi));
  }
  if (!place.needs.empty()) demands_.push_back({std::move(place)});
}

void Bounds::add(const Failure& failure, const PodView& pod, const Container* container,
                 bool is_single) {
  const Node& node = failure.node;
  std::vector<Amounts> all;
  // A pod that is managed as a whole takes its devices later, when its containers start.
  const bool takes_devices = container != nullptr || !is_managed_as_pod(node.gates(), pod);
  if (takes_devices) all = node.devices().amounts(failure.state.devices, pod, container);
  for (const auto& more : {node.cpu().amounts(failure.state.cpu, pod, container),
                           node.memory().amounts(failure.state.memory, pod, container)}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  if (all.empty()) return;
  std::vector<PlaceId> ids;
  if (is_single) ids = numa_ids(all);
  if (ids.empty()) ids = {kWholeNode};
  Demand& demand = demands_.emplace_back();
  for (const PlaceId id : ids) {
    Place& place = demand.emplace_back(Place{id, {}});
    for (const Amounts& amounts : all) {
      add_need(place, amounts.resource, amounts.needed,
               id == kWholeNode ? free_in_all(amounts) : free_at(amounts, id));
    }
  }
}

Bounds::Freed Bounds::project(const SlotAmounts& amounts) const {
  Freed freed(free_.size(), 0);
  for (const auto& [slot, number] : slots_) {
    const auto found = amounts.find(slot);
    if (found != amounts.end()) freed[number] = found->second;
  }
  return freed;
}

bool Bounds::may_fit(const std::vector<const Freed*>& gone) const {
  const auto is_enough = [&](const Need& need) {
    std::int64_t free = free_[need.slot];
    for (const Freed* const freed : gone) free += (*freed)[need.slot];
    return free >= need.amount;
  };
  return std::all_of(demands_.begin(), demands_.end(), [&](const Demand& demand) {
    return std::any_of(demand.begin(), demand.end(), [&](const Place& place) {
      return std::all_of(place.needs.begin(), place.needs.end(), is_enough);
    });
  });
}

std::vector<PlaceId> Bounds::places() const {
  std::map<PlaceId, double> lacks;
  for (const Demand& demand : demands_) {
    for (const Place& place : demand) {
      double& lack = lacks[place.id];
      for (const Need& need : place.needs) {
        const auto missing = std::max<std::int64_t>(need.amount - free_[need.slot], 0);
        lack += static_cast<double>(missing) / static_cast<double>(need.amount);
      }
    }
  }
  std::vector<PlaceId> ids;
  ids.reserve(lacks.size());
  for (const auto& [id, lack] : lacks) ids.push_back(id);
  std::stable_sort(ids.begin(), ids.end(),
                   [&](PlaceId a, PlaceId b) { return lacks[a] < lacks[b]; });
  return ids;
}

double Bounds::share_at(const Freed& freed, PlaceId place) const {
  double share = 0;
  for (const Demand& demand : demands_) {
    for (const Place& candidate : demand) {
      if (candidate.id != place) continue;
      for (const Need& need : candidate.needs) {
        share += static_cast<double>(freed[need.slot]) / static_cast<double>(need.amount);
      }
    }
  }
  return share;
}

double Bounds::share(const Freed& freed) const {
  double sum = 0;
  for (const PlaceId place : places()) sum += share_at(freed, place);
  return sum;
}

double Bounds::missing_share(const Freed& freed) const {
  double share = 0;
  for (const Demand& demand : demands_) {
    for (const Place& place : demand) {
      for (const Need& need : place.needs) {
        if (free_[need.slot] >= need.amount) continue;
        share += static_cast<double>(freed[need.slot]) / static_cast<double>(need.amount);
      }
    }
  }
  return share;
}

}  // namespace pinfold::explain_detail
