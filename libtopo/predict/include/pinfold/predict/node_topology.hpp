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
  Quantity capacity;     ///< the whole amount
  Quantity allocatable;  ///< minus what is reserved for the system
  Quantity available;    ///< minus what pods hold exclusively

  friend bool operator==(const ZoneResource&, const ZoneResource&) = default;
};

/// The distance from a zone to another.
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

/// A part of a node. Exporters publish NUMA nodes as zones of type "Node", named "node-<OS id>".
struct Zone {
  std::string name;
  std::string type;
  std::string parent;  ///< "" if it has none
  std::vector<ZoneCost> costs;
  std::vector<TopologyAttribute> attributes;
  std::vector<ZoneResource> resources;

  [[nodiscard]] bool is_numa_node() const { return type == "Node"; }

  friend bool operator==(const Zone&, const Zone&) = default;
};

/// A NodeResourceTopology object (topology.node.k8s.io/v1alpha2) as an exporter publishes it.
struct NodeTopology {
  std::string name;  ///< the node's name
  std::vector<TopologyAttribute> attributes;
  std::vector<std::string> legacy_policies;  ///< topologyPolicies, deprecated
  std::vector<Zone> zones;
  /// Unknown policies and scopes, which count as none, as for schedulers.
  std::vector<std::string> warnings = {};

  /// Returns the attribute topologyManagerPolicy, else the first legacy policy, else none.
  [[nodiscard]] TopologyPolicy policy() const;
  /// Returns the attribute topologyManagerScope, else that of the first legacy policy, else
  /// container.
  [[nodiscard]] TopologyScope scope() const;

  friend bool operator==(const NodeTopology&, const NodeTopology&) = default;
};

/// An object that cannot be read.
struct UnreadTopology {
  std::string name;  ///< the node's name; if that is unreadable its location, "document 2:
                     ///< items[0]"
  std::string why;   ///< with its location
};
struct NodeTopologies {
  std::vector<NodeTopology> nodes;
  std::vector<UnreadTopology> unread;
};

/// Reads one object of version v1alpha2, or of v1alpha1, which differs only by having no node
/// attributes.
/// Domain: names as in a Pod; amounts not negative; zone and resource names unique; at most 64
/// zones of type "Node". Errors: kInvalidArgument, "zones[1].resources[0].available: 'x': <what was
/// expected>".
[[nodiscard]] Result<NodeTopology> node_topology_from_json(const nlohmann::json& document);

/// Reads one object, a list of them (kind List or NodeResourceTopologyList), a stream of YAML
/// documents, or one JSON object per line. A document is limited to 16 MiB (parse_document); the
/// number of lines is unlimited. An unreadable object does not stop the others.
/// Errors: as above, preceded by the number of the document or line and of the item, for text that
/// is not a document, a list of something else, and if no object can be read.
[[nodiscard]] Result<NodeTopologies> parse_node_topologies(std::string_view text);

/// Writes a v1alpha2 object that conforms to the published CRD; node_topology_from_json reads it
/// back to an equal value.
[[nodiscard]] nlohmann::json to_json(const NodeTopology& topology);

/// Returns what an exporter would publish for a node in this state: a zone for each NUMA node, with
/// CPUs, memory, huge pages and devices; and as attributes policy and scope of the topology
/// manager, and the policies of the CPU and memory managers. Memory of a block on several NUMA
/// nodes counts where the memory manager accounts for it. A device near several NUMA nodes counts
/// on each of them, one near none on none. Stale assignments count as in use; call release_stale
/// first to exclude them. Domain: `name` is the node's name (metadata.name).
[[nodiscard]] NodeTopology describe(const Node& node, const NodeState& state, std::string name);

}  // namespace pinfold
