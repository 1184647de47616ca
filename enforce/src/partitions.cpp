#include "pinfold/enforce/partitions.hpp"

#include <fmt/format.h>

namespace pinfold::enforce {
namespace {

constexpr const char* kPartition = "cpuset.cpus.partition";
constexpr const char* kExclusive = "cpuset.cpus.exclusive";
constexpr const char* kExclusiveV1 = "cpuset.cpu_exclusive";
constexpr const char* kBalanceV1 = "cpuset.sched_load_balance";
constexpr const char* kMember = "member";

bool has_exclusive_cpus(const GroupName& name, const GroupSettings& settings) {
  return !name.is_pod() && settings.isolation == Isolation::kContainer && !settings.cpus.empty();
}

Result<std::string> read(const Group& group, const char* file) {
  return group.cpuset().fs->read(group.cpuset().path, file);
}
/// Writes a value unless the file has it already.
Result<void> set(const Group& group, const char* file, const std::string& value) {
  const auto has = read(group, file);
  if (has && *has == value) return {};
  return group.cpuset().fs->write(group.cpuset().path, file, value);
}
Result<void> set_if_exists(const Group& group, const char* file, const std::string& value) {
  auto done = set(group, file, value);
  if (!done && done.error().code == ErrorCode::kNotFound) return {};
  return done;
}

Result<void> end_partition(const Group& group) {
  if (!group.is_v2()) {
    PINFOLD_TRY(set_if_exists(group, kBalanceV1, "1"));
    return set_if_exists(group, kExclusiveV1, "0");
  }
  if (read(group, kPartition)) {
    PINFOLD_TRY(set(group, kPartition, kMember));
  }
  return read(group, kExclusive) ? set(group, kExclusive, "") : Result<void>{};
}

/// The kernel's error text is the reason; kUnsupported if it took the value and made it invalid.
Result<void> try_begin(const Group& root, const Group& pod, const Group& group, Partition kind) {
  if (!group.is_v2()) {
    for (const Group* const each : {&root, &pod, &group}) {
      PINFOLD_TRY(set(*each, kExclusiveV1, "1"));
    }
    return kind == Partition::kRoot ? Result<void>{} : set(group, kBalanceV1, "0");
  }
  const char* const desired = kind == Partition::kRoot ? "root" : "isolated";
  PINFOLD_TRY(set(group, kPartition, desired));
  const auto has = read(group, kPartition);
  if (has && *has == desired) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("the kernel has '{}' in '{}/{}'", has.value_or("nothing"),
                          group.cpuset().path, kPartition));
}

/// Since Linux 6.7 a group below ordinary ones can be a partition if all groups above it have its
/// CPUs in cpuset.cpus.exclusive, up to the root of the hierarchy.
Result<void> set_exclusive(Cgroups& cgroups, const Layout& desired) {
  CpuSet of_root;
  std::map<GroupName, CpuSet> of_group;  // a pod is before its containers
  for (const auto& [name, settings] : desired) {
    if (!has_exclusive_cpus(name, settings) || cgroups.is_adopted(name)) continue;
    of_root |= settings.cpus;
    of_group[name.parent()] |= settings.cpus;
    of_group[name] |= settings.cpus;
  }
  const Group root = cgroups.root_group();
  if (!root.is_v2()) return {};
  if (read(root, kExclusive)) {
    PINFOLD_TRY_WRAP(set(root, kExclusive, of_root.to_string()), "exclusive CPUs of the root");
  }
  for (const auto& [name, cpus] : of_group) {
    PINFOLD_LET(const auto group, cgroups.group(name));
    // A refusal shows in the partition itself.
    if (read(group, kExclusive)) (void)set(group, kExclusive, cpus.to_string());
  }
  return {};
}

}  // namespace

Result<void> end_partitions(Cgroups& cgroups, const Layout& observed, const Layout& desired,
                            Partition kind) {
  for (const bool pods : {false, true}) {  // a pod's after its containers'
    for (const auto& [name, settings] : observed) {
      if (name.is_pod() != pods || cgroups.is_adopted(name)) continue;
      const auto next = desired.find(name);
      const bool stays = kind != Partition::kNone && next != desired.end() &&
                         next->second.cpus == settings.cpus &&
                         (pods || has_exclusive_cpus(name, next->second));
      if (stays) continue;
      PINFOLD_LET(const auto group, cgroups.group(name));
      PINFOLD_TRY(end_partition(group));
    }
  }
  return {};
}

Result<std::map<GroupName, std::string>> begin_partitions(Cgroups& cgroups, const Layout& desired,
                                                          Partition kind) {
  std::map<GroupName, std::string> reasons;
  if (kind == Partition::kNone) return reasons;
  PINFOLD_TRY(set_exclusive(cgroups, desired));
  const Group root = cgroups.root_group();
  for (const auto& [name, settings] : desired) {
    if (!has_exclusive_cpus(name, settings) || cgroups.is_adopted(name)) continue;
    PINFOLD_LET(const auto pod, cgroups.group(name.parent()));
    PINFOLD_LET(const auto group, cgroups.group(name));
    auto begun = try_begin(root, pod, group, kind);
    if (begun) continue;
    (void)end_partition(group);
    reasons.emplace(name, std::move(begun).error().message);
  }
  return reasons;
}

}  // namespace pinfold::enforce
