#include "blank.hpp"

#include <utility>

#include "pinfold/enforce/cgroup_fs.hpp"
#include "pinfold/enforce/cgroups.hpp"

namespace pinfold::enforce {

Result<std::optional<std::string>> read_if_exists(const GroupReader::Part& part,
                                                  const std::string& file) {
  auto text = part.fs->read(part.path, file);
  if (text) return *std::move(text);
  if (is_gone(text.error())) return std::nullopt;
  return fail(text.error());
}

namespace {

/// Returns true if a cgroup v1 group has neither CPUs nor memory nodes.
Result<bool> is_part_blank(const GroupReader::Part& part) {
  PINFOLD_LET(const auto cpus, read_if_exists(part, kCpusFile));
  PINFOLD_LET(const auto mems, read_if_exists(part, kMemsFile));
  return cpus.value_or("").empty() || mems.value_or("").empty();
}

}  // namespace

Result<bool> is_blank(const GroupReader& group) {
  if (group.is_v2()) return false;
  return is_part_blank(group.cpuset());
}

namespace {

/// Removes the group and its direct children. Anything that cannot be removed is left.
void remove_if_blank(const Group& group) {
  if (!is_blank(group).value_or(false)) return;
  const Group::Part& part = group.cpuset();
  const auto below = part.fs->children(part.path);
  if (!below) return;  // the group does not exist
  for (const std::string& name : *below) {
    Group::Part child = part;
    child.path += "/" + name;
    if (is_part_blank(child).value_or(false)) (void)Group::fs(part).remove_group(child.path);
  }
  (void)Group::fs(part).remove_group(part.path);
}

}  // namespace

void remove_leftovers(Cgroups& cgroups, const Layout& before, const Layout& after) {
  for (const auto& adopted : cgroups.adopted()) cgroups.remove_replaced(adopted.id());
  for (const auto& [name, settings] : after) {
    if (before.contains(name) || cgroups.is_adopted(name)) continue;
    if (const auto group = cgroups.group(name)) remove_if_blank(*group);
  }
}

}  // namespace pinfold::enforce
