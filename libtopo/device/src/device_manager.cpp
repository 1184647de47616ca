#include "pinfold/device/device_manager.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "pinfold/text/go_text.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold {
namespace {

using Ids = std::vector<std::string>;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Removes the digits at the front of `text` and returns them without leading zeros.
std::string_view cut_number(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && is_digit(text[length])) ++length;
  std::string_view digits = text.substr(0, length);
  text.remove_prefix(length);
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

/// Orders names so that numbers within them compare as numbers: "gpu-2" before "gpu-10".
bool goes_before(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a;
  const std::string_view whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view x = cut_number(a);
      const std::string_view y = cut_number(b);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else if (a.front() != b.front()) {
      return a.front() < b.front();
    } else {
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;  // "gpu-2" and "gpu-02"
}

bool contains(const Ids& ids, const std::string& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

/// Renumbers `mask` by position within `nodes`: pack(0b1000, 0b1010) is 0b10.
NumaMask pack(NumaMask mask, NumaMask nodes) {
  NumaMask packed;
  int index = 0;
  for (const int position : nodes.positions()) {
    if (mask.contains(position)) packed = packed | NumaMask::of(index);
    ++index;
  }
  return packed;
}

NumaMask unpack(NumaMask packed, NumaMask nodes) {
  NumaMask mask;
  int index = 0;
  for (const int position : nodes.positions()) {
    if (packed.contains(index)) mask = mask | NumaMask::of(position);
    ++index;
  }
  return mask;
}

/// Returns the devices of a resource that the pod's containers hold.
Ids held_by_pod(const DeviceState& state, const PodUid& pod, const std::string& resource) {
  Ids ids;
  const auto* const containers = state.assignments.find(pod);
  if (containers == nullptr) return ids;
  std::set<std::string> seen;  // a later container may hold an init container's device, too
  for (const auto& [name, resources] : *containers) {
    const auto held = resources.find(resource);
    if (held == resources.end()) continue;
    for (const std::string& id : held->second) {
      if (seen.insert(id).second) ids.push_back(id);
    }
  }
  return ids;
}

Ids in_use(const DeviceState& state, const std::string& resource) {
  Ids ids;
  for (const auto& [pod, containers] : state.assignments.by_pod()) {
    const Ids of_pod = held_by_pod(state, pod, resource);
    ids.insert(ids.end(), of_pod.begin(), of_pod.end());
  }
  return ids;
}

Ids held_by(const DeviceState& state, const ContainerId& container, const std::string& resource) {
  const auto* const of_container = state.assignments.find(container);
  if (of_container == nullptr) return {};
  const auto held = of_container->find(resource);
  return held == of_container->end() ? Ids{} : held->second;
}

Ids reusable_by(const DeviceState& state, const PodUid& pod, const std::string& resource) {
  const auto of_pod = state.reusable.find(pod);
  if (of_pod == state.reusable.end()) return {};
  const auto ids = of_pod->second.find(resource);
  return ids == of_pod->second.end() ? Ids{} : ids->second;
}

/// Updates the reusable devices after an allocation: those of a standard init container become
/// reusable, those of any other container no longer are.
void note_reuse(DeviceState& state, const PodSpec& pod, const Container& container) {
  const auto* const held = state.assignments.find({pod.uid, container.name});
  if (held == nullptr) return;
  auto& left = state.reusable[pod.uid];
  for (const auto& [resource, ids] : *held) {
    Ids& of_resource = left[resource];
    for (const std::string& id : ids) {
      std::erase(of_resource, id);
      if (container.kind == ContainerKind::kInit) of_resource.push_back(id);
    }
    std::sort(of_resource.begin(), of_resource.end(), goes_before);
  }
}

/// Returns the most that the containers need at one time. Uses limits, because extended resources
/// are never overcommitted.
std::map<std::string, std::int64_t> pod_limits(const PodSpec& pod) {
  std::map<std::string, std::int64_t> total;
  std::map<std::string, std::int64_t> sidecars;
  std::map<std::string, std::int64_t> init_peak;
  for (const Container& container : pod.containers) {
    for (const auto& [name, amount] : container.resources.limits) {
      if (container.kind == ContainerKind::kInit) {
        init_peak[name] = std::max(init_peak[name], sidecars[name] + amount.value());
        continue;
      }
      total[name] += amount.value();
      if (container.kind == ContainerKind::kSidecar) sidecars[name] += amount.value();
    }
  }
  for (const auto& [name, amount] : init_peak) total[name] = std::max(total[name], amount);
  return total;
}

}  // namespace

DeviceManager::DeviceManager(const Machine& machine) : machine_(&machine) {
  for (const Device& device : machine.devices()) {
    NumaMask nodes;
    for (const NumaId id : device.numa_nodes) {
      if (const auto position = machine.numa_position(id)) {
        nodes = nodes | NumaMask::of(*position);
      }
    }
    resources_[device.resource].push_back({device.id, nodes, !device.numa_nodes.empty()});
  }
  for (auto& [resource, inventory] : resources_) {
    std::sort(inventory.begin(), inventory.end(),
              [](const KnownDevice& a, const KnownDevice& b) { return goes_before(a.id, b.id); });
  }
}

UsageByResource DeviceManager::usage(const DeviceState& state) const {
  UsageByResource usage;
  for (const auto& [resource, inventory] : resources_) {
    const Ids used = in_use(state, resource);
    for (const KnownDevice& device : inventory) {
      if (device.nodes.empty()) continue;
      usage[resource].push_back({device.nodes, contains(used, device.id) ? 1U : 0U, 1});
    }
  }
  return usage;
}

std::vector<Amounts> DeviceManager::amounts(const DeviceState& state, const PodSpec& pod,
                                            const Container* container) const {
  std::map<std::string, std::int64_t> needed;
  if (container == nullptr) {
    needed = pod_limits(pod);
  } else {
    for (const auto& [name, amount] : container->resources.limits) needed[name] = amount.value();
  }
  const auto devices = [](std::int64_t count) {
    return Quantity::of(count, Quantity::Format::kDecimalSi);
  };
  std::vector<Amounts> all;
  for (const auto& [resource, count] : needed) {
    const auto inventory = resources_.find(resource);
    if (inventory == resources_.end() || count == 0) continue;
    const Ids used = in_use(state, resource);
    std::map<std::vector<std::int32_t>, PlaceAmounts> places;
    for (const KnownDevice& device : inventory->second) {
      const std::vector<std::int32_t> ids = machine_->numa_ids(device.nodes);
      PlaceAmounts& place = places[ids];
      place.numa_nodes = ids;
      (contains(used, device.id) ? place.held : place.free) += devices(1);
    }
    Amounts& amounts = all.emplace_back(Amounts{resource, devices(count), {}});
    for (auto& [ids, place] : places) amounts.places.push_back(std::move(place));
  }
  return all;
}

HintList DeviceManager::hints(const Inventory& inventory, const Ids& in_use_ids, const Ids& held,
                              const Ids& reusable, std::int64_t count) const {
  // Devices with the same NUMA nodes form a group, so that a mask costs one step per group.
  struct Group {
    std::int64_t all = 0;
    std::int64_t usable = 0;
    bool must_touch = false;  ///< has a device to reuse, so the mask must intersect it
  };
  std::map<NumaMask, Group> by_nodes;
  std::int64_t usable = 0;
  for (const KnownDevice& device : inventory) {
    const bool reuse = held.empty() && contains(reusable, device.id);
    const bool is_usable =
        held.empty() ? reuse || !contains(in_use_ids, device.id) : contains(held, device.id);
    if (is_usable) ++usable;
    if (!device.has_topology) continue;
    Group& group = by_nodes[device.nodes];
    ++group.all;
    if (is_usable) ++group.usable;
    if (reuse) group.must_touch = true;
  }
  if (by_nodes.empty()) return std::nullopt;
  std::vector<TopologyHint> found;
  const bool changed = !held.empty() && static_cast<std::int64_t>(held.size()) != count;
  if (changed || usable < count) return found;

  // Only NUMA nodes with such devices count, renumbered from 0.
  NumaMask all_nodes;
  for (const auto& [nodes, group] : by_nodes) all_nodes = all_nodes | nodes;
  std::vector<std::pair<NumaMask, Group>> groups;
  groups.reserve(by_nodes.size());
  for (const auto& [nodes, group] : by_nodes) groups.emplace_back(pack(nodes, all_nodes), group);
  int preferred_width = all_nodes.count();
  for_each_hint_mask(all_nodes.count(), [&](NumaMask mask) {
    std::int64_t all = 0;
    std::int64_t here = 0;
    bool touches_reusable = true;
    for (const auto& [nodes, group] : groups) {
      if (!(nodes & mask).empty()) {
        all += group.all;
        here += group.usable;
      } else if (group.must_touch) {
        touches_reusable = false;
      }
    }
    if (all >= count) preferred_width = std::min(preferred_width, mask.count());
    if (touches_reusable && here >= count) found.push_back({unpack(mask, all_nodes), false});
  });
  for (TopologyHint& hint : found) hint.preferred = hint.numa->count() == preferred_width;
  return found;
}

ResourceHints DeviceManager::container_hints(const DeviceState& state, const PodSpec& pod,
                                             const Container& container) const {
  ResourceHints by_resource;
  for (const auto& [resource, amount] : container.resources.limits) {
    const auto inventory = resources_.find(resource);
    if (inventory == resources_.end()) continue;
    by_resource[resource] = hints(inventory->second, in_use(state, resource),
                                  held_by(state, {pod.uid, container.name}, resource),
                                  reusable_by(state, pod.uid, resource), amount.value());
  }
  return by_resource;
}

ResourceHints DeviceManager::pod_hints(const DeviceState& state, const PodSpec& pod) const {
  ResourceHints by_resource;
  for (const auto& [resource, count] : pod_limits(pod)) {
    const auto inventory = resources_.find(resource);
    if (inventory == resources_.end()) continue;
    by_resource[resource] = hints(inventory->second, in_use(state, resource),
                                  held_by_pod(state, pod.uid, resource), {}, count);
  }
  return by_resource;
}

tl::expected<DeviceManager::Ids, std::string> DeviceManager::take(
    const std::string& resource, const Inventory& inventory, const Ids& in_use_ids,
    const Ids& reusable, std::int64_t count, const TopologyHint& affinity) const {
  Ids taken;
  std::int64_t missing = count;
  for (const std::string& id : reusable) {
    if (missing == 0) break;
    taken.push_back(id);
    --missing;
  }
  // Three classes, each in inventory order: within the affinity, elsewhere (including NUMA nodes
  // that the machine does not have), without topology.
  std::array<Ids, 3> free;
  std::int64_t available = 0;
  for (const KnownDevice& device : inventory) {
    if (contains(in_use_ids, device.id)) continue;
    ++available;
    const bool aligned = affinity.numa && !(device.nodes & *affinity.numa).empty();
    const bool has_none = affinity.numa && !device.has_topology;
    free[aligned ? 0 : has_none ? 2 : 1].push_back(device.id);
  }
  if (missing > 0 && available < missing) {
    return tl::unexpected(
        fmt::format("requested number of devices unavailable for {}. Requested: {}, Available: {}",
                    resource, missing, available));
  }
  for (const Ids& ids : free) {
    for (const std::string& id : ids) {
      if (missing == 0) break;
      taken.push_back(id);
      --missing;
    }
  }
  std::sort(taken.begin(), taken.end(), goes_before);
  return taken;
}

Admission DeviceManager::allocate(DeviceState& state, const PodSpec& pod,
                                  const Container& container, const TopologyHint& affinity,
                                  Trace* trace) const {
  std::erase_if(state.reusable, [&](const auto& entry) { return entry.first != pod.uid; });
  for (const auto& [resource, amount] : container.resources.limits) {
    const auto inventory = resources_.find(resource);
    const std::int64_t count = amount.value();
    if (inventory == resources_.end()) continue;
    const Ids held = held_by(state, {pod.uid, container.name}, resource);
    if (!held.empty() && static_cast<std::int64_t>(held.size()) != count) {
      return tl::unexpected(Rejection::unexpected(
          fmt::format("pod {} container {} changed request for resource {} from {} to {}",
                      go::quote(pod.uid.value), go::quote(container.name), go::quote(resource),
                      held.size(), count)));
    }
    if (!held.empty() || count == 0) continue;
    auto taken = take(resource, inventory->second, in_use(state, resource),
                      reusable_by(state, pod.uid, resource), count, affinity);
    if (!taken) {
      if (trace != nullptr) trace->add("devices", container.name, taken.error());
      return tl::unexpected(Rejection::unexpected(taken.error()));
    }
    if (trace != nullptr) {
      trace->add(
          "devices", container.name,
          fmt::format("takes {} of {}: lowest ids first {}", fmt::join(*taken, ", "), resource,
                      affinity.numa
                          ? "within " + numa_nodes_named(machine_->numa_ids(*affinity.numa)) +
                                ", then elsewhere"
                          : "on any NUMA node"));
    }
    state.assignments[{pod.uid, container.name}][resource] = *std::move(taken);
  }
  note_reuse(state, pod, container);
  return {};
}

void DeviceManager::remove_container(DeviceState& state, const ContainerId& container) const {
  if (!state.assignments.erase(container)) return;
  if (!state.assignments.contains(container.pod)) state.reusable.erase(container.pod);
}

}  // namespace pinfold
