#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/api/pod.hpp"
#include "pinfold/predict/bound_pods.hpp"
#include "pinfold/predict/evaluator.hpp"
#include "pinfold/predict/fleet.hpp"
#include "pinfold/predict/scoring_strategy.hpp"

namespace pinfold {

/// Whether a node would admit a pod.
enum class PredictedOutcome : std::uint8_t {
  kFits,      ///< admitted: the policy rejects pods that are not aligned, and this one is aligned
  kUnsure,    ///< depends on which CPUs the pod's init containers leave to the others
  kPasses,    ///< admitted: policy none or best-effort, no zones, or nothing to align
  kRejected,  ///< the kubelet would reject the pod with a TopologyAffinityError, or all zones
              ///< together have too little
};
/// Returns "fits", "unsure", "passes" or "rejected".
[[nodiscard]] std::string_view to_string(PredictedOutcome outcome);

/// The predicted decision of a node about a pod.
struct Prediction {
  PredictedOutcome outcome = PredictedOutcome::kPasses;
  /// 0 to 100. 0 if the pod would not be aligned, so that best-effort nodes that can align it come
  /// first.
  std::uint8_t score = 0;
  /// The zones that would serve the pod; empty if there is nothing to align, or not aligned.
  NumaMask zones;

  [[nodiscard]] bool admits() const { return outcome != PredictedOutcome::kRejected; }
  friend bool operator==(const Prediction&, const Prediction&) = default;
};

/// How a node answers, for counting: each node is in one group.
enum class AnswerGroup : std::uint8_t {
  kAligned,      ///< admits the pod and aligns it
  kNotAligned,   ///< admits the pod, but does not align it
  kNoZones,      ///< reports no zones, so nothing is known about it
  kCannotAlign,  ///< rejects the pod, although all zones together have enough
  kTooLittle,    ///< all zones together have too little
};
/// Returns "aligned", "notAligned", "noZones", "cannotAlign" or "tooLittle".
[[nodiscard]] std::string_view to_string(AnswerGroup group);

/// What keeps a node from aligning a pod.
struct NearMiss {
  /// Names neither the node nor its amounts, so that it is equal on nodes with the same problem:
  /// "no NUMA node has cpu 4 and example.com/gpu 1 free".
  std::string why;
  /// Of the nearest zone: "node-0 lacks cpu 2". Of all zones together: "it has example.com/gpu 8 of
  /// 20". "" if it is about neither.
  std::string lacks;
  double distance = 0;  ///< the missing part of each request, added up: 0.5 is half of one request

  friend bool operator==(const NearMiss&, const NearMiss&) = default;
};

/// Predicts for one pod and many nodes which of them would admit it.
///
/// Applies the counting rule of the kubelet's hint providers to NodeResourceTopology objects. A
/// resource counts if the node reports it by zone and the pod requests it; cpu, memory and huge
/// pages count only for Guaranteed pods, and cpu only in whole numbers (the kubelet aligns no other
/// requests). Pod scope evaluates the most that the pod needs at one time. Container scope
/// evaluates one container after another; each leaves less for the next ones, except standard init
/// containers, whose CPUs the next ones must take again. Source: docs/predict.md, with its limits.
///
/// Borrows the fleet, which must outlive it; nodes that are added later are not included.
/// Thread-safety: one thread per query; any number of queries on one fleet.
class PodQuery {
 public:
  PodQuery(const Fleet& fleet, const PodSpec& pod);

  // Domain of all below: `node` < size of the fleet.
  [[nodiscard]] Prediction predict(std::size_t node, ScoringStrategy strategy);
  /// Predicts for all nodes, by number. Reuses `predictions`: allocates nothing once it is large
  /// enough.
  void predict_all(ScoringStrategy strategy, std::vector<Prediction>& predictions);

  /// Returns the pod's placement, with amounts; empty if it would be rejected or not aligned.
  [[nodiscard]] Placement place(std::size_t node);

  /// Returns the group of a node. Domain: `prediction` is the query's for this node.
  [[nodiscard]] AnswerGroup group(std::size_t node, const Prediction& prediction) const;

  /// Explains in one sentence why the pod would be rejected or how it would be aligned: "container
  /// 'main': no zone has cpu 4 and example.com/gpu 1: cpu fits node-0, example.com/gpu fits
  /// node-1". Nodes of different groups have different explanations.
  [[nodiscard]] std::string explain(std::size_t node);

  /// Returns what keeps the node from aligning the pod; an empty `why` if nothing does.
  [[nodiscard]] NearMiss near_miss(std::size_t node);

  /// Returns whether the pod requests something that the node reports by zone and its kubelet
  /// aligns.
  [[nodiscard]] bool requests_zones(std::size_t node) const;

 private:
  /// An amount that never fits, for a pod whose exclusive containers leave no shared pool.
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  struct Request {
    ResourceId resource;
    std::int64_t amount;
  };
  /// What is aligned together: the pod or one container.
  struct Item {
    std::string name;   ///< the container's name; "" for the pod
    bool keeps = true;  ///< false for an init container, which has ended when the next one starts
    std::vector<Request> requests;
  };
  /// A request on the nodes of one shape.
  struct RowRequest {
    std::size_t row;
    std::int64_t amount;
    bool is_memory;
    bool is_cpu;
  };
  /// The CPUs that the pod's init containers have left, and the zones that have them. Amounts by
  /// zone do not show which CPUs a container takes, so only limits of their number are known.
  struct Reusable {
    NumaMask zones;
    std::int64_t least = 0;
    std::int64_t most = 0;
    /// No other container has taken CPUs there since: the same number is the same CPUs.
    bool is_untouched = false;
  };
  /// The requests that nodes of one shape report by zone, by item.
  using Plan = std::vector<std::vector<RowRequest>>;
  struct Scope {
    std::vector<Item> items;
    std::vector<Plan> plans;  ///< by shape
  };

  [[nodiscard]] std::vector<Request> requests_of(const ResourceList& amounts) const;
  void make_plans(Scope& scope) const;
  /// A request that all zones of a node together cannot hold: "cpu 60 of 34 available".
  struct Shortage {
    std::size_t row;
    std::int64_t amount;
    std::int64_t total;
    bool is_available;  ///< compared with what is available; false: with what is allocatable
  };
  [[nodiscard]] std::optional<Shortage> shortage(std::size_t node) const;
  [[nodiscard]] std::string shortage_text(std::size_t node, const Shortage& shortage) const;
  [[nodiscard]] const Scope& scope_of(std::size_t node) const {
    return fleet_->scope(node) == TopologyScope::kPod ? pod_ : containers_;
  }
  /// Evaluates the items on a node in order and calls visit(item number, zones) for each that fits,
  /// while demands_ and rest_ are still those of that item. Stops at the first item that does not
  /// fit.
  /// Returns: the number of items that fit. Domain: a policy with an evaluator.
  template <class Visit>
  std::size_t walk(std::size_t node, Visit&& visit);
  /// Evaluates demands_. A container with exclusive CPUs must be where reusable CPUs are. Sets
  /// is_unsure_ if it is unknown whether there are any and that makes a difference.
  [[nodiscard]] NumaMask align(const ZoneEvaluator& evaluator, int zones, bool takes_cpus);
  /// Updates reusable_ for a container that takes `cpu` from zones, before take().
  void note_cpus(std::size_t node, const RowRequest& cpu, NumaMask zones, bool keeps);
  /// Subtracts an item from rest_, lower zones first, and adds it to `placement` unless that is
  /// nullptr.
  void take(std::size_t node, const std::vector<RowRequest>& requests, NumaMask zones,
            Placement* placement);
  [[nodiscard]] std::string why_not_aligned(std::size_t node,
                                            const std::vector<RowRequest>& requests) const;
  [[nodiscard]] NearMiss total_miss(std::size_t node, const Shortage& shortage) const;
  // About the item at which walk() has stopped: what a zone lacks, and NearMiss::distance.
  [[nodiscard]] std::vector<RowRequest> lacking_on(int zone,
                                                   const std::vector<RowRequest>& requests) const;
  [[nodiscard]] double distance_to(int zone) const;
  /// Like near_miss, for the item at which walk() has stopped.
  [[nodiscard]] NearMiss zone_miss(std::size_t node, const std::vector<RowRequest>& requests) const;
  /// Returns "cpu 4 and example.com/gpu 1".
  [[nodiscard]] std::string amounts_text(std::size_t node,
                                         const std::vector<RowRequest>& requests) const;

  const Fleet* fleet_;
  Scope pod_;         ///< one item
  Scope whole_;       ///< one item: all requests, even those that are not aligned
  Scope containers_;  ///< one item for each container, in order
  // Reused for every node.
  std::vector<std::int64_t> rest_;  ///< Fleet::Rows::available minus the earlier items
  std::vector<ZoneDemand> demands_;
  Reusable reusable_;
  NumaMask required_;  ///< the zones of reusable CPUs where the item of demands_ has to be
  bool is_unsure_ = false;
  ZoneEvaluator::Scratch scratch_;
};

/// Returns the numbers of the nodes, best first: those that admit before those that reject, then by
/// score, then by number.
[[nodiscard]] std::vector<std::size_t> ranked(const std::vector<Prediction>& predictions);

/// A prediction for output: docs/predict.md.
struct NodePrediction {
  std::string node;
  std::string outcome;  ///< of a node that could not be read: "unknown"
  std::string group;    ///< likewise
  bool admits = false;
  std::uint8_t score = 0;
  std::string policy;  ///< "": unknown, like the scope
  std::string scope;
  std::string why;
  std::string lacks;  ///< NearMiss::lacks
  std::vector<ZoneAmount> placement;
};
/// The predictions for a pod, the best node first.
struct PodPredictions {
  PodRef pod;
  std::vector<NodePrediction> nodes;
};
/// Returns predictions for output. Domain: `query` is for `pod`; `predictions` are its result.
[[nodiscard]] PodPredictions predictions_of(const Fleet& fleet, const PodSpec& pod, PodQuery& query,
                                            const std::vector<Prediction>& predictions);

}  // namespace pinfold
