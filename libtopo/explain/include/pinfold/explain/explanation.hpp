#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/decide/decide.hpp"
#include "pinfold/explain/remedy.hpp"

namespace pinfold {

/// The share of a resource at one place that a container, or a pod as a whole, holds.
struct Holder {
  PodRef pod;
  std::string container;  ///< "": the pod as a whole, or several of its containers
  Quantity amount;
  /// OS ids of the NUMA nodes over which the amount is spread, if there are several.
  std::vector<std::int32_t> spread_over;
  /// The containers of the explained pod that were served before the one that failed.
  bool is_earlier = false;

  friend bool operator==(const Holder&, const Holder&) = default;
};
/// "shop/db/main"; "UID/main" for a held pod; "shop/db" for a whole pod; "shop/web itself" for
/// several containers of the explained pod.
[[nodiscard]] std::string to_string(const Holder& holder);

struct OccupiedPlace : PlaceAmounts {
  std::vector<Holder> holders;  ///< largest amounts first
  Quantity offline = {};        ///< CPUs that would be free but are offline; they are not in `free`
};

/// A resource of the node at the step that failed.
struct OccupiedResource {
  std::string resource;
  Quantity needed;
  std::vector<OccupiedPlace> places;
};

/// The resources of a container, and why it has them.
struct ContainerExplanation {
  ContainerResources resources;
  std::string cpus;   ///< "exclusive CPUs 2-3", "shared pool 0-1,4-7: ..."
  std::string quota;  ///< "no CPU quota: its CPUs are exclusive"
};

/// The reasons for a decision about a pod. Texts are sentences for an operator, without a period.
struct Explanation {
  PodSpec pod;
  std::optional<Rejection> rejection;  ///< nullopt: admitted
  std::string summary;                 ///< what the pod gets; or what it needs, what is missing,
                                       ///< and where
  /// More facts for an operator: what else prevents the admission of a rejected pod, known bugs of
  /// the kubelet that have an effect, unknown requests.
  std::vector<std::string> notes;
  /// The hints of each provider, each merge with its runner-up, and the steps of the allocation.
  Trace trace;

  std::vector<ContainerExplanation> containers;  ///< only for an admitted pod

  /// Changes that get a rejected pod admitted, or give containers of an admitted one exclusive
  /// CPUs.
  std::vector<Remedy> remedies;

  std::vector<OccupiedResource> table;  ///< only for a rejected pod, like the members below
  bool is_aligned = false;              ///< the table's amounts are needed on the same NUMA nodes
  std::string limit;  ///< why it would not fit even without any other pod; "" if it would
  PodNames names;     ///< of the active pods, for `remedies`
  /// Moves of other pods' containers may help: a search found none, and ended early.
  bool may_be_moves = false;
};

/// Explains the decision about a pod that the node has not admitted, or that is to be admitted
/// again with another spec. Pure, like the decision.
[[nodiscard]] Explanation explain(const Node& node, const NodeState& state, const PodSpec& pod);

/// Explains why an active pod has its resources, by admitting it as if it were new. If the result
/// would now be different because other pods have come and gone, the trace says so.
/// Errors: kNotFound for a pod that is not active.
[[nodiscard]] Result<Explanation> explain_active(const Node& node, const NodeState& state,
                                                 const PodUid& uid);

/// Returns the JSON form; see docs/explain.md.
[[nodiscard]] nlohmann::json to_json(const Explanation& explanation);

}  // namespace pinfold
