#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "outcome.hpp"
#include "pinfold/explain/remedy.hpp"
#include "request_change.hpp"

namespace pinfold::explain_detail {

/// Calls decide() for hypothetical cases, a limited number of times.
class Trials {
 public:
  explicit Trials(int most) : left_(most) {}
  [[nodiscard]] bool exhausted() const { return left_ <= 0; }
  /// Notes that a search has ended early and found nothing.
  void end_early() { has_ended_early_ = true; }
  [[nodiscard]] bool has_ended_early() const { return has_ended_early_; }
  /// Returns the state with the pod if decide() admits it; nullopt also once the limit is reached.
  [[nodiscard]] std::optional<NodeState> admitted(const Node& node, NodeState state,
                                                  const PodSpec& pod) {
    if (exhausted()) return std::nullopt;
    --left_;
    Decision decision = decide(node, std::move(state), pod, nullptr, nullptr,
                               AdmissionChecks::kManagersAndRequests);
    auto* const admitted = std::get_if<Admitted>(&decision);
    return admitted == nullptr ? std::nullopt : std::optional(std::move(admitted->next));
  }
  /// Returns whether decide() admits the pod.
  [[nodiscard]] bool admits(const Node& node, NodeState state, const PodSpec& pod) {
    return admitted(node, std::move(state), pod).has_value();
  }

 private:
  int left_;
  bool has_ended_early_ = false;
};

struct FoundRemedies {
  std::vector<Remedy> remedies;
  bool may_be_moves = false;  ///< no moves are among them, and the search for them ended early
};
/// find_remedies() for a failure.
[[nodiscard]] FoundRemedies all_remedies(const Failure& failure);

/// Returns the smallest changes of the pod's requests with which it fits, at most two; and the one
/// that helps because a container then has no exclusive CPUs.
[[nodiscard]] std::vector<Remedy> request_changes(const Failure& failure, Trials& trials);

/// A pod that no longer requests what is missing.
struct MetShortage {
  std::vector<RequestChange> changes;
  std::string change;  ///< of all of them: "container main: cpu 6 -> 4 (requests and limits)"
  PodSpec pod;
};
/// Returns the pod with only what is missing at the nearest place changed, whether or not it then
/// fits; nullopt if no request is the reason.
[[nodiscard]] std::optional<MetShortage> with_shortage_met(const Failure& failure);

/// Returns the moves of other pods' containers with which it fits; notes in `trials` if it finds
/// none because the search ended early.
[[nodiscard]] std::vector<Remedy> container_moves(const Failure& failure, Trials& trials);

/// Returns the smaller request of a container of a Burstable pod with which the requests of all
/// pods leave enough: a kubelet changes it while the pod runs.
[[nodiscard]] std::vector<Remedy> running_requests(const Failure& failure, Trials& trials);

/// Returns whether a move takes huge pages elsewhere, or spreads memory over more NUMA nodes.
[[nodiscard]] bool is_harmful(const Remedy& remedy);

/// Returns the fewest other pods without which it fits. Among single pods with a missing device,
/// prefers one that is admitted again after it, with other devices.
[[nodiscard]] std::vector<Remedy> pods_in_the_way(const Failure& failure, Trials& trials);

/// Returns single settings of the node with which it fits: at most two, or three reservations.
[[nodiscard]] std::vector<Remedy> setting_changes(const Failure& failure, Trials& trials);

}  // namespace pinfold::explain_detail
