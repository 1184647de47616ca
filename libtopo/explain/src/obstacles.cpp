#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "bounds.hpp"
#include "table.hpp"
#include "trials.hpp"
#include "words.hpp"

namespace pinfold::explain_detail {
namespace {

constexpr std::size_t kMostExact = 3;        ///< a set of up to this many pods is proven to be a
                                             ///< smallest one
constexpr std::size_t kMostInTriples = 150;  ///< candidates; with more, only pairs are tried

constexpr std::size_t kMostPlaces = 4;  ///< places searched for a larger set

constexpr std::size_t kMostPodsNamed = 4;

/// Returns the rank of a pod, the first to be named first: by priority, then node-critical ones,
/// then static ones, which come back as long as their manifest exists.
std::int64_t rank_of(const NodeState& state, const PodUid& uid) {
  const ActivePod* const pod = state.find(uid);
  if (pod == nullptr) return 0;  // known only from the kubelet's files
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  if (pod->spec.is_static) return kLast;
  if (pod->spec.is_node_critical) return kLast - 1;
  return pod->spec.priority.value;
}

/// A pod that might be removed.
struct Obstacle {
  PodUid uid;
  Bounds::Freed frees;
  std::int64_t rank = 0;
  /// Its part of what is missing, then of all that is needed: small pods are cheaper to remove.
  std::pair<double, double> weight = {};
};

/// Returns the state in which a pod has been removed and admitted again after the rejected one;
/// nullopt if one of the two is then rejected.
std::optional<NodeState> recreated(const Failure& failure, const PodUid& uid, Trials& trials) {
  const ActivePod* const pod = failure.state.find(uid);
  if (pod == nullptr) return std::nullopt;  // its requests are unknown
  auto next =
      trials.admitted(failure.node, remove_pod(failure.node, failure.state, uid), failure.pod);
  return next ? trials.admitted(failure.node, *std::move(next), pod->spec) : std::nullopt;
}

/// Returns whether a pod holds a device of one of these resources.
bool has_device_of(const NodeState& state, const PodUid& uid,
                   const std::set<std::string>& resources) {
  const auto* const containers = state.devices.assignments.find(uid);
  if (containers == nullptr) return false;
  for (const auto& [name, devices] : *containers) {
    for (const auto& [resource, ids] : devices) {
      if (resources.contains(resource)) return true;
    }
  }
  return false;
}

/// Searches for the fewest pods to remove, among those of the lowest rank that suffices.
class ObstacleSearch {
 public:
  ObstacleSearch(const Failure& failure, const std::set<std::string>& missing, Trials& trials)
      : failure_(failure),
        missing_(missing),
        trials_(trials),
        bounds_(failure),
        own_(bounds_.project(freed_by(failure, failure.pod.uid))) {
    std::set<PodUid> uids;
    for (const ActivePod& pod : failure.state.pods) uids.insert(pod.spec.uid);
    uids.insert(failure.state.held.begin(), failure.state.held.end());
    uids.erase(failure.pod.uid);
    for (const PodUid& uid : uids) {
      Obstacle obstacle{uid, bounds_.project(freed_by(failure, uid)), rank_of(failure.state, uid)};
      obstacle.weight = {bounds_.missing_share(obstacle.frees), bounds_.share(obstacle.frees)};
      if (obstacle.weight.second > 0) obstacles_.push_back(std::move(obstacle));
    }
    std::stable_sort(obstacles_.begin(), obstacles_.end(),
                     [](const Obstacle& a, const Obstacle& b) { return a.weight < b.weight; });
  }

  [[nodiscard]] std::vector<PodUid> run() {
    std::set<std::int64_t> ranks;
    for (const Obstacle& obstacle : obstacles_) ranks.insert(obstacle.rank);
    for (const std::int64_t rank : ranks) {
      candidates_ = up_to(rank);
      if (admits_without(candidates_)) return fewest();
    }
    return {};
  }

 private:
  using Set = std::vector<const Obstacle*>;

  [[nodiscard]] Set up_to(std::int64_t rank) const {
    Set pods;
    for (const Obstacle& obstacle : obstacles_) {
      if (obstacle.rank <= rank) pods.push_back(&obstacle);
    }
    return pods;
  }

  /// Returns the fewest candidates to remove. Domain: without all of them, the pod is admitted.
  [[nodiscard]] std::vector<PodUid> fewest() {
    for (const Obstacle* const pod : candidates_) {
      const bool may_return =
          has_device_of(failure_.state, pod->uid, missing_) && may_fit_without({pod});
      if (may_return && recreated(failure_, pod->uid, trials_)) return {pod->uid};
    }
    for (std::size_t size = 1; size <= std::min(kMostExact, candidates_.size()); ++size) {
      if (size == 3 && candidates_.size() > kMostInTriples) break;
      Set chosen;
      if (choose(chosen, 0, size)) return uids(chosen);
      if (trials_.exhausted()) break;
    }
    return reduced();
  }

  [[nodiscard]] static std::vector<PodUid> uids(const Set& pods) {
    std::vector<PodUid> out;
    for (const Obstacle* const pod : pods) out.push_back(pod->uid);
    return out;
  }

  [[nodiscard]] bool may_fit_without(const Set& gone) const {
    std::vector<const Bounds::Freed*> freed = {&own_};
    for (const Obstacle* const pod : gone) freed.push_back(&pod->frees);
    return bounds_.may_fit(freed);
  }

  [[nodiscard]] NodeState state_without(const Set& gone) const {
    NodeState state = failure_.state;
    for (const Obstacle* const pod : gone) {
      state = remove_pod(failure_.node, std::move(state), pod->uid);
    }
    return state;
  }

  [[nodiscard]] bool admits_without(const Set& gone) {
    return trials_.admits(failure_.node, state_without(gone), failure_.pod);
  }

  /// Tries every set of this size, small pods first, until one suffices.
  bool choose(Set& chosen, std::size_t first, std::size_t size) {
    if (chosen.size() == size) return may_fit_without(chosen) && admits_without(chosen);
    for (std::size_t i = first; i < candidates_.size() && !trials_.exhausted(); ++i) {
      chosen.push_back(candidates_[i]);
      if (choose(chosen, i + 1, size)) return true;
      chosen.pop_back();
    }
    return false;
  }

  /// Returns a set in which no pod could stay: starts with all and takes out those that can stay.
  /// Tries the places with the least missing; the smallest set wins.
  [[nodiscard]] std::vector<PodUid> reduced() const {
    Set best = candidates_;
    std::vector<PlaceId> places = bounds_.places();
    places.resize(std::min(places.size(), kMostPlaces));
    for (const PlaceId place : places) {
      Set gone = candidates_;
      std::stable_sort(gone.begin(), gone.end(), [&](const Obstacle* a, const Obstacle* b) {
        return bounds_.share_at(a->frees, place) < bounds_.share_at(b->frees, place);
      });
      remove_needless(gone);
      if (gone.size() < best.size()) best = std::move(gone);
    }
    return uids(best);
  }

  /// Takes pods that can stay out of the set. Terminates because each round makes the set smaller.
  void remove_needless(Set& gone) const {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < gone.size();) {
        Set fewer = gone;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        Trials one(1);
        if (may_fit_without(fewer) &&
            one.admits(failure_.node, state_without(fewer), failure_.pod)) {
          gone = std::move(fewer);
          changed = true;
        } else {
          ++i;
        }
      }
    }
  }

  const Failure& failure_;
  const std::set<std::string>& missing_;
  Trials& trials_;
  Bounds bounds_;
  Bounds::Freed own_;  ///< what the pod itself frees if it is admitted again
  std::vector<Obstacle> obstacles_;
  Set candidates_;
};

/// Returns what makes a pod dearer than others: "static", "node-critical", "priority 1000"; "" for
/// an ordinary one.
std::string standing(const NodeState& state, const PodUid& uid) {
  const ActivePod* const pod = state.find(uid);
  if (pod == nullptr) return "";
  if (pod->spec.is_static) return "static";
  if (pod->spec.is_node_critical) return "node-critical";
  const std::int32_t priority = pod->spec.priority.value;
  return priority == 0 ? "" : fmt::format("priority {}", priority);
}

/// Returns a pod's part of what is missing: "2 CPUs, 4Gi of memory on NUMA node 1".
std::string holdings(const Failure& failure, const std::set<std::string>& missing,
                     const PodUid& uid) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_place;
  for (const Amounts& amounts : failure.amounts) {
    if (!missing.empty() && !missing.contains(amounts.resource)) continue;
    for (const PlaceAmounts& place : amounts.places) {
      Quantity sum;
      std::vector<std::int32_t> ids = place.numa_nodes;
      for (const Holder& holder : holders_of(failure, amounts.resource, place, uid)) {
        sum += holder.amount;
        if (!holder.spread_over.empty()) ids = holder.spread_over;
      }
      if (sum.is_zero()) continue;
      const std::string name = ids.empty() ? "" : " on " + numa_nodes(ids);
      auto of_place = std::find_if(by_place.begin(), by_place.end(),
                                   [&](const auto& entry) { return entry.first == name; });
      if (of_place == by_place.end()) of_place = by_place.insert(by_place.end(), {name, {}});
      std::string part = of_resource(sum, amounts.resource, AmountRounding::kDown);
      auto& parts = of_place->second;
      // Memory on several NUMA nodes is found at each of them.
      if (std::find(parts.begin(), parts.end(), part) == parts.end()) {
        parts.push_back(std::move(part));
      }
    }
  }
  std::vector<std::string> all;
  all.reserve(by_place.size());
  for (const auto& [name, parts] : by_place) all.push_back(listed(parts) + name);
  return fmt::format("{}", fmt::join(all, ", "));
}

/// Returns " and recreated after default/web; it then gets 1 example.com/gpu on NUMA node 1" for a
/// pod with a device that is missing; "" if it would be rejected.
std::string after_recreation(const Failure& failure, const std::set<std::string>& missing,
                             const PodUid& uid) {
  Trials trials(2);
  if (!has_device_of(failure.state, uid, missing)) return "";
  const auto next = recreated(failure, uid, trials);
  if (!next) return "";
  const Failure then{failure.node, *next, failure.pod,    failure.why,
                     failure.step, {},    failure.amounts};
  return fmt::format(" and recreated after {}; it then gets {}", name_of(failure.pod),
                     holdings(then, missing, uid));
}

/// Returns whether it suffices to remove any one of the other pods.
bool any_will_do(const Failure& failure, Trials& trials) {
  std::set<PodUid> others = failure.state.held;
  for (const ActivePod& pod : failure.state.pods) others.insert(pod.spec.uid);
  others.erase(failure.pod.uid);
  return std::all_of(others.begin(), others.end(), [&](const PodUid& uid) {
    return trials.admits(failure.node, remove_pod(failure.node, failure.state, uid), failure.pod);
  });
}

}  // namespace

std::vector<Remedy> pods_in_the_way(const Failure& failure, Trials& trials) {
  const std::set<std::string> missing = missing_resources(failure);
  std::vector<PodUid> uids = ObstacleSearch(failure, missing, trials).run();
  if (uids.empty()) return {};
  std::vector<std::string> names;
  names.reserve(uids.size());
  for (const PodUid& uid : uids) {
    std::vector<std::string> facts = {holdings(failure, missing, uid),
                                      standing(failure.state, uid)};
    std::erase(facts, "");
    names.push_back(name_of(failure.state, uid) +
                    (facts.empty() ? "" : fmt::format(" ({})", fmt::join(facts, "; "))));
  }
  if (names.size() > kMostPodsNamed) {
    names.resize(kMostPodsNamed - 1);
    names.push_back(fmt::format("{} more pods", uids.size() - names.size()));
  }
  std::string text = listed(names) + (uids.size() == 1 ? " is removed" : " are removed");
  if (uids.size() == 1 && failure.why.reason == kOutOfPods && any_will_do(failure, trials)) {
    text = fmt::format("one of the other pods is removed, such as {}", names.front());
  }
  if (uids.size() == 1) text += after_recreation(failure, missing, uids.front());
  return {
      Remedy{Remedy::Kind::kPods, std::move(text), std::nullopt, std::move(uids), std::nullopt}};
}

}  // namespace pinfold::explain_detail
