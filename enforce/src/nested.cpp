#include "pinfold/enforce/nested.hpp"

#include <fmt/format.h>

#include <cerrno>

#include "enable.hpp"

namespace pinfold::enforce {
namespace {

constexpr int kDeepest = 32;

Group below(const Group& group, const std::string& name) {
  Group child = group;
  child.parts.resize(1);
  std::string& path = child.parts.front().path;
  path += (path.empty() ? "" : "/") + name;
  child.label = group.label + "/" + name;
  child.directory = group.directory + "/" + name;
  return child;
}

/// Returns the groups right below; a group that is being removed has none.
std::vector<Group> groups_below(const Group& group, const MayWrite& may_write) {
  std::vector<Group> found;
  const Group::Part& part = group.cpuset();
  const auto names = part.fs->children(part.path);
  for (const std::string& name : names.value_or(std::vector<std::string>())) {
    if (!may_write || may_write(name)) found.push_back(below(group, name));
  }
  return found;
}

/// Writes a set, after reducing the groups below that would make the kernel refuse it: on cgroup
/// v1, and on cgroup v2 of Linux 5.10, a group must keep the CPUs that the groups below list.
class NestedWrite {
 public:
  explicit NestedWrite(std::string file) : file_(std::move(file)) {}

  Result<void> write(const Group& group, const CpuSet& set, const MayWrite& may_write, int depth) {
    PINFOLD_LET(const CpuSet had, read_set(group, file_));
    auto written = write_one(group, set);
    if (written) {
      if (set != had && set.contains_all(had)) widen_below(group, had, set, may_write, depth);
      return {};
    }
    if (written.error().sys_errno != EBUSY || depth == kDeepest) return written;
    const auto groups = groups_below(group, may_write);
    if (groups.empty()) return written;
    // A group must contain those below it at all times, and these may need CPUs that it does not
    // have yet.
    if (!had.contains_all(set)) PINFOLD_TRY(write_one(group, had | set));
    for (const Group& child : groups) PINFOLD_TRY(reduce(child, had, set, depth));
    return write_one(group, set);
  }

 private:
  [[nodiscard]] Result<void> write_one(const Group& group, const CpuSet& set) const {
    return Group::fs(group.cpuset()).write(group.cpuset().path, file_, set.to_string());
  }

  Result<void> reduce(const Group& group, const CpuSet& above, const CpuSet& set, int depth) {
    const auto has = read_set(group, file_);
    if (!has && is_gone(has.error())) return {};
    if (!has) return fail(has.error());
    if (set.contains_all(*has)) return {};
    const CpuSet keeps = *has == above ? set : *has & set;
    auto done = write(group, keeps.empty() ? set : keeps, {}, depth + 1);
    if (done || is_gone(done.error())) return {};
    return fail(std::move(done).error().wrap(
        fmt::format("the group '{}' below it keeps {}", group.directory, has->to_string())));
  }

  /// A group that cannot be widened just runs on fewer CPUs; that harms no other group.
  void widen_below(const Group& group, const CpuSet& had, const CpuSet& set,
                   const MayWrite& may_write, int depth) {
    if (had.empty() || depth == kDeepest) return;
    for (const Group& child : groups_below(group, may_write)) {
      const auto has = read_set(child, file_);
      if (has && *has == had) (void)write(child, set, {}, depth + 1);
    }
  }

  std::string file_;
};

/// On cgroup v2 a partition takes its CPUs away from the groups above it.
Result<void> check_partitions(const Group& group, const CpuSet& set, int depth) {
  if (depth == kDeepest || !is_enabled(group.cpuset(), Controller::kCpuset).value_or(false)) {
    return {};
  }
  for (const Group& child : groups_below(group, {})) {
    const Group::Part& part = child.cpuset();
    const auto kind = part.fs->read(part.path, "cpuset.cpus.partition");
    const auto has = effective_cpus(child);
    const bool is_partition = kind && (*kind == "root" || *kind == "isolated");
    if (is_partition && has && !set.contains_all(*has)) {
      return fail(ErrorCode::kBusy,
                  fmt::format("the partition '{}' below it keeps {}: echo member > "
                              "'{}/cpuset.cpus.partition'",
                              child.directory, has->to_string(), child.directory));
    }
    PINFOLD_TRY(check_partitions(child, set, depth + 1));
  }
  return {};
}

}  // namespace

Result<void> write_set(const Group& group, const std::string& file, const CpuSet& set,
                       const MayWrite& may_write) {
  if (!group.is_v2()) return NestedWrite(file).write(group, set, may_write, 0);
  // Groups below have a cpuset only if the controller is enabled. The groups below a pod are its
  // containers, which have their own steps.
  const Group::Part& part = group.cpuset();
  const bool is_simple =
      may_write || set.empty() || !is_enabled(part, Controller::kCpuset).value_or(false);
  if (is_simple) return Group::fs(part).write(part.path, file, set.to_string());
  PINFOLD_TRY(NestedWrite(file).write(group, set, {}, 0));
  return file == kCpusFile ? check_partitions(group, set, 0) : Result<void>{};
}

}  // namespace pinfold::enforce
