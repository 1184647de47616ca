#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "pinfold/decide/allocatable.hpp"
#include "pinfold/types/named.hpp"
#include "words.hpp"

namespace pinfold::explain_detail {
namespace {

Quantity count(std::size_t number) {
  return Quantity::of(static_cast<std::int64_t>(number), Quantity::Format::kDecimalSi);
}

/// Collects what one pod holds.
class PodHolders {
 public:
  PodHolders(const Failure& failure, const PodUid& uid)
      : failure_(failure), uid_(uid), pod_(ref_of(failure.state, uid)) {}

  [[nodiscard]] std::vector<Holder> of(const std::string& resource, const PlaceAmounts& place) {
    if (failure_.step.source == kRequests) {
      requested(resource);
    } else if (resource == "cpu") {
      cpus(place);
    } else if (is_memory_resource(resource)) {
      memory(resource, place);
    } else {
      devices(resource, place);
    }
    return std::move(holders_);
  }

 private:
  void add(const std::string& container, const Quantity& amount,
           std::vector<std::int32_t> spread_over = {}) {
    if (amount.is_zero()) return;
    holders_.push_back({pod_, container, amount, std::move(spread_over)});
  }

  void requested(const std::string& resource) {
    const ActivePod* const pod = failure_.state.find(uid_);
    add("", amount_of(pod != nullptr ? total_requests(failure_.node.gates(), pod->spec)
                                     : held_amounts(failure_.state, uid_),
                      resource));
  }

  void cpus(const PlaceAmounts& place) {
    const Machine& machine = failure_.node.machine();
    const auto position = machine.numa_position(NumaId{place.numa_nodes.front()});
    if (!position) return;
    const CpuSet& here = machine.cpus_of_numa(*position);
    const CpuState& state = failure_.state.cpu;
    if (const auto whole = state.pods.find(uid_); whole != state.pods.end()) {
      add("", count(whole->second.count_common(here)));
      return;
    }
    const auto* const containers = state.assignments.find(uid_);
    if (containers == nullptr) return;
    CpuSet counted;  // a later container can have the CPUs of an init container
    for (const auto& [name, cpus] : *containers) {
      add(name, count((cpus - counted).count_common(here)));
      counted |= cpus;
    }
  }

  void memory(const std::string& resource, const PlaceAmounts& place) {
    const auto add_blocks = [&](const std::string& container,
                                const std::vector<MemoryBlock>& blocks) {
      for (const MemoryBlock& block : blocks) {
        const auto& ids = block.numa_affinity;
        const bool is_here =
            std::find(ids.begin(), ids.end(), place.numa_nodes.front()) != ids.end();
        if (block.type != resource || !is_here) continue;
        add(container, Quantity::bytes(static_cast<std::int64_t>(block.size)),
            ids.size() > 1 ? ids : std::vector<std::int32_t>{});
      }
    };
    const MemoryState& state = failure_.state.memory;
    if (const auto whole = state.pods.find(uid_); whole != state.pods.end()) {
      add_blocks("", whole->second);
      return;
    }
    const auto* const containers = state.assignments.find(uid_);
    if (containers == nullptr) return;
    for (const auto& [name, blocks] : *containers) add_blocks(name, blocks);
  }

  void devices(const std::string& resource, const PlaceAmounts& place) {
    const auto* const containers = failure_.state.devices.assignments.find(uid_);
    if (containers == nullptr) return;
    const std::set<std::string> here = devices_at(resource, place);
    std::set<std::string> counted;
    for (const auto& [name, resources] : *containers) {
      const auto held = resources.find(resource);
      if (held == resources.end()) continue;
      std::size_t number = 0;
      for (const std::string& id : held->second) {
        if (here.contains(id) && counted.insert(id).second) ++number;
      }
      add(name, count(number));
    }
  }

  [[nodiscard]] std::set<std::string> devices_at(const std::string& resource,
                                                 const PlaceAmounts& place) const {
    const Machine& machine = failure_.node.machine();
    std::set<std::string> ids;
    for (const Device& device : machine.devices()) {
      NumaMask mask;
      for (const NumaId id : device.numa_nodes) {
        if (const auto position = machine.numa_position(id)) mask = mask | NumaMask::of(*position);
      }
      const bool is_here =
          device.resource == resource && machine.numa_ids(mask) == place.numa_nodes;
      if (is_here) ids.insert(device.id);
    }
    return ids;
  }

  const Failure& failure_;
  const PodUid& uid_;
  PodRef pod_;
  std::vector<Holder> holders_;
};

std::set<PodUid> all_pods(const NodeState& state) {
  std::set<PodUid> uids;
  for (const ActivePod& pod : state.pods) uids.insert(pod.spec.uid);
  for (const auto& [uid, containers] : state.cpu.assignments.by_pod()) uids.insert(uid);
  for (const auto& [uid, containers] : state.memory.assignments.by_pod()) uids.insert(uid);
  for (const auto& [uid, containers] : state.devices.assignments.by_pod()) uids.insert(uid);
  return uids;
}

/// Returns what the containers of the pod that were served before the failed one hold at a place.
std::vector<Holder> earlier_holders(const Failure& failure, const NodeState& served,
                                    const std::string& resource, const PlaceAmounts& place) {
  const Failure then{failure.node, served, failure.pod,    failure.why,
                     failure.step, {},     failure.amounts};
  std::vector<Holder> holders = holders_of(then, resource, place, failure.pod.uid);
  for (Holder& holder : holders) holder.is_earlier = true;
  return holders;
}

/// Adds what the amounts count as held although the state before the admission does not contain it:
/// containers of the same pod that were served before the failed one. `served`: the state with
/// them, if it is known.
void add_own_containers(const Failure& failure, const std::optional<NodeState>& served,
                        const std::string& resource, OccupiedPlace& place) {
  if (failure.step.source == kRequests) return;
  Quantity rest = place.held;
  for (const Holder& holder : place.holders) {
    if (!holder.spread_over.empty()) return;  // how much of it is here is unknown
    rest -= holder.amount;
  }
  if (rest.sign() <= 0) return;
  std::vector<Holder> own;
  if (served) own = earlier_holders(failure, *served, resource, place);
  Quantity sum;
  for (const Holder& holder : own) sum += holder.amount;
  if (sum != rest) own = {{ref_of(failure.pod), "", rest, {}, true}};
  place.holders.insert(place.holders.end(), own.begin(), own.end());
}

/// Returns what each holder has of a resource at all places. What is spread over NUMA nodes is
/// listed at each of them.
std::vector<std::pair<std::string, Quantity>> sums_by_holder(const OccupiedResource& resource) {
  std::vector<std::pair<std::string, Quantity>> sums;
  for (const OccupiedPlace& place : resource.places) {
    for (const Holder& holder : place.holders) {
      const std::string name = to_string(holder);
      const auto found = std::find_if(sums.begin(), sums.end(),
                                      [&](const auto& sum) { return sum.first == name; });
      if (found == sums.end()) {
        sums.emplace_back(name, holder.amount);
      } else if (holder.spread_over.empty()) {
        found->second += holder.amount;
      }
    }
  }
  return sums;
}

}  // namespace

std::vector<Holder> holders_of(const Failure& failure, const std::string& resource,
                               const PlaceAmounts& place, const PodUid& uid) {
  return PodHolders(failure, uid).of(resource, place);
}

std::vector<OccupiedResource> occupied(const Failure& failure) {
  const std::set<PodUid> uids = all_pods(failure.state);
  const std::optional<NodeState> served = served_before(failure);
  std::vector<OccupiedResource> table;
  for (const Amounts& amounts : failure.amounts) {
    OccupiedResource& resource =
        table.emplace_back(OccupiedResource{amounts.resource, amounts.needed, {}});
    for (const PlaceAmounts& amounts_here : amounts.places) {
      OccupiedPlace& place = resource.places.emplace_back(OccupiedPlace{amounts_here, {}});
      for (const PodUid& uid : uids) {
        if (failure.step.source == kRequests && uid == failure.pod.uid) continue;
        for (Holder& holder : holders_of(failure, amounts.resource, amounts_here, uid)) {
          place.holders.push_back(std::move(holder));
        }
      }
      std::stable_sort(
          place.holders.begin(), place.holders.end(), [](const Holder& a, const Holder& b) {
            return a.amount != b.amount ? a.amount > b.amount : to_string(a) < to_string(b);
          });
      add_own_containers(failure, served, amounts.resource, place);
    }
  }
  return table;
}

std::string holders_of_all(const Failure& failure) {
  constexpr std::size_t kMostHoldersNamed = 4;
  const std::set<std::string> names = missing_resources(failure);
  std::vector<std::string> owners;  // in the order of the places
  std::vector<std::string> parts;
  for (const OccupiedResource& resource : occupied(failure)) {
    if (!names.contains(resource.resource)) continue;
    for (const auto& [owner, amount] : sums_by_holder(resource)) {
      const std::string text = of_resource(amount, resource.resource, AmountRounding::kDown);
      const auto found = std::find(owners.begin(), owners.end(), owner);
      if (found == owners.end()) {
        owners.push_back(owner);
        parts.push_back(fmt::format("{} {}", owner, text));
      } else {
        parts[static_cast<std::size_t>(found - owners.begin())] += " with " + text;
      }
    }
  }
  if (parts.empty()) return "";
  return fmt::format(" (held by {})",
                     listed(first_named(std::move(parts), kMostHoldersNamed, "more")));
}

}  // namespace pinfold::explain_detail

namespace pinfold {

std::string to_string(const Holder& holder) {
  const std::string pod = to_string(holder.pod);
  if (!holder.container.empty()) return pod + "/" + holder.container;
  return holder.is_earlier ? pod + " itself" : pod;
}

}  // namespace pinfold
