#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/decide/decide.hpp"
#include "pinfold/explain/remedies.hpp"

namespace pinfold {

/// What a container, or a pod as a whole, holds of a resource at a place.
struct Holder {
  std::string name;  ///< "shop/db/main"; "UID/main" of a held pod; "shop/db" for the pod as a whole
  Quantity amount;
  /// OS ids, if the amount is spread over several NUMA nodes: of which they are.
  std::vector<std::int32_t> spread_over;

  friend bool operator==(const Holder&, const Holder&) = default;
};

struct OccupiedPlace : PlaceAmounts {
  std::vector<Holder> holders;  ///< the largest amounts first
};

/// A resource of the node, as the step that failed found it.
struct OccupiedResource {
  std::string resource;
  Quantity needed;
  std::vector<OccupiedPlace> places;
};

/// What a container has, and why.
struct ContainerExplanation {
  ContainerResources resources;
  std::string cpus;   ///< "exclusive CPUs 2-3", "shared pool 0-1,4-7: ..."
  std::string quota;  ///< "no CPU quota: its CPUs are exclusive"
};

/// Why a decision about a pod is as it is. Texts are sentences for an operator, without a period.
struct Explanation {
  PodSpec pod;
  std::optional<Rejection> rejection;  ///< nullopt: admitted
  std::string summary;                 ///< what the pod gets; what it needs, what is missing, where
  /// What an operator should know besides: known bugs of the kubelet that act, what is not known.
  std::vector<std::string> notes;
  /// The hints of each provider, the merge with its runner-up, and the steps of the allocation.
  Trace trace;

  std::vector<ContainerExplanation> containers;  ///< of an admitted pod

  std::vector<OccupiedResource> table;  ///< of a rejected pod; the rest too
  std::vector<Remedy> remedies;
  std::string limit;  ///< if it does not fit on the node without any other pod: why
};

/// Explains the decision about a pod that the node has not admitted, or asks for again with another
/// spec. Pure, like the decision.
[[nodiscard]] Explanation explain(const Node& node, const NodeState& state, const PodSpec& pod);

/// Explains why an active pod has what it has, by admitting it as if it was not there yet. If the
/// result would be another one now, because other pods have come and gone, the trace says so.
/// Errors: kNotFound for a pod that is not active.
[[nodiscard]] Result<Explanation> explain_active(const Node& node, const NodeState& state,
                                                 const PodUid& uid);

/// The JSON form in docs/explain.md.
[[nodiscard]] nlohmann::json to_json(const Explanation& explanation);

}  // namespace pinfold
