#include "pinfold/enforce/affinity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "pinfold/enforce/group.hpp"
#include "pinfold/enforce/processes.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::enforce {
namespace {

/// Returns true if a process is still in a group, judged by the last component of its path. The
/// full path depends on the mount and the cgroup namespace.
bool is_still_in(const GroupReader& group, const std::string& name, pid_t pid) {
  const std::string path =
      group.process_table()->cpuset_path(pid, group.cpuset().hierarchy->version);
  return path.substr(path.rfind('/') + 1) == name;
}

/// Calls `visit(pid, effective CPUs of its own group)` for the processes of a group and of the
/// groups below it: a container may make cpusets inside its own group.
template <class Visit>
void for_each_process(const GroupReader& group, const CpuSet& above, int depth,
                      const Visit& visit) {
  constexpr int kMaxDepth = 16;
  const CpuSet cpus = effective_cpus(group).value_or(above);  // without a cpuset: as above
  GroupReader own = group;
  own.adopted = nullptr;
  own.parts.resize(1);
  const std::string name = group.directory.substr(group.directory.rfind('/') + 1);
  for (const pid_t pid : processes(own).value_or(std::vector<pid_t>{})) {
    if (is_still_in(group, name, pid)) visit(pid, cpus);
  }
  if (depth == kMaxDepth) return;
  const GroupReader::Part& part = group.cpuset();
  for (const std::string& child :
       part.fs->children(part.path).value_or(std::vector<std::string>{})) {
    GroupReader below = own;
    below.directory += "/" + child;
    below.parts.front().path = part.path.empty() ? child : fmt::format("{}/{}", part.path, child);
    for_each_process(below, cpus, depth + 1, visit);
  }
}

/// Returns the part of a group's CPUs that the threads of a process may run on together.
CpuSet united(const std::vector<CpuSet>& threads, const CpuSet& group) {
  CpuSet all;
  for (const CpuSet& cpus : threads) all |= cpus;
  return all & group;
}

bool is_earlier(const ProcessId& one, const ProcessId& other) {
  return other.pid == 0 ||
         std::pair(one.start_time, one.pid) < std::pair(other.start_time, other.pid);
}

}  // namespace

Affinity affinity_of(const GroupReader& group) {
  const ProcessTable& table = *group.process_table();
  Affinity affinity;
  for_each_process(group, {}, 0, [&](pid_t pid, const CpuSet& cpus) {
    const auto process = table.identify(pid);
    const std::vector<CpuSet> threads = table.allowed_cpus(pid);
    if (!process || threads.empty()) return;
    affinity.threads += threads.size();
    affinity.narrowed += static_cast<std::size_t>(
        std::count_if(threads.begin(), threads.end(),
                      [&](const CpuSet& allowed) { return !allowed.contains_all(cpus); }));
    if (!is_earlier(*process, affinity.main)) return;
    affinity.main = *process;
    affinity.group_cpus = cpus;
    affinity.cpus = united(threads, cpus);
  });
  return affinity;
}

std::string limit_of(const Affinity& affinity) {
  if (!affinity.is_limited()) return "";
  return fmt::format("the CPU affinity of its process {} permits only {}; '{}' widens it",
                     affinity.main.pid, cpus_named(affinity.cpus),
                     widening_command(affinity.main.pid));
}

std::string widening_command(pid_t process) {
  return fmt::format("taskset -apc 0-4095 {}", process);
}

Result<std::vector<pid_t>> widen_affinities(const Group& group, std::optional<pid_t> only) {
  const ProcessTable& table = *group.process_table();
  std::vector<pid_t> widened;
  Result<void> result;
  for_each_process(group, {}, 0, [&](pid_t pid, const CpuSet& cpus) {
    if (only && *only != pid) return;
    const bool was_limited = united(table.allowed_cpus(pid), cpus) != cpus;
    auto done = table.widen_affinity(pid);
    if (done && was_limited) widened.push_back(pid);
    if (!done && done.error().code != ErrorCode::kNotFound) result = std::move(done);
  });
  PINFOLD_TRY(result);
  return widened;
}

}  // namespace pinfold::enforce
