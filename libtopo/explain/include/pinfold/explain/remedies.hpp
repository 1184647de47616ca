#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/decide/decide.hpp"
#include "pinfold/reconfigure/reconfigure.hpp"

namespace pinfold {

/// A change with which a rejected pod is admitted: decide() said so. One of the members after
/// `text` says what changes.
struct Remedy {
  enum class Kind {
    kRequest,  ///< of the pod: `pod`
    kMoves,    ///< containers of other pods move: `moves`, of plan_defragmentation()
    kPods,     ///< other pods are removed: `pods`
    kSetting,  ///< of the node's configuration: `config`
  };
  Kind kind = Kind::kRequest;
  std::string text;  ///< "container main: cpu 6 -> 4 (requests and limits)"

  std::optional<PodSpec> pod;
  std::vector<PodUid> pods;
  std::optional<Config> config;
  std::vector<PlannedContainer> moves = {};
};
/// "request", "moves", "pods", "setting".
[[nodiscard]] std::string_view to_string(Remedy::Kind kind);

/// Finds what makes a rejected pod fit, the cheapest for an operator first: the smallest changes of
/// its requests, the fewest containers to move, the fewest pods in its way, the settings of the
/// node. At most six. Deterministic.
///
/// The moves are the fewest that a short search finds (kMoveSteps); one that ends early finds none
/// or more of them. Nothing moves for a pod that has something on the node already.
/// The pods in the way are a smallest set if two or fewer suffice, or three of at most 150 that
/// have something of what is needed, and the search ends within its bound: it does unless very many
/// sets look sufficient by their amounts and are not. A larger set has no pod that could stay.
/// Settings are not tried on a node with further HintProviders.
inline constexpr std::size_t kMoveSteps = 100;  ///< PlanOptions::steps
/// If those find several moves and fewer are possible.
inline constexpr std::size_t kMoreMoveSteps = 1000;
[[nodiscard]] std::vector<Remedy> find_remedies(const Node& node, const NodeState& state,
                                                const PodSpec& pod);

}  // namespace pinfold
