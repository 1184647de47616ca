#include "pinfold/audit/overlap_watch.hpp"

#include <set>

namespace pinfold::audit {
namespace {

constexpr OverlapWatch::Time kBefore{-1};

}  // namespace

std::string_view to_string(WatchEvent::Kind kind) {
  switch (kind) {
    case WatchEvent::Kind::kStarted:
      return "started";
    case WatchEvent::Kind::kEnded:
      return "ended";
    case WatchEvent::Kind::kOverlaps:
      return "overlaps";
    case WatchEvent::Kind::kCleared:
      break;
  }
  return "cleared";
}

std::string OverlapWatch::later_of(const Pair& pair) const {
  const auto time_of = [&](const std::string& container) {
    const auto found = started_.find(container);
    return found == started_.end() ? kBefore : found->second;
  };
  const Time owner = time_of(pair.first);
  const Time intruder = time_of(pair.second);
  if (owner == kBefore && intruder == kBefore) return "";
  return intruder > owner ? pair.second : pair.first;
}

std::vector<WatchEvent> OverlapWatch::look(const Report& report, Time now) {
  std::vector<WatchEvent> events;
  std::set<std::string> running;
  for (const AuditedContainer& container : report.containers) {
    if (!container.is_running || container.is_sandbox) continue;
    running.insert(container.label);
    const bool is_new =
        started_.try_emplace(container.label, is_first_ ? kBefore : now).second && !is_first_;
    if (is_new) events.push_back({WatchEvent::Kind::kStarted, container.label});
  }
  std::set<Pair> present;
  for (const Overlap& overlap : report.overlaps) {
    const Pair pair{overlap.owner, overlap.intruder};
    present.insert(pair);
    const auto [open, is_new] = open_.try_emplace(pair, Open{now, overlap.cpus});
    open->second.cpus |= overlap.cpus;
    if (!is_new) continue;
    events.push_back({WatchEvent::Kind::kOverlaps, pair.first, pair.second, overlap.cpus, Time{0},
                      later_of(pair)});
  }
  for (auto open = open_.begin(); open != open_.end();) {
    const auto& [pair, state] = *open;
    if (present.contains(pair)) {
      ++open;
      continue;
    }
    events.push_back({WatchEvent::Kind::kCleared, pair.first, pair.second, state.cpus,
                      now - state.since, later_of(pair)});
    open = open_.erase(open);
  }
  for (auto container = started_.begin(); container != started_.end();) {
    if (running.contains(container->first)) {
      ++container;
      continue;
    }
    if (!is_first_) events.push_back({WatchEvent::Kind::kEnded, container->first});
    container = started_.erase(container);
  }
  is_first_ = false;
  return events;
}

}  // namespace pinfold::audit
