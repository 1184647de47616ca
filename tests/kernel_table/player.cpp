#include "player.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pinfold::test {
namespace {

/// The group that stands for the root of the table. Everything else keeps CPU 7.
constexpr const char* kTop = "table";
constexpr const char* kCpusOfTop = "0-6";

std::string path_of(const std::string& group) {
  return group.empty() ? kTop : fmt::format("{}/{}", kTop, group);
}
/// "A1/A2" is "A2" in the table.
std::string short_name(const std::string& group) { return group.substr(group.rfind('/') + 1); }

}  // namespace

std::string to_string(const Played& played) {
  std::vector<std::string> sets;
  std::vector<std::string> states;
  for (const std::string& group : table_groups()) {
    if (const auto found = played.effective.find(group); found != played.effective.end()) {
      sets.push_back(fmt::format("{}:{}", short_name(group), found->second.to_string()));
    }
    if (const auto found = played.states.find(group); found != played.states.end()) {
      states.push_back(fmt::format("{}:P{}", short_name(group), found->second));
    }
  }
  return fmt::format("{} {} {}", played.failures, fmt::join(sets, ","), fmt::join(states, ","));
}

std::string difference(const TableRow& row, const Played& played) {
  if (row.failures != played.failures) {
    return fmt::format("{} cells failed, expected {}", played.failures, row.failures);
  }
  for (const auto& [group, cpus] : row.effective) {
    const auto has = played.effective.find(group);
    if (has != played.effective.end() && has->second == cpus) continue;
    return fmt::format("effective CPUs of {}: '{}', expected '{}'", group,
                       has == played.effective.end() ? "no file" : has->second.to_string(),
                       cpus.to_string());
  }
  for (const auto& [group, state] : row.states) {
    const auto has = played.states.find(group);
    if (has != played.states.end() && has->second == state) continue;
    return fmt::format("state of {}: {}, expected P{}", group,
                       has == played.states.end() ? "no file" : fmt::format("P{}", has->second),
                       state);
  }
  return "";
}

Player::Player(enforce::CgroupFs& fs, SetOnline set_online)
    : fs_(fs), set_online_(std::move(set_online)) {}

Result<Played> Player::play(const TableRow& row) {
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

Result<void> Player::begin() {
  PINFOLD_TRY(fs_.write("", "cgroup.subtree_control", "+cpuset"));
  PINFOLD_TRY(fs_.make_group(kTop));
  PINFOLD_TRY(fs_.write(kTop, "cpuset.cpus", kCpusOfTop));
  PINFOLD_TRY(fs_.write(kTop, "cpuset.cpus.partition", "root"));
  for (const std::string& group : table_groups()) {
    PINFOLD_TRY(fs_.make_group(path_of(group)));
  }
  return {};
}

Result<void> Player::end() {
  PINFOLD_TRY(fs_.write("", "cgroup.procs", "0"));
  for (const CpuId cpu : CpuSet(offline_)) {
    PINFOLD_TRY(set_online(cpu, true));
  }
  std::vector<std::string> groups = table_groups();
  groups.insert(groups.begin(), "");
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    const std::string path = path_of(*group);
    // Linux frees a removed group some time later; until then others cannot have its CPUs.
    if (fs_.read(path, "cpuset.cpus")) {
      PINFOLD_TRY(fs_.write(path, "cpuset.cpus.partition", "member"));
      PINFOLD_TRY(fs_.write(path, "cpuset.cpus", ""));
    }
    PINFOLD_TRY(fs_.remove_group(path));
  }
  return {};
}

Result<void> Player::act(const TableAction& action) {
  using Kind = TableAction::Kind;
  const std::string path = path_of(action.group);
  switch (action.kind) {
    case Kind::kControllers:
      return fs_.write(path, "cgroup.subtree_control", action.value);
    case Kind::kCpus:
      return fs_.write(path, "cpuset.cpus", action.value);
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
  // The kernel settles cpusets some time later; writing cpuset.cpus waits for that.
  return fs_.write(kTop, "cpuset.cpus", kCpusOfTop);
}

Result<Played> Player::observe() {
  Played played;
  for (const std::string& group : table_groups()) {
    const auto cpus = fs_.read(path_of(group), "cpuset.cpus.effective");
    const auto partition = fs_.read(path_of(group), "cpuset.cpus.partition");
    if (!cpus || !partition) continue;
    PINFOLD_LET(played.effective[group], CpuSet::parse(*cpus));
    PINFOLD_LET(played.states[group], state_of(*partition));
  }
  return played;
}

}  // namespace pinfold::test
