#include "pinfold/checkpoint/encoded_entries.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace pinfold::checkpoint {
namespace {

/// A group that grows beyond this is divided.
constexpr std::size_t kMostEntries = 24;

void join(EncodedEntries::Group& group, bool is_first) {
  std::vector<const SummedText*> json;
  std::string dump;
  for (const auto& [uid, entry] : group.entries) {
    json.push_back(&entry.json);
    dump += entry.dump;
  }
  group.json = join_entries(json, is_first);
  group.dump = std::make_shared<const DumpPart>(is_first ? dump.substr(1) : std::move(dump));
}

/// Moves the entries after the first `left` to a separate group.
EncodedEntries::Group divide(EncodedEntries::Group& group, std::size_t left) {
  const auto middle = std::next(group.entries.begin(), static_cast<std::ptrdiff_t>(left));
  EncodedEntries::Group half;
  for (auto entry = middle; entry != group.entries.end();) {
    half.entries.insert(half.entries.end(), group.entries.extract(entry++));
  }
  return half;
}

}  // namespace

std::vector<EncodedEntries::Group>::iterator EncodedEntries::group_of(const PodUid& uid) {
  const auto found = std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) {
    return !(group.entries.rbegin()->first < uid);
  });
  return found == groups_.end() ? std::prev(found) : found;
}

void EncodedEntries::put(const PodUid& uid, EncodedEntry entry) {
  if (groups_.empty()) groups_.emplace_back();
  const auto group = groups_.front().entries.empty() ? groups_.begin() : group_of(uid);
  group->entries.insert_or_assign(uid, std::move(entry));
  group->json = nullptr;
  if (group->entries.size() <= kMostEntries) return;
  // UIDs that ascend would leave half-full groups behind.
  const bool is_last = group->entries.rbegin()->first == uid;
  Group rest = divide(*group, is_last ? kMostEntries : kMostEntries / 2);
  groups_.insert(std::next(group), std::move(rest));
}

void EncodedEntries::erase(const PodUid& uid) {
  if (groups_.empty()) return;
  const auto group = group_of(uid);
  if (group->entries.erase(uid) == 0) return;
  group->json = nullptr;
  if (!group->entries.empty()) return;
  const auto next = groups_.erase(group);
  if (next == groups_.begin() && next != groups_.end()) next->json = nullptr;  // now the first
}

const std::vector<EncodedEntries::Group>& EncodedEntries::joined() {
  for (Group& group : groups_) {
    if (group.json == nullptr) join(group, &group == &groups_.front());
  }
  return groups_;
}

}  // namespace pinfold::checkpoint
