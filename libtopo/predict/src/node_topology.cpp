#include "pinfold/predict/node_topology.hpp"

#include "topology_names.hpp"

namespace pinfold {
namespace {

const std::string* attribute(const NodeTopology& topology, std::string_view name) {
  for (const TopologyAttribute& candidate : topology.attributes) {
    if (candidate.name == name) return &candidate.value;
  }
  return nullptr;
}

}  // namespace

TopologyPolicy NodeTopology::policy() const {
  if (const std::string* const value = attribute(*this, predict::kPolicyAttribute)) {
    return parse_topology_policy(*value).value_or(TopologyPolicy::kNone);
  }
  if (legacy_policies.empty()) return TopologyPolicy::kNone;
  const auto* const legacy = predict::find_legacy(legacy_policies.front());
  return legacy == nullptr ? TopologyPolicy::kNone : legacy->policy;
}

TopologyScope NodeTopology::scope() const {
  if (const std::string* const value = attribute(*this, predict::kScopeAttribute)) {
    return parse_topology_scope(*value).value_or(TopologyScope::kContainer);
  }
  if (legacy_policies.empty()) return TopologyScope::kContainer;
  const auto* const legacy = predict::find_legacy(legacy_policies.front());
  return legacy == nullptr ? TopologyScope::kContainer : legacy->scope;
}

}  // namespace pinfold
