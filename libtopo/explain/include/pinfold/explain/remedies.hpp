#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/decide/decide.hpp"
#include "pinfold/reconfigure/reconfigure.hpp"

namespace pinfold {

/// A change with which a rejected pod is admitted, as confirmed by decide(). One of the members
/// after `text` contains the change.
struct Remedy {
  enum class Kind {
    kRequest,  ///< the pod's requests change: `pod`
    kMoves,    ///< containers of other pods move: `moves`, from plan_defragmentation()
    kPods,     ///< other pods are removed: `pods`
    kSetting,  ///< the node's configuration changes: `config`
  };
  Kind kind = Kind::kRequest;
  std::string text;  ///< "container main: cpu 6 -> 4 (requests and limits)"

  std::optional<PodSpec> pod;
  std::vector<PodUid> pods;
  std::optional<Config> config;
  std::vector<PlannedContainer> moves = {};
};
/// Returns "request", "moves", "pods" or "setting".
[[nodiscard]] std::string_view to_string(Remedy::Kind kind);

inline constexpr std::size_t kMoveSteps = 100;  ///< PlanOptions::steps of the first search
/// PlanOptions::steps of a second search, if the first one finds several moves and perhaps not the
/// fewest.
inline constexpr std::size_t kMoreMoveSteps = 1000;

/// Finds changes with which a rejected pod fits, the cheapest for an operator first: the smallest
/// changes of its requests, the fewest containers to move, the fewest pods to remove, the settings
/// of the node. At most six. Deterministic.
///
/// The moves are the fewest that a short search finds (kMoveSteps); one that ends early finds none,
/// or more than necessary. Nothing moves for a pod that already has something on the node.
/// The pods to remove are a smallest set if two or fewer suffice, or three of at most 150 that hold
/// something that is needed, and the search ends within its bound: it does unless very many sets
/// look sufficient by their amounts and are not. In a larger set no pod could stay.
/// Settings are not tried on a node with HintProviders.
[[nodiscard]] std::vector<Remedy> find_remedies(const Node& node, const NodeState& state,
                                                const PodSpec& pod);

}  // namespace pinfold
