#include "pinfold/enforce/partitions.hpp"

#include <fmt/format.h>

#include "pinfold/types/named.hpp"

namespace pinfold::enforce {
namespace {

constexpr const char* kExclusive = "cpuset.cpus.exclusive";
constexpr const char* kExclusiveV1 = "cpuset.cpu_exclusive";
constexpr const char* kBalanceV1 = "cpuset.sched_load_balance";
constexpr const char* kMember = "member";

bool has_exclusive_cpus(const GroupName& name, const GroupSettings& settings) {
  return !name.is_pod() && settings.isolation == Isolation::kContainer && !settings.cpus.empty();
}

Result<std::string> read(const GroupReader& group, const char* file) {
  return group.cpuset().fs->read(group.cpuset().path, file);
}
/// Writes a value unless the file already has it.
Result<void> set(const Group& group, const char* file, const std::string& value) {
  const auto has = read(group, file);
  if (has && *has == value) return {};
  return Group::fs(group.cpuset()).write(group.cpuset().path, file, value);
}
Result<void> set_if_exists(const Group& group, const char* file, const std::string& value) {
  auto done = set(group, file, value);
  if (!done && done.error().code == ErrorCode::kNotFound) return {};
  return done;
}

/// Ends a partition. `kept`: CPUs of partitions below that stay; without these they would end.
Result<void> end_partition(const Group& group, const CpuSet& kept = {}) {
  if (!group.is_v2()) {
    PINFOLD_TRY(set_if_exists(group, kBalanceV1, "1"));
    return set_if_exists(group, kExclusiveV1, "0");
  }
  if (read(group, kPartitionFile)) {
    PINFOLD_TRY(set(group, kPartitionFile, kMember));
  }
  return read(group, kExclusive) ? set(group, kExclusive, kept.to_string()) : Result<void>{};
}

bool has_same_cpus(const Layout& observed, const Layout& desired, const GroupName& name) {
  const auto before = observed.find(name);
  const auto after = desired.find(name);
  return before != observed.end() && after != desired.end() &&
         before->second.cpus == after->second.cpus;
}

/// Returns true if a container's partition can stay. On cgroup v1 its pod is exclusive too, and
/// cannot stop being so before the container does.
bool stays(const Layout& observed, const Layout& desired, const GroupName& name, bool is_v2) {
  return has_same_cpus(observed, desired, name) && has_exclusive_cpus(name, desired.at(name)) &&
         (is_v2 || has_same_cpus(observed, desired, name.parent()));
}

/// Checks that all CPUs of a pod are exclusive. On cgroup v1 no sibling of an exclusive group may
/// use its CPUs, but other pods may use the shared ones.
Result<void> check_pod_v1(const Layout& desired, const GroupName& pod) {
  CpuSet shared = desired.at(pod).cpus;
  for (auto it = desired.upper_bound(pod); it != desired.end() && it->first.pod == pod.pod; ++it) {
    if (has_exclusive_cpus(it->first, it->second)) shared -= it->second.cpus;
  }
  if (shared.empty()) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("its pod also has the shared {}", cpus_named(shared)));
}

/// Begins a partition. Errors: the kernel's; kUnsupported if it accepted the value but made the
/// partition invalid, or gave it fewer CPUs.
Result<void> try_begin(const Group& root, const Group& pod, const Group& group, const CpuSet& cpus,
                       Partition kind) {
  if (!group.is_v2()) {
    for (const Group* const each : {&root, &pod, &group}) {
      PINFOLD_TRY(set(*each, kExclusiveV1, "1"));
    }
    return kind == Partition::kRoot ? Result<void>{} : set(group, kBalanceV1, "0");
  }
  const char* const desired = kind == Partition::kRoot ? "root" : "isolated";
  PINFOLD_TRY(set(group, kPartitionFile, desired));
  const auto has = read(group, kPartitionFile);
  if (!has || *has != desired) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("the kernel has '{}' in '{}/{}'", has.value_or("nothing"),
                            group.cpuset().path, kPartitionFile));
  }
  // Since Linux 7.0 a partition lacks the CPUs that another one has, and is valid.
  PINFOLD_LET(const CpuSet effective, effective_cpus(group));
  if (effective.contains_all(cpus)) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("the partition '{}' lacks {}, which another cgroup has exclusively",
                          group.cpuset().path, cpus_named(cpus - effective)));
}

/// Writes cpuset.cpus.exclusive of every group above a partition, up to the root of the hierarchy:
/// since Linux 6.7 this lets a group below ordinary groups be a partition. If the kernel refuses,
/// beginning the partitions fails.
void set_exclusive(Cgroups& cgroups, const Layout& desired) {
  CpuSet of_root;
  std::map<GroupName, CpuSet> of_group;  // a pod is before its containers
  for (const auto& [name, settings] : desired) {
    if (!has_exclusive_cpus(name, settings) || cgroups.is_adopted(name)) continue;
    of_root |= settings.cpus;
    of_group[name.parent()] |= settings.cpus;
    of_group[name] |= settings.cpus;
  }
  const Group root = cgroups.root_group();
  if (!root.is_v2()) return;
  if (read(root, kExclusive)) (void)set(root, kExclusive, of_root.to_string());
  for (const auto& [name, cpus] : of_group) {
    const auto group = cgroups.group(name);
    if (group && read(*group, kExclusive)) (void)set(*group, kExclusive, cpus.to_string());
  }
}

}  // namespace

std::map<GroupName, Error> end_partitions(Cgroups& cgroups, const Layout& observed,
                                          const Layout& desired, Partition kind) {
  std::map<GroupName, Error> failed;
  const auto end = [&](const GroupName& name, const CpuSet& stay) {
    const auto group = cgroups.group(name);
    auto done = group ? end_partition(*group, stay) : fail(Error(group.error()));
    if (done || is_gone(done.error())) return;
    failed.emplace(name, std::move(done).error().wrap(to_string(name) + ": end the partition"));
  };
  const bool is_v2 = cgroups.root_group().is_v2();
  std::map<GroupName, CpuSet> kept;  // for each pod
  for (const auto& [name, settings] : observed) {
    if (name.is_pod() || cgroups.is_adopted(name)) continue;
    if (kind != Partition::kNone && stays(observed, desired, name, is_v2)) {
      kept[name.parent()] |= settings.cpus;
      continue;
    }
    end(name, {});
  }
  for (const auto& [name, settings] : observed) {  // pods after their containers
    if (!name.is_pod() || (!is_v2 && kept.contains(name))) continue;
    end(name, kept[name]);
  }
  return failed;
}

std::map<GroupName, std::string> begin_partitions(Cgroups& cgroups, const Layout& desired,
                                                  Partition kind) {
  std::map<GroupName, std::string> reasons;
  if (kind == Partition::kNone) return reasons;
  set_exclusive(cgroups, desired);
  const Group root = cgroups.root_group();
  for (const auto& [name, settings] : desired) {
    if (!has_exclusive_cpus(name, settings) || cgroups.is_adopted(name)) continue;
    const auto pod = cgroups.group(name.parent());
    const auto group = cgroups.group(name);
    if (!pod || !group) {
      reasons.emplace(name, (pod ? group : pod).error().message);
      continue;
    }
    auto begun = group->is_v2() ? Result<void>{} : check_pod_v1(desired, name.parent());
    if (begun) begun = try_begin(root, *pod, *group, settings.cpus, kind);
    if (begun) continue;
    (void)end_partition(*group);  // the reason says enough, so a failure here is not reported
    reasons.emplace(name, std::move(begun).error().message);
  }
  return reasons;
}

}  // namespace pinfold::enforce
