#include "pinfold/predict/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

namespace pinfold {
namespace {

constexpr std::size_t kMaxResources = std::numeric_limits<ResourceId>::max();

const ZoneResource* find_resource(const Zone& zone, std::string_view name) {
  const auto found = std::find_if(zone.resources.begin(), zone.resources.end(),
                                  [&](const ZoneResource& r) { return r.name == name; });
  return found == zone.resources.end() ? nullptr : &*found;
}

/// Returns the number at the end of a zone's name, "node-3"; nullopt if there is none.
std::optional<std::uint64_t> trailing_number(const std::string& name) {
  constexpr std::size_t kMaxDigits = 18;
  const auto last = name.find_last_not_of("0123456789");
  const std::size_t start = last == std::string::npos ? 0 : last + 1;
  if (start == name.size() || name.size() - start > kMaxDigits) return std::nullopt;
  return std::stoull(name.substr(start));
}

std::vector<const Zone*> numa_zones(const NodeTopology& topology) {
  std::vector<const Zone*> zones;
  for (const Zone& zone : topology.zones) {
    if (zone.is_numa_node()) zones.push_back(&zone);
  }
  const bool numbered = std::all_of(zones.begin(), zones.end(), [](const Zone* zone) {
    return trailing_number(zone->name).has_value();
  });
  if (numbered) {
    std::stable_sort(zones.begin(), zones.end(), [](const Zone* a, const Zone* b) {
      return trailing_number(a->name) < trailing_number(b->name);
    });
  }
  return zones;
}

/// Replaces the amounts of zones by the sums of the 1, 2, 3 ... largest of them.
void accumulate_best_first(std::span<std::int64_t> amounts) {
  std::sort(amounts.begin(), amounts.end(), std::greater<>());
  std::partial_sum(amounts.begin(), amounts.end(), amounts.begin());
}

}  // namespace

Fleet::Fleet(std::vector<std::string> ignored_resources) : ignored_(std::move(ignored_resources)) {}

Result<ResourceId> Fleet::intern(const std::string& resource) {
  const auto found = resource_ids_.find(resource);
  if (found != resource_ids_.end()) return found->second;
  if (resources_.size() == kMaxResources) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("resource '{}': expected at most {} different resources", resource,
                            kMaxResources));
  }
  const auto id = static_cast<ResourceId>(resources_.size());
  resources_.push_back(resource);
  resource_ids_.emplace(resource, id);
  return id;
}

Result<Fleet::Shape> Fleet::make_shape(const std::vector<const Zone*>& zones) {
  Shape shape;
  for (const Zone* const zone : zones) {
    shape.zones.push_back(zone->name);
    for (const ZoneResource& resource : zone->resources) {
      if (std::find(ignored_.begin(), ignored_.end(), resource.name) != ignored_.end()) continue;
      PINFOLD_LET(const auto id, intern(resource.name));
      shape.resources.push_back(id);
    }
  }
  std::sort(shape.resources.begin(), shape.resources.end());
  shape.resources.erase(std::unique(shape.resources.begin(), shape.resources.end()),
                        shape.resources.end());
  return shape;
}

std::uint32_t Fleet::intern(Shape shape) {
  const auto [entry, fresh] =
      shape_numbers_.emplace(std::move(shape), static_cast<std::uint32_t>(shapes_.size()));
  if (fresh) shapes_.push_back(entry->first);
  return entry->second;
}

void Fleet::make_room(std::size_t node) {
  const Shape& of_node = shape(node);
  nodes_[node].begin = available_.size();
  const std::size_t end = available_.size() + of_node.zones.size() * of_node.resources.size();
  for (auto* const amounts : {&available_, &allocatable_, &reach_}) amounts->resize(end);
}

void Fleet::write_row(std::size_t at, const std::vector<const Zone*>& zones, ResourceId resource) {
  const std::string& name = resources_[resource];
  for (std::size_t i = 0; i < zones.size(); ++i) {
    const ZoneResource* const found = find_resource(*zones[i], name);
    const auto units = [&](const Quantity ZoneResource::*amount) {
      return found == nullptr ? 0 : fleet_units(name, found->*amount, Rounding::kDown);
    };
    const std::int64_t allocatable = units(&ZoneResource::allocatable);
    available_[at + i] = units(&ZoneResource::available);
    allocatable_[at + i] = allocatable;
    reach_[at + i] =
        name == "cpu" ? std::max(allocatable, units(&ZoneResource::capacity)) : allocatable;
  }
  accumulate_best_first(std::span(reach_).subspan(at, zones.size()));
}

void Fleet::write_rows(std::size_t node, const std::vector<const Zone*>& zones) {
  std::size_t at = nodes_[node].begin;
  for (const ResourceId resource : shape(node).resources) {
    write_row(at, zones, resource);
    at += zones.size();
  }
}

Result<std::size_t> Fleet::add(const NodeTopology& topology) {
  if (find(topology.name)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("node '{}': expected a unique name", topology.name));
  }
  const std::vector<const Zone*> zones = numa_zones(topology);
  PINFOLD_LET_WRAP(auto shape, make_shape(zones), fmt::format("node '{}'", topology.name));
  const std::size_t number = nodes_.size();
  const auto named = numbers_.emplace(topology.name, number).first;
  nodes_.push_back(
      {&named->first, 0, intern(std::move(shape)), topology.policy(), topology.scope()});
  make_room(number);
  write_rows(number, zones);
  return number;
}

Result<void> Fleet::replace(std::size_t node, const NodeTopology& topology) {
  const std::vector<const Zone*> zones = numa_zones(topology);
  PINFOLD_LET_WRAP(auto shape, make_shape(zones), fmt::format("node '{}'", topology.name));
  const std::uint32_t number = intern(std::move(shape));
  const bool fits = number == nodes_[node].shape;
  nodes_[node].shape = number;
  nodes_[node].policy = topology.policy();
  nodes_[node].scope = topology.scope();
  if (!fits) make_room(node);
  write_rows(node, zones);
  return {};
}

std::vector<std::string> Fleet::add_all(NodeTopologies topologies) {
  std::vector<std::string> warnings;
  for (const NodeTopology& topology : topologies.nodes) {
    if (auto added = add(topology); !added) {
      topologies.unread.push_back({topology.name, std::move(added).error().message});
      continue;
    }
    for (const std::string& warning : topology.warnings) {
      warnings.push_back(fmt::format("node '{}': {}", topology.name, warning));
    }
  }
  for (UnreadTopology& unread : topologies.unread) {
    warnings.push_back(fmt::format("node '{}': nothing is predicted: {}", unread.name, unread.why));
    add_unread(std::move(unread));
  }
  return warnings;
}

std::optional<std::size_t> Fleet::find(std::string_view name) const {
  const auto found = numbers_.find(name);
  if (found == numbers_.end()) return std::nullopt;
  return found->second;
}

std::optional<ResourceId> Fleet::resource_id(std::string_view name) const {
  const auto found = resource_ids_.find(name);
  if (found == resource_ids_.end()) return std::nullopt;
  return found->second;
}

std::span<const std::int64_t> Fleet::row_of(const std::vector<std::int64_t>& amounts,
                                            std::size_t node, std::size_t row) const {
  const std::size_t zones = shape(node).zones.size();
  return std::span(amounts).subspan(nodes_[node].begin + row * zones, zones);
}

std::int64_t& Fleet::amount_of(std::size_t node, const Share& share) {
  const Shape& of_node = shape(node);
  const auto row =
      std::lower_bound(of_node.resources.begin(), of_node.resources.end(), share.resource) -
      of_node.resources.begin();
  return available_[nodes_[node].begin + static_cast<std::size_t>(row) * of_node.zones.size() +
                    static_cast<std::size_t>(share.zone)];
}

void Fleet::charge(std::size_t node, const Placement& placement) {
  for (const Share& share : placement.shares) amount_of(node, share) -= share.amount;
}

void Fleet::credit(std::size_t node, const Placement& placement) {
  for (const Share& share : placement.shares) amount_of(node, share) += share.amount;
}

void Fleet::clear(std::size_t node) {
  const Rows all = rows(node);
  std::copy_n(all.allocatable, all.count, available_.data() + nodes_[node].begin);
}

std::size_t Fleet::memory() const {
  // A std::map node: three pointers and a color.
  constexpr std::size_t kMapNode = 4 * sizeof(void*);
  const auto text = [](const std::string& name) {
    return sizeof(std::string) + (name.capacity() > std::string().capacity() ? name.capacity() : 0);
  };
  std::size_t bytes =
      sizeof(*this) + nodes_.capacity() * sizeof(NodeEntry) +
      (available_.capacity() + allocatable_.capacity() + reach_.capacity()) * sizeof(std::int64_t);
  for (const auto& [name, number] : numbers_) bytes += kMapNode + text(name) + sizeof(number);
  for (const std::string& name : resources_) bytes += 2 * text(name) + kMapNode;
  for (const Shape& shape : shapes_) {  // stored again as a key of the map
    bytes += kMapNode + 2 * (sizeof(Shape) + shape.resources.capacity() * sizeof(ResourceId));
    for (const std::string& zone : shape.zones) bytes += 2 * text(zone);
  }
  return bytes;
}

}  // namespace pinfold
