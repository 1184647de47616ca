#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/decide/decide.hpp"

/// A rejection and its amounts, which the sentence, the table and the remedies all start from.
namespace pinfold::explain_detail {

/// "requests": the source of a rejection by find_shortage().
inline constexpr const char* kRequests = "requests";
inline constexpr const char* kTopology = "topology";
inline constexpr const char* kWholePod = "pod";

/// A rejection. Borrows its arguments.
struct Failure {
  const Node& node;
  const NodeState& state;  ///< without stale assignments
  const PodSpec& pod;
  Rejection why;
  FailedStep step;
  ResourceHints hints;  ///< of the object, of all providers; empty if none were merged
  /// What the object of the step needs; of find_shortage() only what there is too little of.
  std::vector<Amounts> amounts;

  [[nodiscard]] bool is_whole_pod() const { return step.object == kWholePod; }
  /// The container of the step; nullptr: the pod as a whole.
  [[nodiscard]] const Container* container() const;
};

/// Decides; nullopt if the pod is admitted. `trace` gets the reasons.
[[nodiscard]] std::optional<Failure> find_failure(const Node& node, const NodeState& state,
                                                  const PodSpec& pod, Trace* trace);

/// What is missing at one place, so that the object would fit there.
struct Missing {
  std::vector<std::int32_t> numa_nodes;  ///< empty: on the node as a whole
  std::vector<Amounts> amounts;          ///< `needed`: what is missing; no places
};
/// The places that the object could be on, those that lack least first. A place that lacks nothing
/// by its amounts is in it, too: there something else is in the way.
[[nodiscard]] std::vector<Missing> find_missing(const Failure& failure);

/// The OS ids of the NUMA nodes that have something of what is needed.
[[nodiscard]] std::vector<std::int32_t> numa_ids(const std::vector<Amounts>& amounts);
/// What a NUMA node has free; what has no NUMA node counts everywhere.
[[nodiscard]] Quantity free_at(const Amounts& amounts, std::int32_t numa_node);
[[nodiscard]] Quantity free_in_all(const Amounts& amounts);

/// Free, and used by the requests of pods, of what a pod requests: one place, the node.
[[nodiscard]] std::vector<Amounts> request_amounts(const Node& node, const NodeState& state,
                                                   const PodSpec& pod);

}  // namespace pinfold::explain_detail
