#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pinfold/decide/node.hpp"
#include "pinfold/decide/node_state.hpp"

namespace pinfold::publish {

/// The name under which the API server keeps what this service has written.
inline constexpr const char* kFieldManager = "pinfold";

enum class PublishedKind : std::uint8_t {
  kTopology,  ///< the node's NodeResourceTopology, as a server-side apply
  kPlacement  ///< annotations of a pod, as a merge patch
};

/// The desired content of one object of the API server.
struct Document {
  PublishedKind kind = PublishedKind::kTopology;
  std::string target;  ///< path and query of a PATCH request
  std::string patch;   ///< JSON

  friend bool operator==(const Document&, const Document&) = default;
};

/// The node, as the API server knows it.
struct NodeIdentity {
  std::string name;
  std::string uid;  ///< the topology is deleted together with this node
};

enum class Placements : std::uint8_t { kOff, kOn };

/// Returns the topology, then the placement of each active pod. Held pods have none: their names
/// are not known. A pod that is Guaranteed or holds something has kObservedAnnotation. With memory
/// manager Static every pod has kMemoryGroupsAnnotation too. Each patch names the pod's UID, so
/// that it never changes a later pod with the same name.
[[nodiscard]] std::vector<Document> documents_of(const Node& node, const NodeState& state,
                                                 const NodeIdentity& identity,
                                                 Placements placements);

/// Returns "noderesourcetopologies 'worker-1'" or "pods 'default/web'".
[[nodiscard]] std::string name_of(const Document& document);

}  // namespace pinfold::publish
