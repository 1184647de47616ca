#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/api/pod.hpp"
#include "pinfold/predict/evaluator.hpp"
#include "pinfold/predict/fleet.hpp"

namespace pinfold {

enum class Answer : std::uint8_t {
  kFits,     ///< the policy rejects what does not fit, and this fits
  kPasses,   ///< nothing to reject: policy none or best-effort, no data, nothing to align
  kRefused,  ///< the kubelet would reject the pod on topology grounds
};
[[nodiscard]] std::string_view to_string(Answer answer);

/// How nodes that admit the pod are ranked. A score never changes an answer.
enum class ScoringStrategy : std::uint8_t {
  kLeastNumaNodes,      ///< 100 for one zone, 50 for two, 33 for three ...
  kLeastAllocated,      ///< per cent that stay free in the zones used, over the resources
  kMostAllocated,       ///< per cent in use there
  kBalancedAllocation,  ///< 100 if the resources are in use there to the same degree
};
[[nodiscard]] std::string_view to_string(ScoringStrategy strategy);
/// Errors: kInvalidArgument, with the names there are.
[[nodiscard]] Result<ScoringStrategy> parse_scoring_strategy(std::string_view name);

struct Verdict {
  Answer answer = Answer::kPasses;
  /// 0 to 100; 0 where the pod would not be aligned, so that best-effort nodes that can align it
  /// come first.
  std::uint8_t score = 0;
  /// What the pod would come from; empty: nothing to align, or not aligned.
  NumaMask zones;

  [[nodiscard]] bool admits() const { return answer != Answer::kRefused; }
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

/// One pod, to be asked of many nodes: which of them would admit it?
///
/// The counting rule of the kubelet's hint providers over what a NodeResourceTopology tells. What
/// counts is what the node reports by zone and the pod requests; cpu, memory and huge pages only
/// for Guaranteed pods, cpu only in whole numbers (the kubelet aligns no others).
/// Pod scope asks for what the pod needs at one time. Container scope asks for one container after
/// the other, each of which takes its zones from those after it, except standard init containers.
/// Source: docs/predict.md, with its limits.
///
/// Borrows the fleet, which must outlive it; nodes added later are not known to it.
/// Thread-safety: one thread a query; any number of queries of one fleet.
class PodQuery {
 public:
  PodQuery(const Fleet& fleet, const PodSpec& pod);

  /// Domain of all: `node` < size of the fleet.
  [[nodiscard]] Verdict ask(std::size_t node, ScoringStrategy strategy);
  /// Of all nodes, by number. `verdicts` is used again: nothing is allocated once it is large
  /// enough.
  void ask_all(ScoringStrategy strategy, std::vector<Verdict>& verdicts);

  /// Where the pod would be, with amounts; empty where it would not be aligned or is refused.
  [[nodiscard]] Placement place(std::size_t node);

  /// Why the pod would be refused or aligned there, in a sentence: "container 'main': no zone has
  /// cpu 4 and example.com/gpu 1: cpu fits node-0, example.com/gpu fits node-1".
  [[nodiscard]] std::string explain(std::size_t node);

 private:
  /// An amount that no zones have: of a budget that leaves nothing to shared containers.
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  struct Want {
    ResourceId resource;
    std::int64_t amount;
  };
  /// What is aligned together: the pod, or one container.
  struct Item {
    std::string name;   ///< of the container; "" for the pod
    bool keeps = true;  ///< false: an init container, which is gone when the next one starts
    std::vector<Want> wants;
  };
  /// A want as nodes of one shape see it.
  struct RowWant {
    std::size_t row;
    std::int64_t amount;
    bool is_memory;
  };
  /// What nodes of one shape look at, by item.
  using Plan = std::vector<std::vector<RowWant>>;
  struct Scope {
    std::vector<Item> items;
    std::vector<Plan> plans;  ///< by shape
  };

  [[nodiscard]] std::vector<Want> wants_of(const ResourceList& amounts) const;
  void make_plans(Scope& scope) const;
  [[nodiscard]] const Scope& scope_of(std::size_t node) const {
    return fleet_->scope(node) == TopologyScope::kPod ? pod_ : containers_;
  }
  /// Looks at the items of a node in order: visit(item number, zones) for each that fits, while
  /// demands_ and rest_ are those of that item; the number of items that were not refused.
  /// Domain: a policy with an evaluator.
  template <class Visit>
  std::size_t walk(std::size_t node, Visit&& visit);
  /// Takes an item out of rest_, the lower zones first, and adds it to `placement` if there is one.
  void take(std::size_t node, const std::vector<RowWant>& wants, NumaMask zones,
            Placement* placement);
  [[nodiscard]] std::string why_not(std::size_t node, const std::vector<RowWant>& wants) const;

  const Fleet* fleet_;
  Scope pod_;         ///< one item
  Scope containers_;  ///< in order
  // Used again for each node.
  std::vector<std::int64_t> rest_;  ///< what the items before leave of Fleet::Rows::available
  std::vector<ZoneDemand> demands_;
  ZoneEvaluator::Scratch scratch_;
};

/// Numbers of nodes, the best first: those that admit, by score, else by number.
[[nodiscard]] std::vector<std::size_t> ranked(const std::vector<Verdict>& verdicts);

/// {"pod", "uid", "nodes"}: the answers of all nodes for programs, the best first
/// (docs/predict.md). Domain: `query` asks about `pod`; `verdicts` are its answers.
[[nodiscard]] nlohmann::json answers_json(const Fleet& fleet, const PodSpec& pod, PodQuery& query,
                                          const std::vector<Verdict>& verdicts);

}  // namespace pinfold
