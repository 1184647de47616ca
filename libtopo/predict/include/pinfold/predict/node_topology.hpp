#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/api/topology_policy.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/decide/decide.hpp"
#include "pinfold/decide/node.hpp"
#include "pinfold/types/quantity.hpp"

namespace pinfold {

/// One resource of one zone of a NodeResourceTopology.
struct ZoneResource {
  std::string name;      ///< "cpu", "memory", "hugepages-2Mi", "example.com/gpu"
  Quantity capacity;     ///< all there is
  Quantity allocatable;  ///< what pods may have
  Quantity available;    ///< what no pod has

  friend bool operator==(const ZoneResource&, const ZoneResource&) = default;
};

/// How far it is from a zone to another.
struct ZoneCost {
  std::string zone;
  std::int64_t value = 0;

  friend bool operator==(const ZoneCost&, const ZoneCost&) = default;
};

struct TopologyAttribute {
  std::string name;
  std::string value;

  friend bool operator==(const TopologyAttribute&, const TopologyAttribute&) = default;
};

/// A part of a node. Exporters call NUMA nodes zones of type "Node", named "node-<OS id>".
struct Zone {
  std::string name;
  std::string type;
  std::string parent;  ///< "": none
  std::vector<ZoneCost> costs;
  std::vector<TopologyAttribute> attributes;
  std::vector<ZoneResource> resources;

  [[nodiscard]] bool is_numa_node() const { return type == "Node"; }

  friend bool operator==(const Zone&, const Zone&) = default;
};

/// A NodeResourceTopology object (topology.node.k8s.io/v1alpha2): what an exporter tells of a node.
struct NodeTopology {
  std::string name;  ///< of the node
  std::vector<TopologyAttribute> attributes;
  std::vector<std::string> legacy_policies;  ///< topologyPolicies, deprecated
  std::vector<Zone> zones;

  /// The attribute topologyManagerPolicy, else the first legacy policy, else none.
  [[nodiscard]] TopologyPolicy policy() const;
  /// The attribute topologyManagerScope, else that of the first legacy policy, else container.
  [[nodiscard]] TopologyScope scope() const;

  friend bool operator==(const NodeTopology&, const NodeTopology&) = default;
};

/// Reads one object of version v1alpha2 or v1alpha1, which differs only in that it has no
/// attributes of the node.
/// Domain: names as in a Pod; amounts not negative; zone and resource names used once; at most 64
/// zones of type "Node"; a policy and a scope that the kubelet has.
/// Errors: kInvalidArgument, "zones[1].resources[0].available: 'x': <what was expected>".
[[nodiscard]] Result<NodeTopology> node_topology_from_json(const nlohmann::json& document);

/// Reads one object, a list of them (kind List or NodeResourceTopologyList), a stream of YAML
/// documents, or one JSON object a line. A list has to stay below 16 MiB (parse_document); lines
/// have no limit together.
/// Errors: as above, with the number of the document or line and of the item in front.
[[nodiscard]] Result<std::vector<NodeTopology>> parse_node_topologies(std::string_view text);

/// A v1alpha2 object as the published CRD wants it; node_topology_from_json reads it back to an
/// equal value.
[[nodiscard]] nlohmann::json to_json(const NodeTopology& topology);

/// What an exporter would publish of a node in this state: a zone for each NUMA node with CPUs,
/// memory, huge pages and devices; capacity with, allocatable without what is reserved; available
/// without what pods have exclusively. Memory of a block over several nodes counts where the memory
/// manager booked it. A device near several NUMA nodes counts on each, one near none on none.
/// Stale assignments count: release_stale first where there may be some.
/// Domain: `name` is the node's name (metadata.name).
[[nodiscard]] NodeTopology describe(const Node& node, const NodeState& state, std::string name);

}  // namespace pinfold
