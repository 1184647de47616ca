#include "player.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pinfold::test {
namespace {

/// The group used as the root of the table, unless that is the machine's root.
constexpr const char* kTop = "table";
constexpr const char* kCpusOfPartition = "0-6";  // everything else keeps CPU 7
constexpr const char* kCpusOfRemote = "1-7";

/// The group around this one; "" for one directly in the root of the table.
std::string above(const std::string& group) {
  const std::size_t slash = group.rfind('/');
  return slash == std::string::npos ? "" : group.substr(0, slash);
}
/// "A1/A2" is "A2" in the table.
std::string short_name(const std::string& group) { return group.substr(group.rfind('/') + 1); }

using Sets = std::map<std::string, CpuSet>;  ///< by group

std::string difference_of_sets(std::string_view what, const Sets& expected, const Sets& played) {
  for (const auto& [group, cpus] : expected) {
    const auto has = played.find(group);
    if (has != played.end() && has->second == cpus) continue;
    return fmt::format("{} of {}: '{}', expected '{}'", what, group,
                       has == played.end() ? "no file" : has->second.to_string(), cpus.to_string());
  }
  return "";
}

}  // namespace

bool same_groups(const Played& one, const Played& other) {
  return one.failures == other.failures && one.effective == other.effective &&
         one.exclusive == other.exclusive && one.states == other.states;
}

std::string to_string(const Played& played) {
  std::vector<std::string> sets;
  std::vector<std::string> states;
  for (const auto& [group, cpus] : played.effective) {
    sets.push_back(fmt::format("{}:{}", short_name(group), cpus.to_string()));
  }
  for (const auto& [group, cpus] : played.exclusive) {
    sets.push_back(fmt::format("X{}:{}", short_name(group), cpus.to_string()));
  }
  for (const auto& [group, state] : played.states) {
    states.push_back(fmt::format("{}:P{}", short_name(group), state));
  }
  return fmt::format("{} {} {}{}", played.failures, fmt::join(sets, ","), fmt::join(states, ","),
                     played.isolated ? " " + played.isolated->to_string() : "");
}

std::string difference(const TableRow& row, const Played& played) {
  if (row.failures != played.failures) {
    return fmt::format("{} cells failed, expected {}", played.failures, row.failures);
  }
  std::string found = difference_of_sets("effective CPUs", row.effective, played.effective);
  if (found.empty()) {
    found = difference_of_sets("effective exclusive CPUs", row.exclusive, played.exclusive);
  }
  if (!found.empty()) return found;
  for (const auto& [group, state] : row.states) {
    const auto has = played.states.find(group);
    if (has != played.states.end() && has->second == state) continue;
    return fmt::format("state of {}: {}, expected P{}", group,
                       has == played.states.end() ? "no file" : fmt::format("P{}", has->second),
                       state);
  }
  if (!row.isolated || row.isolated == played.isolated) return "";
  return fmt::format("isolated CPUs: '{}', expected '{}'",
                     played.isolated ? played.isolated->to_string() : "no file",
                     row.isolated->to_string());
}

Player::Player(enforce::CgroupFs& fs, SetOnline set_online)
    : fs_(fs), set_online_(std::move(set_online)) {}

Result<Played> Player::play(const TableRow& row) {
  kind_ = row.kind;
  const auto run = [&]() -> Result<Played> {
    PINFOLD_TRY(begin());
    for (const auto& cell : row.before) {
      for (const TableAction& action : cell) {
        PINFOLD_TRY(act(action));
      }
    }
    int failures = 0;
    for (const auto& cell : row.after) {
      failures += static_cast<int>(std::count_if(cell.begin(), cell.end(), [&](const auto& action) {
                                     return !act(action);
                                   }) > 0);
    }
    PINFOLD_LET(Played played, observe());
    played.failures = failures;
    return played;
  };
  auto played = run();
  PINFOLD_TRY_WRAP(end(), "clean up");
  return played;
}

std::string Player::path_of(const std::string& group) const {
  if (kind_ == TableKind::kAtRoot) return group;
  return group.empty() ? kTop : fmt::format("{}/{}", kTop, group);
}

Result<void> Player::begin() {
  PINFOLD_TRY(fs_.write("", "cgroup.subtree_control", "+cpuset"));
  if (kind_ != TableKind::kAtRoot) PINFOLD_TRY(make_top());
  for (const std::string& group : table_groups(kind_)) {
    const std::string parent = path_of(above(group));
    // In Linux 6.1's table an action says where there are cpusets.
    if (kind_ != TableKind::kInPartition) {
      PINFOLD_TRY(fs_.write(parent, "cgroup.subtree_control", "+cpuset"));
    }
    PINFOLD_TRY(fs_.make_group(path_of(group)));
  }
  return {};
}

Result<void> Player::make_top() {
  PINFOLD_TRY(fs_.make_group(kTop));
  if (kind_ == TableKind::kInPartition) {
    PINFOLD_TRY(fs_.write(kTop, "cpuset.cpus", kCpusOfPartition));
    return fs_.write(kTop, "cpuset.cpus.partition", "root");
  }
  PINFOLD_TRY(fs_.write(kTop, "cpuset.cpus", kCpusOfRemote));
  return fs_.write(kTop, "cpuset.cpus.exclusive", kCpusOfRemote);
}

Result<void> Player::end() {
  PINFOLD_TRY(fs_.write("", "cgroup.procs", "0"));
  for (const CpuId cpu : CpuSet(offline_)) {
    PINFOLD_TRY(set_online(cpu, true));
  }
  std::vector<std::string> groups = table_groups(kind_);
  if (kind_ != TableKind::kAtRoot) groups.insert(groups.begin(), "");
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    PINFOLD_TRY(give_back_cpus(path_of(*group)));
    PINFOLD_TRY(fs_.remove_group(path_of(*group)));
  }
  return {};
}

Result<void> Player::give_back_cpus(const std::string& path) {
  if (!fs_.read(path, "cpuset.cpus")) return {};
  PINFOLD_TRY(fs_.write(path, "cpuset.cpus.partition", "member"));
  if (kind_ != TableKind::kInPartition) PINFOLD_TRY(fs_.write(path, "cpuset.cpus.exclusive", ""));
  return fs_.write(path, "cpuset.cpus", "");
}

Result<void> Player::act(const TableAction& action) {
  using Kind = TableAction::Kind;
  const std::string path = path_of(action.group);
  switch (action.kind) {
    case Kind::kControllers:
      return fs_.write(path, "cgroup.subtree_control", action.value);
    case Kind::kCpus:
      return fs_.write(path, "cpuset.cpus", action.value);
    case Kind::kExclusive:
      return fs_.write(path, "cpuset.cpus.exclusive", action.value);
    case Kind::kPartition:
      return fs_.write(path, "cpuset.cpus.partition", action.value);
    case Kind::kProcess:
      return fs_.write(path, "cgroup.procs", action.value);
    case Kind::kOnline:
      return set_online(CpuId{std::stoi(action.value)}, action.value.ends_with("-1"));
  }
  return {};
}

Result<void> Player::set_online(CpuId cpu, bool online) {
  PINFOLD_TRY(set_online_(cpu, online));
  online ? offline_.erase(cpu) : offline_.insert(cpu);
  if (kind_ != TableKind::kInPartition) return {};
  // Linux 6.1 settles cpusets some time later; writing cpuset.cpus waits for that.
  return fs_.write(kTop, "cpuset.cpus", kCpusOfPartition);
}

Result<Played> Player::observe() {
  Played played;
  for (const std::string& group : table_groups(kind_)) {
    const auto cpus = fs_.read(path_of(group), "cpuset.cpus.effective");
    const auto partition = fs_.read(path_of(group), "cpuset.cpus.partition");
    if (!cpus || !partition) continue;
    PINFOLD_LET(played.effective[group], CpuSet::parse(*cpus));
    PINFOLD_LET(played.states[group], state_of(*partition));
    if (kind_ == TableKind::kInPartition) continue;
    PINFOLD_LET(const auto exclusive, fs_.read(path_of(group), "cpuset.cpus.exclusive.effective"));
    PINFOLD_LET(played.exclusive[group], CpuSet::parse(exclusive));
  }
  if (kind_ == TableKind::kInPartition) return played;
  PINFOLD_LET(const auto isolated, fs_.read("", "cpuset.cpus.isolated"));
  PINFOLD_LET(played.isolated, CpuSet::parse(isolated));
  return played;
}

}  // namespace pinfold::test
