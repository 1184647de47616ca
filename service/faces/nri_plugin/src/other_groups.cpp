#include "other_groups.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

namespace pinfold::nri {
namespace {

constexpr int kMaxDepth = 16;

/// A threaded group does not list its processes, so it counts as having some.
Result<bool> has_processes(const enforce::Group& group) {
  const auto& part = group.cpuset();
  const auto text = part.fs->read(part.path, "cgroup.procs");
  if (text) return text->find_first_not_of(" \n") != std::string::npos;
  if (enforce::is_gone(text.error())) return false;
  if (text.error().sys_errno == EOPNOTSUPP) return true;
  return fail(text.error());
}

struct Walk {
  const OtherSearch& search;
  std::vector<OtherGroup>& found;

  /// `above`: the CPUs of the parent group.
  [[nodiscard]] Result<void> look(const enforce::Group& group, const CpuSet& above,
                                  int depth) const {
    if (search.adopted.contains(group.directory) || depth > kMaxDepth) return {};
    // Without a cpuset the group has the CPUs of its parent.
    const OtherGroup other{group, effective_cpus(group).value_or(above)};
    if (search.wanted(other)) {
      PINFOLD_LET(const bool is_used, has_processes(group));
      if (is_used) found.push_back(other);
    }
    const auto& part = group.cpuset();
    const auto children = part.fs->children(part.path);
    if (!children && enforce::is_gone(children.error())) return {};
    if (!children) return fail(children.error());
    for (const std::string& child : *children) {
      PINFOLD_TRY(look(child_of(group, child), other.cpus, depth + 1));
    }
    return {};
  }
};

}  // namespace

enforce::Group child_of(const enforce::Group& group, const std::string& name) {
  enforce::Group child = group;
  std::string& path = child.parts.front().path;
  path = path.empty() ? name : fmt::format("{}/{}", path, name);
  child.directory += "/" + name;
  child.label = child.directory;
  return child;
}

Result<std::vector<OtherGroup>> find_others(const agent::EnforcedLayout& enforced,
                                            const OtherSearch& search) {
  std::vector<OtherGroup> found;
  const Walk walk{search, found};
  for (const std::string& root : search.roots) {
    auto group = enforced.open_elsewhere(root);
    if (!group && enforce::is_gone(group.error())) continue;
    if (!group) return fail(std::move(group).error());
    PINFOLD_TRY(walk.look(*group, search.without, 0));
  }
  return found;
}

}  // namespace pinfold::nri
