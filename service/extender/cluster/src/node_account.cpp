#include "pinfold/cluster/node_account.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace pinfold::cluster {
namespace {

using kube::Time;
using std::chrono::milliseconds;
using Totals = std::map<std::string, std::int64_t, std::less<>>;

/// Returns what is available on all NUMA nodes together, in base units.
Totals available_in(const NodeTopology& topology) {
  Totals totals;
  for (const Zone& zone : topology.zones) {
    if (!zone.is_numa_node()) continue;
    for (const ZoneResource& resource : zone.resources) {
      totals[resource.name] += base_units(resource.name, resource.available);
    }
  }
  return totals;
}

/// Returns by how much the available amounts of each NUMA node have decreased.
std::vector<ZoneAmount> decreases(const NodeTopology& before, const NodeTopology& after) {
  std::map<std::pair<std::string, std::string>, std::int64_t> left;
  for (const Zone& zone : after.zones) {
    for (const ZoneResource& resource : zone.resources) {
      left[{zone.name, resource.name}] = base_units(resource.name, resource.available);
    }
  }
  std::vector<ZoneAmount> out;
  for (const Zone& zone : before.zones) {
    if (!zone.is_numa_node()) continue;
    for (const ZoneResource& resource : zone.resources) {
      const std::int64_t amount =
          base_units(resource.name, resource.available) - left[{zone.name, resource.name}];
      if (amount > 0) out.push_back({zone.name, resource.name, amount});
    }
  }
  return out;
}

Totals totals_of(const std::vector<ZoneAmount>& amounts) {
  Totals totals;
  for (const ZoneAmount& one : amounts) totals[one.resource] += one.amount;
  return totals;
}

bool holds(const Totals& all, const Totals& part) {
  return std::all_of(part.begin(), part.end(), [&](const auto& entry) {
    const auto found = all.find(entry.first);
    return found != all.end() && found->second >= entry.second;
  });
}

void charge(Fleet& fleet, std::size_t node, const PodAccount& pod) {
  // A zone that the node no longer has: the amounts are unknown, as those of a pod without record.
  const auto placement = placement_of(fleet, node, *pod.known());
  if (placement) fleet.charge(node, *placement);
}

/// Corrects a prediction: if the amounts are all that the pod has, they show where it is.
void correct_prediction(std::vector<ZoneAmount> decreased, PodAccount& pod) {
  const Totals amounts = totals_of(*pod.known());
  std::erase_if(decreased, [&](const ZoneAmount& one) { return !amounts.contains(one.resource); });
  if (totals_of(decreased) == amounts) pod.predicted = std::move(decreased);
}

bool is_certain(const PodAccount& pod, Time now, milliseconds exporter_delay) {
  return pod.observed || (pod.predicted && pod.is_young(now, exporter_delay));
}

bool is_seen(const PodAccount* pod) { return pod->observed.has_value(); }

/// Makes available what is allocatable, minus the placements of all pods.
void reconstruct_node(Fleet& fleet, std::size_t node, const std::vector<const PodAccount*>& pods) {
  fleet.clear(node);
  for (const PodAccount* const pod : pods) charge(fleet, node, *pod);
}

/// Like reconstruct_node, but makes nothing available that was not before.
void limit_to_reconstruction(Fleet& fleet, std::size_t node,
                             const std::vector<const PodAccount*>& pods) {
  const Fleet::Rows rows = fleet.rows(node);
  const std::vector<std::int64_t> before(rows.available, rows.available + rows.count);
  reconstruct_node(fleet, node, pods);
  const auto resources = fleet.resources_of_shape(fleet.shape_number(node));
  Placement surplus;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto zones = static_cast<std::size_t>(rows.zones);
    const std::int64_t more = std::max<std::int64_t>(0, rows.available[i] - before[i]);
    surplus.add(static_cast<int>(i % zones), resources[i / zones], more);
  }
  fleet.charge(node, surplus);
}

}  // namespace

const std::vector<ZoneAmount>* PodAccount::known() const {
  if (observed) return &*observed;
  return predicted ? &*predicted : nullptr;
}

void account(Fleet& fleet, std::size_t node, const std::vector<const PodAccount*>& pods, Time now,
             milliseconds exporter_delay, Estimate estimate) {
  std::vector<const PodAccount*> consumers;
  std::copy_if(pods.begin(), pods.end(), std::back_inserter(consumers),
               [](const PodAccount* pod) { return pod->consumes; });
  const bool is_exact = !consumers.empty() &&
                        std::all_of(consumers.begin(), consumers.end(), [&](const PodAccount* pod) {
                          return is_certain(*pod, now, exporter_delay);
                        });
  const bool is_observed = is_exact && std::all_of(consumers.begin(), consumers.end(), is_seen);
  const bool is_likely = is_exact && estimate == Estimate::kLikely;
  if (is_observed || is_likely) return reconstruct_node(fleet, node, consumers);
  for (const PodAccount* const pod : consumers) {
    const bool is_hidden = pod->is_young(now, exporter_delay) && !pod->is_shown;
    if (is_hidden && pod->known() != nullptr) charge(fleet, node, *pod);
  }
  if (is_exact) limit_to_reconstruction(fleet, node, consumers);
}

void mark_shown(const NodeTopology& before, const NodeTopology& after,
                const std::vector<PodAccount*>& pods) {
  Totals decrease = available_in(before);
  for (const auto& [resource, amount] : available_in(after)) decrease[resource] -= amount;
  std::vector<PodAccount*> hidden;
  std::copy_if(pods.begin(), pods.end(), std::back_inserter(hidden), [](const PodAccount* pod) {
    return pod->bound_at && !pod->is_shown && pod->known() != nullptr;
  });
  std::stable_sort(hidden.begin(), hidden.end(), [](const PodAccount* a, const PodAccount* b) {
    return a->bound_at < b->bound_at;
  });
  std::vector<PodAccount*> shown;
  for (PodAccount* const pod : hidden) {
    const Totals amounts = totals_of(*pod->known());
    if (!holds(decrease, amounts)) continue;
    for (const auto& [resource, amount] : amounts) decrease[resource] -= amount;
    pod->is_shown = true;
    shown.push_back(pod);
  }
  if (shown.size() == 1) correct_prediction(decreases(before, after), *shown.front());
}

}  // namespace pinfold::cluster
