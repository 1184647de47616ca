#include "pinfold/enforce/narrowed.hpp"

#include <fmt/format.h>

#include <functional>

namespace pinfold::enforce {
namespace {

/// Calls `look` for the groups above a directory that have a cpuset, from the bottom up, until it
/// returns false or the hierarchy ends.
void look_above(const Cgroups& cgroups, std::string directory,
                const std::function<bool(const NarrowGroup&)>& look) {
  for (;;) {
    const std::size_t slash = directory.rfind('/');
    if (slash == 0 || slash == std::string::npos) return;
    directory.resize(slash);
    const auto group = cgroups.open_elsewhere(directory);
    if (!group && !is_gone(group.error())) return;  // above the mount
    if (!group) continue;                           // not created yet, or removed meanwhile
    const auto cpus = effective_cpus(*group);
    if (cpus && !look({directory, *cpus, ""})) return;
  }
}

/// Returns the partition directly inside `above` that took some of the CPUs away from `directory`;
/// "" if there is none, or if the cpuset of `above` itself has none of these CPUs.
std::string find_partition(const Cgroups& cgroups, const std::string& above, const CpuSet& cpus,
                           const std::string& directory) {
  const auto group = cgroups.open_elsewhere(above);
  if (!group || !group->is_v2()) return "";
  const CpuSet own = read_set(*group, kCpusFile).value_or(CpuSet());
  const CpuSet taken = own.empty() ? cpus : cpus & own;
  if (taken.empty()) return "";
  const auto& part = group->cpuset();
  for (const std::string& name :
       part.fs->children(part.path).value_or(std::vector<std::string>())) {
    std::string child = fmt::format("{}/{}", above, name);
    if (directory.starts_with(child + "/")) continue;
    const auto other = cgroups.open_elsewhere(child);
    if (!other) continue;
    const auto kind = other->cpuset().fs->read(other->cpuset().path, kPartitionFile);
    if (!kind || (*kind != "root" && *kind != "isolated")) continue;
    const auto has = effective_cpus(*other);
    if (has && has->intersects(taken)) return child;
  }
  return "";
}

}  // namespace

std::optional<CpuSet> cpus_above(const Cgroups& cgroups, const std::string& directory) {
  std::optional<CpuSet> found;
  look_above(cgroups, directory, [&](const NarrowGroup& above) {
    found = above.cpus;
    return false;
  });
  return found;
}

std::optional<NarrowGroup> find_narrow_group(const Cgroups& cgroups, const std::string& directory,
                                             const CpuSet& expected) {
  std::optional<NarrowGroup> found;
  look_above(cgroups, directory, [&](const NarrowGroup& above) {
    if (above.cpus.contains_all(expected)) return false;
    found = above;
    return true;
  });
  if (found) {
    found->partition = find_partition(cgroups, found->directory, expected - found->cpus, directory);
  }
  return found;
}

}  // namespace pinfold::enforce
