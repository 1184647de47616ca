#include "pinfold/agent/observed_cgroups.hpp"

#include <fmt/format.h>

#include <utility>

#include "pinfold/agent/offline.hpp"
#include "pinfold/enforce/drift.hpp"
#include "pinfold/enforce/narrowed.hpp"
#include "pinfold/enforce/processes.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::agent {
namespace {

using enforce::GroupName;
using enforce::Layout;

enforce::PagesByNode pages_of_all(const std::vector<pid_t>& pids) {
  enforce::PagesByNode pages;
  for (const pid_t pid : pids) {
    for (const auto& [node, bytes] : enforce::pages_of(pid)) pages[node] += bytes;
  }
  return pages;
}

}  // namespace

std::string describe(const enforce::NarrowGroup& group) {
  const std::string why =
      group.partition.empty() ? "" : fmt::format(", as '{}' is a partition", group.partition);
  return fmt::format("'{}' has {}{}", group.directory, cpus_named(group.cpus), why);
}

void add_foreign_drift(const std::vector<enforce::ForeignGroup>& foreign, const Desired& desired,
                       std::vector<std::string>& lines) {
  const CpuSet exclusive = exclusive_cpus(desired);
  for (const enforce::ForeignGroup& group : foreign) {
    const CpuSet overlap = group.cpus & exclusive;
    if (overlap.empty() && !group.problem.empty()) {
      lines.push_back(
          fmt::format("'{}': its processes are unknown: {}", group.directory, group.problem));
    }
    if (overlap.empty()) continue;
    const std::string_view is = one_or_more(overlap, "is", "are");
    const std::string processes =
        group.problem.empty()
            ? fmt::format("{} process{}", group.processes, group.processes == 1 ? "" : "es")
            : fmt::format("its processes are unknown ({})", group.problem);
    lines.push_back(group.is_own
                        ? fmt::format("'{}': {} in this group itself, on {} that {} "
                                      "exclusive to containers: move them into another group",
                                      group.directory, processes, cpus_named(overlap), is)
                        : fmt::format("'{}': a foreign group, {}, on {} that {} exclusive "
                                      "to containers",
                                      group.directory, processes, cpus_named(overlap), is));
  }
}

ObservedCgroups::ObservedCgroups(enforce::Cgroups cgroups, ContainerMap<std::string> adopted)
    : cgroups_(std::move(cgroups)) {
  cgroups_.set_adopted(std::move(adopted));
}

Result<std::string> ObservedCgroups::directory_of_process(pid_t process) const {
  const bool is_v2 = cgroups_.root_group().is_v2();
  return enforce::directory_of_process(
      process, is_v2 ? enforce::CgroupVersion::kV2 : enforce::CgroupVersion::kV1);
}

Result<bool> ObservedCgroups::has_processes(const GroupName& name) const {
  const auto group = cgroups_.group(name);
  if (!group && group.error().code == ErrorCode::kNotFound) return false;
  if (!group) return fail(group.error());
  PINFOLD_LET(const auto pids, processes(*group));
  return !pids.empty();
}

Result<bool> ObservedCgroups::has_group(const GroupName& name) const {
  const auto group = cgroups_.group(name);
  if (!group && group.error().code != ErrorCode::kNotFound) return fail(group.error());
  return group.has_value();
}

bool ObservedCgroups::lists_all_processes() const {
  return cgroups_.root_group().cpuset().hierarchy->lists_all_processes;
}

Result<std::string> ObservedCgroups::check_adoptable(const ContainerId& container,
                                                     const std::string& directory) const {
  PINFOLD_LET(std::string real, cgroups_.check_adoptable(container, directory));
  const std::string has = cgroups_.directory(container);
  if (has == real) return real;
  PINFOLD_LET(const bool is_alive, has_processes(container));
  if (!is_alive) return real;
  return fail(ErrorCode::kBusy,
              fmt::format("container '{}' of pod '{}' already runs in '{}': '{}' belongs to a "
                          "different container, which must have a different name",
                          container.name, container.pod, has, real));
}

Result<ObservedContainer> ObservedCgroups::observe(const ContainerId& container) const {
  PINFOLD_LET(const auto group, cgroups_.group(container));
  ObservedContainer observed;
  PINFOLD_LET(observed.effective_cpus, effective_cpus(group));
  PINFOLD_LET(observed.effective_mems, effective_mems(group));
  PINFOLD_LET(const auto pids, processes(group));
  observed.processes = pids.size();
  if (group.process_table() != nullptr) observed.affinity = affinity_of(group);
  if (const auto quota = read_cpu_quota(group)) observed.quota = *quota;
  observed.quota_above = quota_above(group);
  if (!group.is_this_kernel()) return observed;
  observed.page_placement = enforce::share_on(pages_of_all(pids), observed.effective_mems);
  return observed;
}

/// Returns the quota of the parent group, that of the pod.
std::optional<enforce::CpuQuota> ObservedCgroups::quota_above(
    const enforce::GroupReader& group) const {
  const auto slash = group.directory.rfind('/');
  if (slash == std::string::npos || slash == 0) return std::nullopt;
  const auto above = reader(group.directory.substr(0, slash));
  const auto quota = above ? above->quota() : Result<enforce::CpuQuota>(fail(above.error()));
  return quota ? std::optional(*quota) : std::nullopt;
}

enforce::PagesByNode ObservedCgroups::pages_of(const ContainerId& container) const {
  const auto group = cgroups_.group(container);
  if (!group || !group->is_this_kernel()) return {};
  const auto pids = processes(*group);
  return pids ? pages_of_all(*pids) : enforce::PagesByNode();
}

std::map<GroupName, std::vector<std::string>> ObservedCgroups::find_drift(const Layout& desired,
                                                                          const PodUid& pod) const {
  const Layout observed = cgroups_.observe_pod(pod, desired);
  std::map<GroupName, std::vector<std::string>> found;
  for (auto it = desired.lower_bound(GroupName(pod)); it != desired.end() && it->first.pod == pod;
       ++it) {
    auto lines = enforce::drift_of(it->first, observed, desired);
    if (!lines.empty()) found.emplace(it->first, std::move(lines));
  }
  return found;
}

Result<std::vector<std::string>> ObservedCgroups::find_drift(
    const Desired& desired, const std::vector<enforce::ForeignGroup>& foreign) const {
  PINFOLD_LET_WRAP(const Layout observed, cgroups_.observe(desired.layout),
                   "observe the control groups");
  Layout attainable = desired.layout;
  limit_adopted(desired, observed, attainable, true);
  std::vector<std::string> lines = enforce::drift(observed, attainable);
  for (std::string& line : find_narrowed(desired)) lines.push_back(std::move(line));
  add_foreign_drift(foreign, desired, lines);
  const auto cpus = cgroups_.machine_cpus();
  if (!cpus) {
    const bool is_absent = cpus.error().code == ErrorCode::kNotFound;
    lines.push_back(is_absent ? fmt::format("'{}' does not exist", root()) : cpus.error().message);
  }
  if (cpus && cpus->empty()) lines.push_back(fmt::format("'{}': its cpuset.cpus is empty", root()));
  return lines;
}

std::optional<CpuSet> ObservedCgroups::cpus_above(const std::string& directory) const {
  return enforce::cpus_above(cgroups_, directory);
}

std::string ObservedCgroups::narrowed_by(const std::string& directory,
                                         const CpuSet& expected) const {
  const auto found = enforce::find_narrow_group(cgroups_, directory, expected);
  return found ? describe(*found) : "";
}

std::vector<std::string> ObservedCgroups::find_narrowed(const Desired& desired) const {
  std::vector<std::string> lines;
  for (const auto& [name, settings] : desired.layout) {
    if (name.is_pod() || settings.cpus.empty()) continue;
    const auto group = cgroups_.group(name);
    const auto has = group ? effective_cpus(*group) : Result<CpuSet>(fail(group.error()));
    if (!has || *has == settings.cpus) continue;
    const std::string by = narrowed_by(group->directory, settings.cpus);
    if (by.empty()) continue;
    lines.push_back(fmt::format("{}: runs on {}, expected {}: {}", to_string(name),
                                cpus_named(*has), settings.cpus.to_string(), by));
  }
  return lines;
}

Result<void> ObservedCgroups::verify(const Desired& desired, const ContainerId& container) const {
  PINFOLD_TRY(verify_room(desired, container));
  const auto own = desired.layout.find(container);
  const CpuSet& cpus = own->second.cpus;
  const bool is_shared = own->second.isolation == Isolation::kHost;
  const auto group = cgroups_.group(container);
  const auto has = group ? effective_cpus(*group) : Result<CpuSet>(fail(group.error()));
  if (!has && is_shared && enforce::is_gone(has.error())) return {};
  if (!has) return fail(has.error());
  if (is_shared) {
    const CpuSet taken = *has & exclusive_cpus(desired);
    if (taken.empty()) return {};
    return fail(ErrorCode::kBusy,
                fmt::format("'{}' can run on {}, which {} exclusive to other containers",
                            group->directory, cpus_named(taken), one_or_more(taken, "is", "are")));
  }
  if (*has == cpus) return {};
  const std::string by = narrowed_by(group->directory, cpus);
  return fail(ErrorCode::kBusy,
              fmt::format("'{}' runs on {}, expected {}{}{}", group->directory, cpus_named(*has),
                          cpus.to_string(), by.empty() ? "" : ": ", by));
}

Result<void> ObservedCgroups::verify_room(const Desired& desired,
                                          const ContainerId& container) const {
  const auto own = desired.layout.find(container);
  if (own == desired.layout.end()) {
    return fail(ErrorCode::kNotFound, fmt::format("container '{}' of pod '{}' has no group",
                                                  container.name, container.pod));
  }
  if (own->second.isolation == Isolation::kHost) return {};
  return check_exclusive(desired, *own);
}

Result<CpuSet> ObservedCgroups::effective_above(const std::string& directory) const {
  PINFOLD_LET(const auto above, reader(directory.substr(0, directory.rfind('/'))));
  return above.cpus();
}

/// Checks that no group can run on these CPUs, except this one and groups that may share them.
Result<void> ObservedCgroups::check_exclusive(const Desired& desired,
                                              const Layout::value_type& own) const {
  const CpuSet& cpus = own.second.cpus;
  const auto check = [&](const std::string& directory, const CpuSet& others) -> Result<void> {
    if (!others.intersects(cpus)) return {};
    const CpuSet shared = others & cpus;
    return fail(
        ErrorCode::kBusy,
        fmt::format("'{}' can run on {}, which {} exclusive to '{}'", directory, cpus_named(shared),
                    one_or_more(shared, "is", "are"), to_string(own.first)));
  };
  for (const auto& [name, settings] : desired.layout) {
    if (name.is_pod() || name == own.first) continue;
    const auto other = cgroups_.group(name);
    auto others = other ? effective_cpus(*other) : fail(Error(other.error()));
    if (!others && enforce::is_gone(others.error())) continue;
    // A group that cannot be read has at most the CPUs of the group above it.
    const std::string directory = cgroups_.directory(name);
    if (!others) others = effective_above(directory);
    if (!others) return fail(others.error());
    PINFOLD_TRY(check(directory, *others - settings.cpus));
  }
  PINFOLD_LET(const auto foreign, find_foreign());
  for (const enforce::ForeignGroup& other : foreign) {
    if (other.may_run()) PINFOLD_TRY(check(other.directory, other.cpus));
  }
  return {};
}

/// Returns whether a group has these CPUs. A partition has CPUs that the groups above it lack.
bool ObservedCgroups::has_in_kernel(const GroupName& name, const CpuSet& cpus) const {
  const auto group = cgroups_.group(name);
  const auto has = group ? effective_cpus(*group) : Result<CpuSet>(fail(group.error()));
  return has && has->contains_all(cpus);
}

/// Limits adopted groups to CPUs of the groups above them, which are not Pinfold's and may be
/// narrowed by other programs: cgroup v1 refuses other CPUs. A set without any CPU of the group
/// above would give a container all CPUs of that group; instead it gets CPUs that are not exclusive
/// to any container, or keeps its current ones. Groups that are as desired are only checked if
/// `is_new` (`observed` was just read).
void ObservedCgroups::limit_adopted(const Desired& desired, const Layout& observed, Layout& layout,
                                    bool is_new) const {
  const CpuSet exclusive = exclusive_cpus(desired);
  const bool is_v2 = cgroups_.root_group().is_v2();
  for (auto& [name, settings] : layout) {
    if (settings.cpus.empty() || !cgroups_.is_adopted(name)) continue;
    const bool is_shared = settings.isolation == Isolation::kHost;
    const auto has = observed.find(name);
    const bool is_as_desired = has != observed.end() && has->second.cpus == settings.cpus;
    if (is_as_desired && (is_shared || !is_new)) continue;
    const auto above = cpus_above(cgroups_.directory(name));
    if (!above || above->contains_all(settings.cpus)) continue;
    if (has_in_kernel(name, settings.cpus)) continue;
    const CpuSet both = *above & settings.cpus;
    if (!both.empty()) {
      if (!is_v2 && is_shared) settings.cpus = both;
      continue;
    }
    settings.cpus = *above - exclusive;
    settings.isolation = Isolation::kHost;
    if (settings.cpus.empty()) settings.cpus = has == observed.end() ? *above : has->second.cpus;
    const auto pod = layout.find(name.parent());
    if (pod != layout.end() && !pod->second.cpus.empty()) pod->second.cpus |= settings.cpus;
  }
}

Result<void> ObservedCgroups::check_empty(const std::vector<GroupName>& groups) const {
  for (const GroupName& name : groups) {
    const auto group = cgroups_.group(name);
    if (!group && group.error().code == ErrorCode::kNotFound) continue;
    if (!group) return fail(group.error());
    PINFOLD_LET(const auto pids, processes(*group));
    if (pids.empty()) continue;
    return fail(ErrorCode::kBusy,
                fmt::format("'{}' still has {} process{} ({}{}): stop the container first",
                            to_string(name), pids.size(), pids.size() == 1 ? "" : "es",
                            pids.front(), pids.size() == 1 ? "" : ", ..."));
  }
  return {};
}

}  // namespace pinfold::agent
