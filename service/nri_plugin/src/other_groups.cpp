#include "other_groups.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

namespace pinfold::nri {
namespace {

constexpr int kMaxDepth = 16;

enforce::Group child_of(const enforce::Group& group, const std::string& name) {
  enforce::Group child = group;
  std::string& path = child.parts.front().path;
  path = path.empty() ? name : fmt::format("{}/{}", path, name);
  child.directory += "/" + name;
  child.label = child.directory;
  return child;
}

/// A threaded group does not list its processes: it counts as having some.
Result<bool> has_processes(const enforce::Group& group) {
  const auto& part = group.cpuset();
  const auto text = part.fs->read(part.path, "cgroup.procs");
  if (text) return text->find_first_not_of(" \n") != std::string::npos;
  if (enforce::is_gone(text.error())) return false;
  if (text.error().sys_errno == EOPNOTSUPP) return true;
  return fail(text.error());
}

struct Search {
  const std::set<std::string>& adopted;
  const CpuSet& exclusive;
  std::vector<OtherGroup>& found;

  /// `above`: the CPUs of the group that it is in.
  [[nodiscard]] Result<void> look(const enforce::Group& group, const CpuSet& above,
                                  int depth) const {
    if (adopted.contains(group.directory) || depth > kMaxDepth) return {};
    const CpuSet cpus = effective_cpus(group).value_or(above);  // without a cpuset: as above
    if (cpus.intersects(exclusive)) {
      PINFOLD_LET(const bool is_used, has_processes(group));
      if (is_used) found.push_back({group, cpus});
    }
    const auto& part = group.cpuset();
    const auto children = part.fs->children(part.path);
    if (!children && enforce::is_gone(children.error())) return {};
    if (!children) return fail(children.error());
    for (const std::string& child : *children) {
      PINFOLD_TRY(look(child_of(group, child), cpus, depth + 1));
    }
    return {};
  }
};

}  // namespace

Result<std::vector<OtherGroup>> find_others(const agent::EnforcedLayout& enforced,
                                            const std::set<std::string>& roots,
                                            const std::set<std::string>& adopted,
                                            const CpuSet& exclusive) {
  std::vector<OtherGroup> found;
  if (exclusive.empty()) return found;
  const Search search{adopted, exclusive, found};
  for (const std::string& root : roots) {
    auto group = enforced.open_elsewhere(root);
    if (!group && enforce::is_gone(group.error())) continue;
    if (!group) return fail(std::move(group).error());
    PINFOLD_TRY(search.look(*group, exclusive, 0));
  }
  return found;
}

Result<void> confine(const OtherGroup& other, const CpuSet& allowed) {
  const auto& part = other.group.cpuset();
  const CpuSet left = other.cpus & allowed;
  const CpuSet& target = left.empty() ? allowed : left;
  PINFOLD_TRY(part.fs->write(part.path, enforce::kCpusFile, target.to_string()));
  PINFOLD_LET(const CpuSet has, effective_cpus(other.group));
  if (allowed.contains_all(has)) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("'{}' has CPUs {}, expected {}", other.group.directory, has.to_string(),
                          target.to_string()));
}

}  // namespace pinfold::nri
