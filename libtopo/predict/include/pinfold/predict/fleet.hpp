#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/predict/node_topology.hpp"
#include "pinfold/predict/placement.hpp"

namespace pinfold {

/// The NodeResourceTopology objects of many nodes, laid out for predictions about one pod on all of
/// them: one array of amounts per node, resource by resource, zone by zone.
/// Amounts are whole numbers: thousandths of a CPU, bytes, devices. They are capped at 2^57, so
/// that the amounts of 64 zones can be added. Thread-safety: const is safe. charge, credit and
/// clear change only the node that they name.
class Fleet {
 public:
  /// `ignored_resources` are reported by zone but not aligned by the kubelets of these nodes, for
  /// example "memory" if the memory manager's policy is None.
  explicit Fleet(std::vector<std::string> ignored_resources = {});
  Fleet(Fleet&&) = default;
  Fleet& operator=(Fleet&&) = default;

  /// Adds a node with its zones of type "Node", ordered by the number at the end of their names if
  /// all have one, else as listed. Nothing is predicted for a node without zones.
  /// Returns: the node's number; nodes are numbered from 0 in the order in which they are added.
  /// Errors: kInvalidArgument for a name that is already in use, or more than 65 535 resources.
  Result<std::size_t> add(const NodeTopology& topology);
  /// Replaces everything that is known about a node except its number and name, for example when
  /// its object has changed. Memory is reused if the node still has the same zones and resources.
  /// Domain: `node` < size(); `topology` is of that node.
  /// Errors: kInvalidArgument for more than 65 535 resources; nothing has changed then.
  Result<void> replace(std::size_t node, const NodeTopology& topology);

  /// Adds a node about which nothing is known; it has no number.
  void add_unread(UnreadTopology unread) { unread_.push_back(std::move(unread)); }
  [[nodiscard]] const std::vector<UnreadTopology>& unread() const { return unread_; }
  /// Adds all objects; one that add() rejects counts as unread.
  /// Returns: warnings, with the nodes' names.
  std::vector<std::string> add_all(NodeTopologies topologies);

  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;

  // Domain of all below: `node` < size().
  [[nodiscard]] const std::string& name(std::size_t node) const { return *nodes_[node].name; }
  [[nodiscard]] TopologyPolicy policy(std::size_t node) const { return nodes_[node].policy; }
  [[nodiscard]] TopologyScope scope(std::size_t node) const { return nodes_[node].scope; }
  [[nodiscard]] int zone_count(std::size_t node) const {
    return static_cast<int>(shape(node).zones.size());
  }
  [[nodiscard]] const std::string& zone_name(std::size_t node, int zone) const {
    return shape(node).zones[static_cast<std::size_t>(zone)];
  }
  /// Nodes of one shape have the same resource names and zone names.
  [[nodiscard]] std::size_t shape_count() const { return shapes_.size(); }
  [[nodiscard]] std::size_t shape_number(std::size_t node) const { return nodes_[node].shape; }
  /// Returns the resources that nodes of a shape report by zone, ascending, without the ignored
  /// ones. The index of a resource is its row.
  [[nodiscard]] std::span<const ResourceId> resources_of_shape(std::size_t shape) const {
    return shapes_[shape].resources;
  }
  [[nodiscard]] std::optional<ResourceId> resource_id(std::string_view name) const;
  [[nodiscard]] const std::string& resource_name(ResourceId id) const { return resources_[id]; }

  /// Return the amounts of one row, by zone. Domain: `row` <
  /// resources_of_shape(shape_number(node)).size().
  [[nodiscard]] std::span<const std::int64_t> available(std::size_t node, std::size_t row) const {
    return row_of(available_, node, row);
  }
  [[nodiscard]] std::span<const std::int64_t> allocatable(std::size_t node, std::size_t row) const {
    return row_of(allocatable_, node, row);
  }
  /// Returns at index k the most that k + 1 zones hold when nothing is in use, which determines how
  /// many zones are preferred. For cpu this is the capacity: the kubelet also counts reserved CPUs.
  [[nodiscard]] std::span<const std::int64_t> reach(std::size_t node, std::size_t row) const {
    return row_of(reach_, node, row);
  }

  /// All rows of a node in one block, for loops over many nodes.
  struct Rows {
    int zones = 0;
    std::size_t count = 0;  ///< amounts in each of the following arrays
    const std::int64_t* available = nullptr;
    const std::int64_t* allocatable = nullptr;
    const std::int64_t* reach = nullptr;
  };
  [[nodiscard]] Rows rows(std::size_t node) const {
    const NodeEntry& entry = nodes_[node];
    const Shape& of_node = shapes_[entry.shape];
    const std::size_t zones = of_node.zones.size();
    return {static_cast<int>(zones), zones * of_node.resources.size(),
            available_.data() + entry.begin, allocatable_.data() + entry.begin,
            reach_.data() + entry.begin};
  }

  /// Subtracts a placement from what is available, or adds it back: exactly, even below zero.
  /// Domain: a placement of this node.
  void charge(std::size_t node, const Placement& placement);
  void credit(std::size_t node, const Placement& placement);
  /// Makes everything that is allocatable on the node available.
  void clear(std::size_t node);

  /// Returns the bytes of memory that the fleet uses, including names.
  [[nodiscard]] std::size_t memory() const;

 private:
  struct Shape {
    std::vector<ResourceId> resources;
    std::vector<std::string> zones;

    friend auto operator<=>(const Shape&, const Shape&) = default;
  };
  struct NodeEntry {
    const std::string* name;  ///< key of numbers_
    std::size_t begin;        ///< where its amounts begin
    std::uint32_t shape;
    TopologyPolicy policy;
    TopologyScope scope;
  };

  [[nodiscard]] const Shape& shape(std::size_t node) const { return shapes_[nodes_[node].shape]; }
  [[nodiscard]] std::span<const std::int64_t> row_of(const std::vector<std::int64_t>& amounts,
                                                     std::size_t node, std::size_t row) const;
  Result<ResourceId> intern(const std::string& resource);
  Result<Shape> make_shape(const std::vector<const Zone*>& zones);
  std::uint32_t intern(Shape shape);
  /// Makes room for the rows of a node after those of all others.
  void make_room(std::size_t node);
  void write_rows(std::size_t node, const std::vector<const Zone*>& zones);
  void write_row(std::size_t at, const std::vector<const Zone*>& zones, ResourceId resource);
  std::int64_t& amount_of(std::size_t node, const Share& share);

  std::vector<std::string> ignored_;
  std::vector<std::string> resources_;  ///< by id
  std::map<std::string, ResourceId, std::less<>> resource_ids_;
  std::vector<Shape> shapes_;
  std::map<Shape, std::uint32_t> shape_numbers_;
  std::map<std::string, std::size_t, std::less<>> numbers_;  ///< node numbers by name
  std::vector<NodeEntry> nodes_;
  std::vector<UnreadTopology> unread_;
  // The rows of all nodes, node after node.
  std::vector<std::int64_t> available_;
  std::vector<std::int64_t> allocatable_;
  std::vector<std::int64_t> reach_;
};

}  // namespace pinfold
