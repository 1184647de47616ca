#include "pinfold/predict/ledger.hpp"

#include <fmt/format.h>

namespace pinfold {

Result<void> Ledger::add_bound(const BoundPod& pod) {
  const Placement* const known = pod.record.known();
  Location at{pod.node, known == nullptr ? Placement{} : *known};
  if (!pods_.emplace(pod.uid, Entry{at, at}).second) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("pod '{}': expected a unique UID", pod.uid));
  }
  return {};
}

void Ledger::move(const PodUid& uid, std::optional<Location> to) {
  std::optional<Location>& now = pods_[uid].now;
  if (now) fleet_->credit(now->node, now->placement);
  if (to) fleet_->charge(to->node, to->placement);
  now = std::move(to);
}

void Ledger::place(const PodUid& uid, std::size_t node, Placement placement) {
  journal_.push_back({uid, pods_[uid].now});
  move(uid, Location{node, std::move(placement)});
}

Result<void> Ledger::remove(const PodUid& uid) {
  const auto pod = pods_.find(uid);
  if (pod == pods_.end() || !pod->second.now) {
    return fail(ErrorCode::kNotFound, fmt::format("pod '{}' is not placed", uid));
  }
  journal_.push_back({uid, pod->second.now});
  move(uid, std::nullopt);
  return {};
}

const Ledger::Location* Ledger::find(const PodUid& uid) const {
  const auto pod = pods_.find(uid);
  return pod == pods_.end() || !pod->second.now ? nullptr : &*pod->second.now;
}

std::vector<PodUid> Ledger::evictions() const {
  std::vector<PodUid> uids;
  for (const auto& [uid, pod] : pods_) {
    if (pod.bound && pod.now != pod.bound) uids.push_back(uid);
  }
  return uids;
}

void Ledger::discard(Mark mark) {
  while (journal_.size() > mark) {
    Change& last = journal_.back();
    move(last.uid, std::move(last.before));
    journal_.pop_back();
  }
}

}  // namespace pinfold
