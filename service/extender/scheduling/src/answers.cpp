#include "pinfold/scheduling/answers.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "pinfold/predict/pod_query.hpp"

namespace pinfold::scheduling {
namespace {

using cluster::ClusterView;
using cluster::InFlight;
using cluster::PodAccount;

/// A node of the request that would not admit the pod.
struct RejectingNode {
  std::size_t index = 0;  ///< of ExtenderArgs::nodes
  std::size_t node = 0;   ///< of the fleet
};

/// One filter request.
class Filtering {
 public:
  Filtering(ClusterView& view, const ExtenderArgs& args, kube::Time now)
      : view_(view), args_(args), now_(now), fleet_(view.fleet(now)), query_(fleet_, args.pod) {}

  FilterResult run(Undecided undecided) {
    InFlight& in_flight = view_.in_flight();
    in_flight.remove(fleet_, args_.pod.uid);
    for (std::size_t i = 0; i < args_.nodes.size(); ++i) look_at(i);
    for (const RejectingNode& rejecting : rejecting_) explain(rejecting);
    name_nearest();
    result_.is_undecided = result_.passed.empty() && !contested_.empty();
    if (result_.is_undecided && undecided == Undecided::kPass) pass_contested();
    in_flight.set(fleet_, args_.pod.uid, candidates_, result_.passed.size(),
                  now_ + view_.options().reserve);
    return std::move(result_);
  }

 private:
  [[nodiscard]] Prediction predict(std::size_t node) {
    return query_.predict(node, ScoringStrategy::kLeastNumaNodes);
  }

  void look_at(std::size_t index) {
    const auto node = view_.number_of(args_.nodes[index]);
    if (node && view_.is_distrusted(*node, now_) && query_.requests_zones(*node)) {
      result_.failed[args_.nodes[index]] = "its kubelet has just rejected a pod that seemed to fit";
      return;
    }
    const Prediction prediction = node ? predict(*node) : Prediction{};
    if (!prediction.admits()) {
      rejecting_.push_back({index, *node});
      return;
    }
    result_.passed.push_back(index);
    if (!prediction.zones.empty()) candidates_.push_back({*node, query_.place(*node)});
  }

  /// Without the pods that may be elsewhere.
  void explain(const RejectingNode& rejecting) {
    view_.in_flight().credit_elsewhere(fleet_, rejecting.node);
    if (predict(rejecting.node).admits()) {
      contested_.push_back({rejecting.index, {rejecting.node, query_.place(rejecting.node)}});
      result_.failed[args_.nodes[rejecting.index]] = "other pods may be about to be bound there";
    } else {
      explain_rejection(rejecting);
    }
    view_.in_flight().charge_elsewhere(fleet_, rejecting.node);
  }

  void explain_rejection(const RejectingNode& rejecting) {
    const std::string& name = args_.nodes[rejecting.index];
    NearMiss miss = query_.near_miss(rejecting.node);
    result_.failed[name] = miss.why;
    if (miss.distance >= nearest_.distance || miss.lacks.empty()) return;
    nearest_ = std::move(miss);
    nearest_name_ = name;
  }

  void pass_contested() {
    result_.is_undecided = false;
    for (auto& [index, candidate] : contested_) {
      result_.passed.push_back(index);
      result_.failed.erase(args_.nodes[index]);
      candidates_.push_back(std::move(candidate));
    }
  }

  /// Only one message names a node and its amounts: kube-scheduler counts equal messages, and
  /// thousands of different ones do not fit into an event.
  void name_nearest() {
    if (nearest_name_.empty()) return;
    result_.failed[nearest_name_] +=
        fmt::format(" (nearest: {}: {})", nearest_name_, nearest_.lacks);
  }

  ClusterView& view_;
  const ExtenderArgs& args_;
  kube::Time now_;
  Fleet& fleet_;
  PodQuery query_;
  FilterResult result_;
  std::vector<RejectingNode> rejecting_;
  std::vector<InFlight::Candidate> candidates_;
  NearMiss nearest_{"", "", std::numeric_limits<double>::max()};
  std::string nearest_name_;
  /// Nodes that only pods in flight may keep from admitting the pod, by index.
  std::vector<std::pair<std::size_t, InFlight::Candidate>> contested_;
};

/// Returns the placements of the victims that are known and on this node.
std::vector<Placement> freed_by(const ClusterView& view, const Fleet& fleet, std::size_t node,
                                const NodeVictims& victims) {
  std::vector<Placement> placements;
  for (const PodUid& uid : victims.pods) {
    const PodAccount* const pod = view.find_pod(uid);
    if (pod == nullptr || pod->known() == nullptr || pod->node != fleet.name(node)) continue;
    if (auto placement = placement_of(fleet, node, *pod->known())) {
      placements.push_back(*std::move(placement));
    }
  }
  return placements;
}

/// Whether the node would admit the pod without the victims, and without pods that may be
/// elsewhere.
bool admits_without(const NodeVictims& victims, ClusterView& view, Fleet& fleet, PodQuery& query,
                    std::size_t node) {
  const auto freed = freed_by(view, fleet, node, victims);
  view.in_flight().credit_elsewhere(fleet, node);
  for (const Placement& placement : freed) fleet.credit(node, placement);
  const bool admits = query.predict(node, ScoringStrategy::kLeastNumaNodes).admits();
  for (const Placement& placement : freed) fleet.charge(node, placement);
  view.in_flight().charge_elsewhere(fleet, node);
  return admits;
}

}  // namespace

FilterResult filter(ClusterView& view, const ExtenderArgs& args, kube::Time now,
                    Undecided undecided) {
  return Filtering(view, args, now).run(undecided);
}

std::vector<HostPriority> prioritize(ClusterView& view, const ExtenderArgs& args,
                                     ScoringStrategy strategy, kube::Time now) {
  constexpr int kPredictionPerExtenderPoint = 10;  // 100 and 10 are the highest scores
  Fleet& fleet = view.fleet(now);
  view.in_flight().credit(fleet, args.pod.uid);
  PodQuery query(fleet, args.pod);
  std::vector<HostPriority> priorities;
  priorities.reserve(args.nodes.size());
  for (const std::string& name : args.nodes) {
    const auto node = view.number_of(name);
    const int score = node ? query.predict(*node, strategy).score : 0;
    priorities.push_back({name, score / kPredictionPerExtenderPoint});
  }
  view.in_flight().charge(fleet, args.pod.uid);
  return priorities;
}

VictimsByNode preempt(ClusterView& view, const PreemptionArgs& args, kube::Time now) {
  Fleet& fleet = view.fleet(now);
  view.in_flight().remove(fleet, args.pod.uid);
  PodQuery query(fleet, args.pod);
  VictimsByNode helping;
  for (const auto& [name, victims] : args.victims) {
    const auto node = view.number_of(name);
    if (node && !admits_without(victims, view, fleet, query, *node)) continue;
    helping.emplace(name, victims);
  }
  return helping;
}

}  // namespace pinfold::scheduling
