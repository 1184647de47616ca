#include "pinfold/cluster/in_flight.hpp"

#include <algorithm>
#include <utility>

namespace pinfold::cluster {
namespace {

void add(Placement& sum, const Placement& placement, int sign) {
  for (const Share& share : placement.shares) {
    sum.add(share.zone, share.resource, sign * share.amount);
  }
  std::erase_if(sum.shares, [](const Share& share) { return share.amount == 0; });
}

}  // namespace

InFlight::Pod InFlight::packed(const std::vector<Candidate>& candidates) {
  Pod pod;
  std::map<std::vector<Share>, std::uint32_t> known;
  pod.spots.reserve(candidates.size());
  for (const Candidate& one : candidates) {
    const auto next = static_cast<std::uint32_t>(pod.placements.size());
    const auto [entry, is_new] = known.emplace(one.placement.shares, next);
    if (is_new) pod.placements.push_back(one.placement);
    pod.spots.push_back({static_cast<std::uint32_t>(one.node), entry->second});
  }
  return pod;
}

void InFlight::add_to_sums(const Pod& pod, int sign) {
  for (const Spot& spot : pod.spots) {
    if (sums_.size() <= spot.node) sums_.resize(spot.node + 1);
    Sums& sums = sums_[spot.node];
    add(pod.is_certain ? sums.certain : sums.elsewhere, pod.placements[spot.placement], sign);
  }
}

void InFlight::set(Fleet& fleet, const PodUid& uid, const std::vector<Candidate>& candidates,
                   std::size_t passed, kube::Time until) {
  remove(fleet, uid);
  if (candidates.empty()) return;
  Pod pod = packed(candidates);
  pod.is_certain = passed == 1;
  pod.until = until;
  candidates_ += pod.spots.size();
  add_to_sums(pod, 1);
  pods_.emplace(uid, std::move(pod));
  charge(fleet, uid);
  while (candidates_ > kMostCandidates && pods_.size() > 1) drop_oldest(fleet);
}

void InFlight::drop_oldest(Fleet& fleet) {
  const auto oldest = std::min_element(
      pods_.begin(), pods_.end(),
      [](const auto& a, const auto& b) { return a.second.until < b.second.until; });
  remove(fleet, PodUid(oldest->first));
}

void InFlight::remove(Fleet& fleet, const PodUid& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  credit(fleet, uid);
  add_to_sums(found->second, -1);
  candidates_ -= found->second.spots.size();
  pods_.erase(found);
}

void InFlight::expire(Fleet& fleet, kube::Time now) {
  for (auto it = pods_.begin(); it != pods_.end();) {
    const auto next = std::next(it);
    if (it->second.until <= now) remove(fleet, PodUid(it->first));
    it = next;
  }
}

void InFlight::forget_node(std::size_t node) {
  for (auto& [uid, pod] : pods_) {
    candidates_ -= std::erase_if(pod.spots, [&](const Spot& spot) { return spot.node == node; });
  }
  if (node < sums_.size()) sums_[node] = {};
}

void InFlight::clear() { *this = {}; }

void InFlight::charge_node(Fleet& fleet, std::size_t node) const {
  if (node >= sums_.size()) return;
  fleet.charge(node, sums_[node].certain);
  fleet.charge(node, sums_[node].elsewhere);
}

void InFlight::credit_elsewhere(Fleet& fleet, std::size_t node) const {
  if (node < sums_.size()) fleet.credit(node, sums_[node].elsewhere);
}

void InFlight::charge_elsewhere(Fleet& fleet, std::size_t node) const {
  if (node < sums_.size()) fleet.charge(node, sums_[node].elsewhere);
}

void InFlight::credit(Fleet& fleet, const PodUid& uid) const {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  const Pod& pod = found->second;
  for (const Spot& spot : pod.spots) fleet.credit(spot.node, pod.placements[spot.placement]);
}

void InFlight::charge(Fleet& fleet, const PodUid& uid) const {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  const Pod& pod = found->second;
  for (const Spot& spot : pod.spots) fleet.charge(spot.node, pod.placements[spot.placement]);
}

}  // namespace pinfold::cluster
