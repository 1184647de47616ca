#include "pinfold/decide/active_pods.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "pinfold/api/config.hpp"
#include "pinfold/decide/pod_totals.hpp"

// How it works. by_uid_ lists the positions of the pods in the order of their UIDs, so a lookup is
// a binary search. totals_ has the sums of all requests; every change of a spec passes through
// count(), which adds or subtracts one pod. The sums have 128 bits and so are exact; requested()
// caps them as the kubelet's own additions would.

namespace pinfold {
namespace {

using Int128 = Quantity::Int128;

FeatureGates with_pod_level(bool is_on) {
  FeatureGates gates;
  gates.pod_level_resources = is_on;
  return gates;
}

}  // namespace

std::vector<ActivePods::Position>::const_iterator ActivePods::rank_of(const PodUid& uid) const {
  return std::lower_bound(
      by_uid_.begin(), by_uid_.end(), uid,
      [this](Position at, const PodUid& other) { return pods_[at].spec.uid < other; });
}

ActivePods::Iterator ActivePods::find(const PodUid& uid) const {
  const auto found = rank_of(uid);
  const bool is_active = found != by_uid_.end() && pods_[*found].spec.uid == uid;
  return is_active ? begin() + *found : end();
}

void ActivePods::push_back(ActivePod pod) {
  count(pod.spec, 1);
  by_uid_.insert(rank_of(pod.spec.uid), static_cast<Position>(pods_.size()));
  pods_.push_back(std::move(pod));
}

void ActivePods::replace_spec(Iterator at, PodSpec spec) {
  count(at->spec, -1);
  count(spec, 1);
  pods_.edit(at).spec = std::move(spec);
}

void ActivePods::erase(Iterator at) {
  count(at->spec, -1);
  by_uid_.erase(rank_of(at->spec.uid));
  const auto erased = static_cast<Position>(at - begin());
  for (Position& position : by_uid_) position -= position > erased ? 1U : 0U;
  pods_.erase(at);
}

void ActivePods::count(const PodSpec& spec, int times) {
  for (const bool is_on : {false, true}) {
    Totals& totals = totals_[is_on ? 1 : 0];
    for (const auto& [name, amount] : total_requests(with_pod_level(is_on), spec)) {
      if (is_native_resource(name)) totals[name] += Int128{base_units(name, amount)} * times;
    }
  }
}

std::int64_t ActivePods::requested(const FeatureGates& gates, std::string_view resource,
                                   const PodUid& left_out) const {
  const Totals& totals = totals_[gates.pod_level_resources ? 1 : 0];
  const auto total = totals.find(resource);
  if (total == totals.end()) return 0;
  Int128 sum = total->second;
  if (const auto pod = find(left_out); pod != end()) {
    sum -= base_units(resource, amount_of(total_requests(gates, pod->spec), resource));
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return sum < kMost ? static_cast<std::int64_t>(sum) : kMost;
}

void ActivePods::for_each_change(
    const ActivePods& before, const ActivePods& after,
    const std::function<void(const ActivePod*, const ActivePod*)>& visit) {
  const auto parts = SharedVector<ActivePod>::unshared(before.pods_, after.pods_);
  std::map<PodUid, std::pair<const ActivePod*, const ActivePod*>> changed;
  for (auto pod = parts.before; pod != parts.before_end; ++pod) {
    changed[pod->spec.uid].first = &*pod;
  }
  for (auto pod = parts.after; pod != parts.after_end; ++pod) {
    changed[pod->spec.uid].second = &*pod;
  }
  for (const auto& [uid, pods] : changed) {
    if (pods.first != pods.second) visit(pods.first, pods.second);
  }
}

}  // namespace pinfold
