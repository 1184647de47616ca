#include "pinfold/cluster/in_flight.hpp"

#include <algorithm>

namespace pinfold::cluster {
namespace {

bool is_before(const InFlight::Candidate& candidate, std::size_t node) {
  return candidate.node < node;
}

}  // namespace

void InFlight::set(const PodRef& pod, std::vector<Candidate> candidates, std::size_t passed,
                   kube::Time until) {
  if (candidates.empty()) return remove(pod.uid);
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.node < b.node; });
  pods_[pod.uid] = Pod{pod, std::move(candidates), passed, until};
}

void InFlight::expire(kube::Time now) {
  std::erase_if(pods_, [&](const auto& entry) { return entry.second.until <= now; });
}

void InFlight::forget_node(std::size_t node) {
  for (auto& [uid, pod] : pods_) {
    std::erase_if(pod.candidates, [&](const Candidate& one) { return one.node == node; });
  }
}

void InFlight::charge(Fleet& fleet, const PodUid& except, Which which) const {
  for (const auto& [uid, pod] : pods_) {
    if (uid == except || (which == Which::kCertain && pod.passed > 1)) continue;
    for (const Candidate& one : pod.candidates) fleet.charge(one.node, one.placement);
  }
}

void InFlight::credit(Fleet& fleet, const PodUid& except, Which which) const {
  for (const auto& [uid, pod] : pods_) {
    if (uid == except || (which == Which::kCertain && pod.passed > 1)) continue;
    for (const Candidate& one : pod.candidates) fleet.credit(one.node, one.placement);
  }
}

const PodRef* InFlight::pod_on(std::size_t node, const PodUid& except) const {
  for (const auto& [uid, pod] : pods_) {
    const auto found =
        std::lower_bound(pod.candidates.begin(), pod.candidates.end(), node, is_before);
    if (uid != except && found != pod.candidates.end() && found->node == node) return &pod.ref;
  }
  return nullptr;
}

}  // namespace pinfold::cluster
