#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "judge/json_at.hpp"
#include "pinfold/harness/json.hpp"
#include "pinfold/harness/judge.hpp"

namespace pinfold::harness {
namespace {

std::string describe(const ExpectedValue& expected_value) {
  std::string text;
  if (expected_value.at_least) text = fmt::format("at least {:g}", *expected_value.at_least);
  if (!expected_value.at_most) return text;
  return fmt::format("{}{}at most {:g}", text, text.empty() ? "" : " and ",
                     *expected_value.at_most);
}

}  // namespace

CheckedValue check_expected(std::string what, std::string_view name,
                            const ExpectedValue& expected_value, std::string observed) {
  if (!expected_value.at_least && !expected_value.at_most) {
    return check_value(std::move(what), name, expected_value.text, std::move(observed));
  }
  char* end = nullptr;
  const double number = std::strtod(observed.c_str(), &end);
  const bool ok = !observed.empty() && *end == '\0' &&
                  (!expected_value.at_least || number >= *expected_value.at_least) &&
                  (!expected_value.at_most || number <= *expected_value.at_most);
  return {std::move(what), describe(expected_value), std::move(observed), ok};
}

std::string admit_answer(int status, std::string_view printed) {
  static constexpr const char* kAnswers[] = {"admitted", "rejected", "error"};
  if (status < 0 || status > 2) return "";
  const Json document = Json::parse(printed, nullptr, false);
  const Json& pods = json_at(document, {"pods"});
  const bool is_unenforced =
      pods.is_array() && std::any_of(pods.begin(), pods.end(), [](const Json& pod) {
        return !json_at(pod, {"notEnforced"}).is_null();
      });
  return is_unenforced ? "admitted, but not enforced" : kAnswers[status];
}

std::string line_value(const std::string& text, std::string_view key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(key) && line.substr(key.size()).starts_with(' ')) {
      return line.substr(key.size() + 1);
    }
  }
  return "(no such line)";
}

std::string pages_on(const Json& pages, const std::string& node, bool share) {
  if (!pages.is_object()) return "?";
  std::uint64_t all = 0;
  for (const auto& [key, count] : pages.items()) all += count.get<std::uint64_t>();
  const std::uint64_t here = pages.value(node, std::uint64_t{0});
  if (!share) return std::to_string(here);
  return all == 0 ? "?" : fmt::format("{}", (here * 100 + all / 2) / all);
}

std::string common_value(const Json& threads, const char* key, const std::string& expected) {
  if (!threads.is_array() || threads.empty()) return "(no process)";
  std::string seen;
  for (const Json& thread : threads) {
    seen = thread.value(key, "");
    if (check_value("", "Cpus_allowed_list", expected, seen).ok) continue;
    return fmt::format("{} ({} {})", seen, thread.value("tid", ""), thread.value("name", ""));
  }
  return seen;
}

Result<ExclusiveCpus> parse_exclusive(const std::string& text) {
  ExclusiveCpus exclusive;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t blank = line.find(' ');
    auto cpus = CpuSet::parse(blank == std::string::npos ? "" : line.substr(blank + 1));
    if (!cpus || cpus->empty()) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("'{}': expected a group and a list of CPUs", line));
    }
    exclusive[line.substr(0, blank)] |= *cpus;
  }
  return exclusive;
}

bool is_within(const std::string& group, const std::string& owner) {
  return group == owner || group.starts_with(owner + "/");
}

namespace {

using Sets = std::map<std::string, CpuSet>;

/// Adds the groups that contain CPUs of the owner in one state.
void find_overlaps(const Sets& seen, const std::string& owner, const CpuSet& own,
                   std::set<GroupOverlap>& found) {
  CpuSet held;  // only CPUs that the owner already has; others may still be in transition
  for (auto it = seen.lower_bound(owner); it != seen.end() && it->first.starts_with(owner); ++it) {
    if (is_within(it->first, owner)) held |= it->second & own;
  }
  if (held.empty()) return;
  for (const auto& [other, theirs] : seen) {
    if (is_within(other, owner) || !held.intersects(theirs)) continue;
    found.insert({other, (held & theirs).to_string(), owner});
  }
}

/// Returns true for a container's group below "kubepods": the groups of QoS classes and pods have
/// the CPUs of everything inside them.
bool is_of_container(const std::string& group) {
  const std::string name = group.substr(group.rfind('/') + 1);
  return group.find('/') != std::string::npos && !name.starts_with("pod");
}

/// One lifetime of a group: its name, and how many groups of that name ended before it.
using Life = std::pair<std::string, int>;

/// The sampler's states, one after the other.
class States {
 public:
  explicit States(const std::string& changes) : lines_(changes) {}
  /// Reads the next complete state. Returns false if there is none.
  bool next() {
    removed_.clear();
    for (std::string line; std::getline(lines_, line);) {
      if (line.empty()) return true;
      const std::size_t blank = line.find(' ');
      const std::string name = line.substr(0, blank);
      if (blank != std::string::npos && blank + 1 < line.size()) {
        groups_[name] = line.substr(blank + 1);
      } else if (groups_.erase(name) != 0) {
        removed_.push_back(name);
        ++ended_[name];
      }
    }
    return false;
  }

  [[nodiscard]] const std::map<std::string, std::string>& groups() const { return groups_; }
  [[nodiscard]] const std::vector<std::string>& removed() const { return removed_; }
  [[nodiscard]] Life life_of(const std::string& group) const {
    const auto ended = ended_.find(group);
    return {group, ended == ended_.end() ? 0 : ended->second};
  }
  /// Returns true if all CPUs of the group are exclusive to it or, if it owns none, are not those
  /// of its parent, if that was observed: the runtime creates it just before.
  [[nodiscard]] bool is_pinned(const std::string& group, const std::string& cpus,
                               const ExclusiveCpus& exclusive) const {
    if (const auto own = exclusive.find(group); own != exclusive.end()) {
      const auto now = CpuSet::parse(cpus);
      return now && own->second.contains_all(*now);
    }
    const auto above = groups_.find(group.substr(0, group.rfind('/')));
    return above != groups_.end() && above->second != cpus;
  }

 private:
  std::istringstream lines_;
  std::map<std::string, std::string> groups_;
  std::map<std::string, int> ended_;
  std::vector<std::string> removed_;
};

}  // namespace

std::string changes_of_runtime(const std::string& changes, const ExclusiveCpus& exclusive,
                               NeverPinned never_pinned) {
  std::set<Life> pinned;
  States all(changes);
  while (all.next()) {
    for (const auto& [group, cpus] : all.groups()) {
      if (all.is_pinned(group, cpus, exclusive)) pinned.insert(all.life_of(group));
    }
  }
  const auto is_skipped = [&](const Life& life) {
    const bool has_ended = !all.groups().contains(life.first) || all.life_of(life.first) != life;
    return never_pinned == NeverPinned::kSkipEnded && has_ended;
  };
  std::string text;
  std::set<std::string> counted;
  for (States states(changes); states.next(); text += '\n') {
    for (const std::string& group : states.removed()) {
      if (counted.erase(group) != 0) text += group + '\n';
    }
    for (const auto& [group, cpus] : states.groups()) {
      if (!is_of_container(group)) continue;
      const Life life = states.life_of(group);
      const bool counts =
          pinned.contains(life) ? states.is_pinned(group, cpus, exclusive) : !is_skipped(life);
      if (counts) counted.insert(group);
      if (counted.contains(group)) text += fmt::format("{} {}\n", group, cpus);
    }
  }
  return text;
}

SplitChanges split_changes(const std::string& changes, const std::string& folder) {
  SplitChanges split;
  const std::string prefix = folder.empty() ? "" : folder + "/";
  std::istringstream lines(changes);
  for (std::string line; std::getline(lines, line);) {
    const std::string name = line.substr(0, line.find(' '));
    if (line.empty()) {
      split.below += '\n';
      split.others += '\n';
    } else if (name.starts_with(prefix) && name != prefix &&
               (!folder.empty() || name.find('/') != std::string::npos)) {
      split.below.append(line, prefix.size()) += '\n';
    } else {
      split.others.append("/").append(line) += '\n';
    }
  }
  return split;
}

bool read_state(std::istream& changes, Sets& state) {
  for (std::string line; std::getline(changes, line);) {
    if (line.empty()) return true;
    const std::size_t blank = line.find(' ');
    const std::string name = line.substr(0, blank);
    const auto cpus = CpuSet::parse(blank == std::string::npos ? "" : line.substr(blank + 1));
    // Skip the pod's own group: it has the CPUs of all its containers.
    if (name.find('/') == std::string::npos) continue;
    if (cpus && !cpus->empty()) {
      state[name] = *cpus;
    } else {
      state.erase(name);
    }
  }
  return false;
}

std::set<GroupOverlap> overlaps_in(const Sets& state, const ExclusiveCpus& exclusive) {
  std::set<GroupOverlap> found;
  for (const auto& [group, cpus] : state) {
    for (const std::string& owner : {group, group.substr(0, group.find('/'))}) {
      const auto own = exclusive.find(owner);
      if (own != exclusive.end()) find_overlaps(state, owner, own->second, found);
    }
  }
  return found;
}

std::vector<std::string> overlaps_seen(const std::string& changes, const ExclusiveCpus& exclusive) {
  std::set<std::string> overlaps;
  Sets state;
  std::istringstream lines(changes);
  while (read_state(lines, state)) {
    for (const auto& [group, cpus, owner] : overlaps_in(state, exclusive)) {
      overlaps.insert(fmt::format("{} had CPUs {} of {}", group, cpus, owner));
    }
  }
  return {overlaps.begin(), overlaps.end()};
}

std::vector<CheckedValue> check_disjoint(
    const std::vector<std::pair<std::string, std::string>>& lists) {
  std::vector<CheckedValue> checks;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    for (std::size_t j = i + 1; j < lists.size(); ++j) {
      const auto one = CpuSet::parse(lists[i].second);
      const auto other = CpuSet::parse(lists[j].second);
      std::string observed = "(no list of CPUs)";
      if (one && other) observed = (*one & *other).to_string();
      checks.push_back({fmt::format("{} and {} in common", lists[i].first, lists[j].first), "",
                        observed, observed.empty()});
    }
  }
  return checks;
}

}  // namespace pinfold::harness
