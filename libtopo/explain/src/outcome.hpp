#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pinfold/decide/decide.hpp"

/// A rejection and its amounts: the basis of the sentence, the table and the remedies.
namespace pinfold::explain_detail {

/// The source of a rejection by find_shortage().
inline constexpr const char* kRequests = "requests";
inline constexpr const char* kOutOfPods = "OutOfpods";            ///< the reason of one of those
inline constexpr const char* kUnevenCores = "SMTAlignmentError";  ///< the reason of full-pcpus-only
inline constexpr const char* kTopology = "topology";
inline constexpr const char* kWholePod = "pod";

/// A rejection. Borrows its arguments.
struct Failure {
  const Node& node;
  const NodeState& state;  ///< without stale assignments
  const PodSpec& pod;
  Rejection why;
  AdmissionStep step;
  ResourceHints hints;  ///< the object's hints from all providers; empty if none were merged
  /// What the object of the step needs; for find_shortage() only the resources that are short.
  std::vector<Amounts> amounts;

  [[nodiscard]] bool is_whole_pod() const { return step.object == kWholePod; }
  /// Returns the container of the step; nullptr for the pod as a whole.
  [[nodiscard]] const Container* container() const;
};

/// Decides about a pod; nullopt if it is admitted. Records the reasons in `trace`.
[[nodiscard]] std::optional<Failure> find_failure(const Node& node, const NodeState& state,
                                                  const PodSpec& pod, Trace* trace);

/// Returns the state in which the containers of the pod before the one that failed have been
/// served; nullopt for the pod as a whole.
[[nodiscard]] std::optional<NodeState> served_before(const Failure& failure);

/// Returns whether the policy single-numa-node is the rule that the failed step has to obey.
[[nodiscard]] bool needs_one_numa_node(const Failure& failure);

/// What is missing at one place for the object to fit there.
struct Missing {
  std::vector<std::int32_t> numa_nodes;  ///< empty: the node as a whole
  std::vector<Amounts> amounts;          ///< `needed` is what is missing; without places
};
/// Returns the places where the object could be, those with the least missing first. Includes
/// places where no amount is missing: there something else is in the way.
[[nodiscard]] std::vector<Missing> find_missing(const Failure& failure);
/// Returns the resources that such a place has too little of.
[[nodiscard]] std::set<std::string> missing_resources(const Failure& failure);

/// Returns the most that a place can have free for containers. As in the hints, reserved CPUs
/// count, too.
[[nodiscard]] Quantity capacity_of(const PlaceAmounts& place, const std::string& resource);
/// Returns the fewest NUMA nodes that can provide the amount on an empty machine; 1 if not even all
/// of them can.
[[nodiscard]] int least_nodes(const Amounts& amounts);

/// Returns the OS ids of all NUMA nodes in the amounts.
[[nodiscard]] std::vector<std::int32_t> numa_ids(const std::vector<Amounts>& amounts);
/// Returns what is free on a NUMA node; what has no NUMA node counts everywhere.
[[nodiscard]] Quantity free_at(const Amounts& amounts, std::int32_t numa_node);
[[nodiscard]] Quantity free_in_all(const Amounts& amounts);

/// Returns how many active pods the node has besides this one.
[[nodiscard]] std::int64_t other_pods(const Failure& failure);

/// Returns, for each resource that a pod requests, what is free and what the requests of pods use,
/// with the node as the only place.
[[nodiscard]] std::vector<Amounts> request_amounts(const Node& node, const NodeState& state,
                                                   const PodSpec& pod);

}  // namespace pinfold::explain_detail
