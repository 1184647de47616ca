#include "pinfold/enforce/foreign.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "pinfold/api/pod.hpp"
#include "pinfold/enforce/narrowed.hpp"
#include "pinfold/enforce/nested.hpp"
#include "pinfold/enforce/processes.hpp"
#include "pinfold/types/named.hpp"

// How it works
//
// Foreign groups are found in two places, and opened and written in the same way in both:
// - OwnTree, below the root: the root and each pod's group if they have processes of their own, and
//   every child whose name Pinfold would not give. Such a child and all groups below it are one
//   entry; one with an adopted group inside is left out.
// - OtherTree, below the roots that a runtime uses: every group that has processes and can reach an
//   exclusive CPU is an entry, and the walk continues below it. It ends at an adopted group, whose
//   container's plan covers everything in it.
// "Can reach" is ForeignGroup::reach(): the CPUs that the group has now, or would have if a group
// above it were widened. In doubt a group counts as used: if its processes cannot be listed, or not
// all of them, as with threaded groups.
//
// Cgroups::apply_foreign() executes one step of a plan. It writes the cpuset and then reads the
// effective one, because a successful write may leave more than that: the result counts. A group
// that is gone by then is a success.
//
// Invariants: an adopted group is never written here: of the groups below, write_set() leaves out
// those that are adopted or contain an adopted one (MayWrite). Finding only reads, and nothing here
// decides which CPUs a group should have: plan() does.

namespace pinfold::enforce {
namespace {

/// Adopted groups by directory, so that those in a group follow it.
using Adopted = std::map<std::string, GroupName>;

Adopted adopted_of(const Cgroups& cgroups) {
  Adopted adopted;
  for (const auto& entry : cgroups.adopted()) adopted.emplace(entry.value, GroupName(entry.id()));
  return adopted;
}

/// Returns the adopted groups in a group, or the group itself if it is one.
std::vector<GroupName> adopted_in(const Adopted& adopted, const std::string& directory) {
  std::vector<GroupName> found;
  if (const auto own = adopted.find(directory); own != adopted.end()) found.push_back(own->second);
  const std::string inside = directory + "/";
  for (auto it = adopted.lower_bound(inside); it != adopted.end() && it->first.starts_with(inside);
       ++it) {
    found.push_back(it->second);
  }
  return found;
}

template <class AnyGroup>
AnyGroup child_of(const AnyGroup& group, const std::string& name) {
  AnyGroup child = group;
  child.parts.resize(1);
  std::string& path = child.parts.front().path;
  path = path.empty() ? name : fmt::format("{}/{}", path, name);
  child.directory += "/" + name;
  child.label = child.directory;
  return child;
}

/// Returns whether a group is outside of Pinfold's root.
bool is_elsewhere(const Cgroups& cgroups, const std::string& directory) {
  return directory != cgroups.root() && !directory.starts_with(cgroups.root() + "/");
}

/// Opens a foreign group below the root or elsewhere, to write if `cgroups` is not const. Errors:
/// those of Cgroups::open_elsewhere.
template <class AnyCgroups>
auto open_foreign(AnyCgroups& cgroups, const std::string& directory)
    -> decltype(cgroups.open_elsewhere(directory)) {
  if (is_elsewhere(cgroups, directory)) return cgroups.open_elsewhere(directory);
  const std::string& root = cgroups.root();
  auto group = cgroups.root_group();
  group.parts.resize(1);
  if (directory == root) return group;
  return child_of(group, directory.substr(root.size() + 1));
}

CpuSet chosen_cpus(const GroupReader& group) {
  return read_set(group, kCpusFile).value_or(CpuSet());
}

/// A group that does not list its processes, or not all of them, counts as having some: one that is
/// threaded, and one of cgroup v1 outside of the host's PID namespace.
Result<bool> has_processes(const GroupReader& group) {
  const auto& part = group.cpuset();
  const auto text = part.fs->read(part.path, "cgroup.procs");
  if (text && part.hierarchy->lists_all_processes) {
    return text->find_first_not_of(" \n") != std::string::npos;
  }
  if (text) return true;
  if (is_gone(text.error())) return false;
  if (text.error().sys_errno == EOPNOTSUPP) return true;
  return fail(text.error());
}

/// Walks the groups below the root.
class OwnTree {
 public:
  explicit OwnTree(const Cgroups& cgroups) : adopted_(adopted_of(cgroups)) {}

  /// `above`: the CPUs of the group above.
  void add(const GroupReader& group, const CpuSet& above, bool is_own) {
    auto inside = adopted_in(adopted_, group.directory);
    if (!is_own && !inside.empty()) return;
    const auto pids = is_own ? processes(group) : processes_below(group);
    if (is_own && pids && pids->empty()) return;
    ForeignGroup entry{group.directory, effective_cpus(group).value_or(above),
                       is_own ? CpuSet() : chosen_cpus(group)};
    entry.is_own = is_own;
    entry.above = above;
    entry.inside = std::move(inside);
    if (pids) {
      entry.processes = pids->size();
    } else {
      entry.problem = pids.error().message;
    }
    found.push_back(std::move(entry));
  }

  std::vector<ForeignGroup> found;

 private:
  Adopted adopted_;
};

/// Walks the groups below another root.
struct OtherTree {
  const Adopted& adopted;
  const CpuSet& exclusive;
  bool is_v2;
  std::vector<ForeignGroup>& found;

  [[nodiscard]] Result<void> look(const GroupReader& group, const CpuSet& above, int depth) const {
    constexpr int kDeepestGroup = 16;
    if (adopted.contains(group.directory) || depth > kDeepestGroup) return {};
    // Without a cpuset the group has the CPUs of the one above it.
    ForeignGroup entry{group.directory, effective_cpus(group).value_or(above), chosen_cpus(group)};
    const CpuSet cpus = entry.cpus;
    entry.inside = adopted_in(adopted, group.directory);
    entry.can_grow = is_v2 && entry.inside.empty();
    if (entry.reach(exclusive).intersects(exclusive)) {
      PINFOLD_LET(const bool is_used, has_processes(group));
      entry.processes = is_used ? 1 : 0;
      entry.above = above;
      if (is_used) found.push_back(std::move(entry));
    }
    const auto& part = group.cpuset();
    const auto children = part.fs->children(part.path);
    if (!children && is_gone(children.error())) return {};
    if (!children) return fail(children.error());
    for (const std::string& child : *children) {
      PINFOLD_TRY(look(child_of(group, child), cpus, depth + 1));
    }
    return {};
  }
};

template <class Ids>
auto find_id(const Ids& ids, const std::string& directory) {
  return std::find_if(ids.begin(), ids.end(), [&](const auto& entry) {
    if constexpr (std::is_same_v<std::decay_t<decltype(entry)>, std::string>) {
      return is_group_of(directory, entry);
    } else {
      return is_group_of(directory, entry.first);
    }
  });
}

}  // namespace

std::string kubepods_of(std::string_view directory) {
  for (std::size_t begin = 0; begin < directory.size();) {
    const std::size_t end = std::min(directory.find('/', begin), directory.size());
    const std::string_view part = directory.substr(begin, end - begin);
    if (part == "kubepods" || part == "kubepods.slice" || part.ends_with("-kubepods.slice")) {
      return std::string(directory.substr(0, end));
    }
    begin = end + 1;
  }
  return "";
}

bool is_group_of(std::string_view directory, std::string_view id) {
  std::string_view name = directory;
  name.remove_prefix(name.rfind('/') + 1);
  if (name.ends_with(".scope")) name.remove_suffix(6);
  if (id.empty() || !name.ends_with(id)) return false;
  name.remove_suffix(id.size());
  return name.empty() || name.ends_with('-') || name.ends_with('_');
}

Result<std::vector<ForeignGroup>> find_foreign(const Cgroups& cgroups) {
  OwnTree tree(cgroups);
  GroupReader root = cgroups.root_group();
  root.parts.resize(1);
  CgroupFiles& fs = *root.cpuset().fs;
  const CpuSet all = effective_cpus(root).value_or(CpuSet());
  tree.add(root, all, true);
  PINFOLD_LET(const auto groups, fs.children(""));
  for (const std::string& name : groups) {
    const bool is_pod = pod_of_group(name).has_value();
    const GroupReader group = child_of(root, name);
    tree.add(group, all, is_pod);
    if (!is_pod) continue;
    const auto containers = fs.children(name);
    if (!containers) continue;  // removed since, or the pod's own problem
    const CpuSet cpus = effective_cpus(group).value_or(all);
    for (const std::string& container : *containers) {
      if (!is_safe_name(container)) tree.add(child_of(group, container), cpus, false);
    }
  }
  return std::move(tree.found);
}

Result<std::vector<ForeignGroup>> find_foreign(const Cgroups& cgroups, const ForeignSearch& search,
                                               const CpuSet& exclusive) {
  std::vector<ForeignGroup> found;
  const Adopted adopted = adopted_of(cgroups);
  const OtherTree tree{adopted, exclusive, cgroups.root_group().is_v2(), found};
  for (const std::string& root : search.roots) {
    const auto group = cgroups.open_elsewhere(root);
    if (!group && is_gone(group.error())) continue;
    if (!group) return fail(group.error());
    PINFOLD_TRY(tree.look(*group, cpus_above(cgroups, root).value_or(exclusive), 0));
  }
  for (ForeignGroup& group : found) {
    group.kills = search.is_of_runtime && group.cpus.intersects(exclusive) &&
                  find_id(search.sandboxes, group.directory) == search.sandboxes.end();
  }
  return found;
}

Result<std::optional<ForeignGroup>> read_foreign(const Cgroups& cgroups,
                                                 const std::string& directory) {
  const auto group = open_foreign(cgroups, directory);
  if (!group && is_gone(group.error())) return std::nullopt;
  if (!group) return fail(group.error());
  const auto above = cpus_above(cgroups, directory);
  const auto cpus = effective_cpus(*group);
  if (!cpus && !group->cpuset().fs->children(group->cpuset().path)) return std::nullopt;
  ForeignGroup entry{directory, cpus.value_or(above.value_or(CpuSet())), chosen_cpus(*group)};
  entry.above = above;
  entry.inside = adopted_in(adopted_of(cgroups), directory);
  entry.can_grow =
      is_elsewhere(cgroups, directory) && entry.inside.empty() && cgroups.root_group().is_v2();
  return entry;
}

Result<void> kill_foreign(Cgroups& cgroups, const std::string& directory) {
  constexpr std::chrono::milliseconds kTime(2000);
  PINFOLD_LET(const auto group, open_foreign(cgroups, directory));
  return kill_processes(group, kTime);
}

/// The part of Cgroups::apply for a foreign group.
Result<void> Cgroups::apply_foreign(const Step& step) {
  const auto group = open_foreign(*this, step.directory);
  if (!group && is_gone(group.error())) return {};
  if (!group) return fail(group.error());
  const Adopted adopted = adopted_of(*this);
  const MayWrite may_write = [&](const std::string& name) {
    return adopted_in(adopted, group->directory + "/" + name).empty();
  };
  // All groups of another root are found one by one, those in a group before the group.
  const bool is_alone =
      group->directory.starts_with(root() + "/") && adopted_in(adopted, group->directory).empty();
  auto written = write_set(*group, kCpusFile, step.set, is_alone ? MayWrite() : may_write);
  const auto has = effective_cpus(*group);
  const bool is_there = group->cpuset().fs->children(group->cpuset().path).has_value();
  if (!is_there) return {};
  if (!written) return written;
  if (!has) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("'{}': it has no cpuset, so it cannot be confined", group->directory));
  }
  if (step.set.empty() || step.set.contains_all(*has)) return {};
  return fail(ErrorCode::kUnsupported, fmt::format("'{}' has {}, expected {}", group->directory,
                                                   cpus_named(*has), step.set.to_string()));
}

}  // namespace pinfold::enforce
