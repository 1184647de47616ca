#include <fmt/format.h>

#include "pinfold/enforce/cgroups.hpp"

/// The part of Cgroups that asks the kernel to keep everybody else off exclusive CPUs.
namespace pinfold::enforce {
namespace {

constexpr const char* kPartition = "cpuset.cpus.partition";
constexpr const char* kExclusive = "cpuset.cpus.exclusive";
constexpr const char* kExclusiveV1 = "cpuset.cpu_exclusive";
constexpr const char* kBalanceV1 = "cpuset.sched_load_balance";
constexpr const char* kMember = "member";

bool owns_cpus(const GroupName& name, const GroupSettings& group) {
  return !name.is_pod() && group.isolation == Isolation::kContainer && !group.cpus.empty();
}

/// Writes what is not so already.
Result<void> set(CgroupFs& fs, const std::string& path, const char* file,
                 const std::string& value) {
  const auto has = fs.read(path, file);
  if (has && *has == value) return {};
  return fs.write(path, file, value);
}

}  // namespace

Result<void> Cgroups::end_partition(const std::string& path) {
  CgroupFs& fs = *hierarchies_.front().fs;
  const auto ignore_absent = [](Result<void> done) {
    return !done && done.error().code == ErrorCode::kNotFound ? Result<void>{} : std::move(done);
  };
  if (!cpuset_is_v2()) {
    PINFOLD_TRY(ignore_absent(set(fs, path, kBalanceV1, "1")));
    return ignore_absent(set(fs, path, kExclusiveV1, "0"));
  }
  const auto is = fs.read(path, kPartition);
  if (is && *is != kMember) {
    PINFOLD_TRY(fs.write(path, kPartition, kMember));
  }
  const auto exclusive = fs.read(path, kExclusive);
  return exclusive && !exclusive->empty() ? fs.write(path, kExclusive, "") : Result<void>{};
}

Result<void> Cgroups::end_partitions(const Layout& observed, const Layout& desired,
                                     Partition kind) {
  for (const bool pods : {false, true}) {  // a pod's after its containers'
    for (const auto& [name, group] : observed) {
      if (name.is_pod() != pods || adopted_.contains(name)) continue;
      const auto desired_one = desired.find(name);
      const bool stays = kind != Partition::kNone && desired_one != desired.end() &&
                         desired_one->second.cpus == group.cpus &&
                         (pods || owns_cpus(name, desired_one->second));
      if (stays) continue;
      PINFOLD_TRY(end_partition(to_string(name)));
    }
  }
  return {};
}

/// "" or the kernel's reason why the group is no partition; then it is as it was.
std::string Cgroups::begin_partition(const GroupName& name, Partition kind) {
  CgroupFs& fs = *hierarchies_.front().fs;
  const std::string path = to_string(name);
  const char* const desired = kind == Partition::kRoot ? "root" : "isolated";
  const auto fall_back = [&](std::string reason) {
    (void)end_partition(path);
    return reason;
  };
  if (!cpuset_is_v2()) {
    for (const std::string& group : {std::string(), to_string(name.parent()), path}) {
      if (auto done = set(fs, group, kExclusiveV1, "1"); !done) {
        return fall_back(std::move(done).error().message);
      }
    }
    if (kind == Partition::kRoot) return "";
    auto done = set(fs, path, kBalanceV1, "0");
    return done ? "" : fall_back(std::move(done).error().message);
  }
  if (auto done = set(fs, path, kPartition, desired); !done) {
    return fall_back(std::move(done).error().message);
  }
  const auto is = fs.read(path, kPartition);
  if (is && *is == desired) return "";
  return fall_back(
      fmt::format("the kernel has '{}' in '{}/{}'", is.value_or("nothing"), path, kPartition));
}

Result<std::map<GroupName, std::string>> Cgroups::begin_partitions(const Layout& desired,
                                                                   Partition kind) {
  std::map<GroupName, std::string> reasons;
  if (kind == Partition::kNone) return reasons;
  // Since Linux 6.7 a group below ordinary ones can be a partition if all groups above it say so,
  // up to the root of the hierarchy.
  std::map<std::string, CpuSet> exclusive = {{"", {}}};
  for (const auto& [name, group] : desired) {
    if (!owns_cpus(name, group) || adopted_.contains(name)) continue;
    exclusive[""] |= group.cpus;
    exclusive[to_string(name.parent())] |= group.cpus;
    exclusive[to_string(name)] |= group.cpus;
  }
  CgroupFs& fs = *hierarchies_.front().fs;
  for (const auto& [path, cpus] : exclusive) {  // a group stands before its children
    if (!cpuset_is_v2() || !fs.read(path, kExclusive)) continue;
    if (auto done = set(fs, path, kExclusive, cpus.to_string()); !done && path.empty()) {
      return fail(std::move(done).error().wrap("exclusive CPUs of the root"));
    }
  }
  for (const auto& [name, group] : desired) {
    if (!owns_cpus(name, group) || adopted_.contains(name)) continue;
    if (std::string reason = begin_partition(name, kind); !reason.empty()) {
      reasons.emplace(name, std::move(reason));
    }
  }
  return reasons;
}

}  // namespace pinfold::enforce
