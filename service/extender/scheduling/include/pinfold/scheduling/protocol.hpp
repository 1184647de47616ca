#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/api/pod.hpp"
#include "pinfold/base/result.hpp"

/// The messages between kube-scheduler and its extenders. Source: k8s.io/kube-scheduler
/// extender/v1 types.go. Members are matched without regard to case, as Go does.
namespace pinfold::scheduling {

/// A request to filter or to rank nodes for a pod.
struct ExtenderArgs {
  PodSpec pod;
  std::vector<std::string> nodes;  ///< names
  /// The Node objects, in the order of `nodes`, from a scheduler without nodeCacheCapable; they are
  /// part of its answer. Empty: it has sent names.
  std::vector<nlohmann::json> objects;
  /// status.nominatedNodeName of the pod, usually a node on which pods were evicted for it; or "".
  std::string nominated;
};
/// Parses a request. Errors: kInvalidArgument, "NodeNames[3]: 5: expected a string".
[[nodiscard]] Result<ExtenderArgs> parse_extender_args(std::string_view text);

/// Nodes that were filtered out, each with the reason.
using FailedNodes = std::map<std::string, std::string>;

struct FilterResult {
  std::vector<std::size_t> passed;  ///< indices of ExtenderArgs::nodes, ascending
  FailedNodes failed;
  /// Nodes were filtered out only because other pods may be about to be bound to them.
  bool is_undecided = false;

  friend bool operator==(const FilterResult&, const FilterResult&) = default;
};
/// Returns the answer. Nodes that were filtered out are unresolvable, except for the nominated one:
/// kube-scheduler asks about nodes where the pod fits by its sums, so it would look in vain for
/// pods to evict there. On the nominated node evicted pods may still be ending; if it were
/// unresolvable, kube-scheduler would not wait but evict pods elsewhere.
[[nodiscard]] nlohmann::json to_json(const FilterResult& result, const ExtenderArgs& args);
/// Returns the answer to a filter request that cannot be answered.
[[nodiscard]] nlohmann::json filter_error(std::string_view message);

struct HostPriority {
  std::string host;
  std::int64_t score = 0;  ///< 0 to 10

  friend bool operator==(const HostPriority&, const HostPriority&) = default;
};
[[nodiscard]] nlohmann::json to_json(const std::vector<HostPriority>& priorities);

/// The pods of a node that would be evicted.
struct NodeVictims {
  std::vector<PodUid> pods;
  std::int64_t pdb_violations = 0;  ///< of PodDisruptionBudgets

  friend bool operator==(const NodeVictims&, const NodeVictims&) = default;
};
using VictimsByNode = std::map<std::string, NodeVictims>;

/// A request to judge evictions for a pod.
struct PreemptionArgs {
  PodSpec pod;
  VictimsByNode victims;
};
/// Parses a request. Errors: kInvalidArgument.
[[nodiscard]] Result<PreemptionArgs> parse_preemption_args(std::string_view text);
/// Returns the answer: the nodes on which the evictions help.
[[nodiscard]] nlohmann::json to_json(const VictimsByNode& victims);

}  // namespace pinfold::scheduling
