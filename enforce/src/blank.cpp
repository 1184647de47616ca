#include "blank.hpp"

#include <utility>

#include "pinfold/enforce/cgroup_fs.hpp"

namespace pinfold::enforce {

Result<std::optional<std::string>> read_if_exists(const Group::Part& part,
                                                  const std::string& file) {
  auto text = part.fs->read(part.path, file);
  if (text) return *std::move(text);
  if (is_gone(text.error())) return std::nullopt;
  return fail(text.error());
}

Result<bool> is_blank(const Group& group) {
  if (group.is_v2()) return false;
  PINFOLD_LET(const auto cpus, read_if_exists(group.cpuset(), kCpusFile));
  PINFOLD_LET(const auto mems, read_if_exists(group.cpuset(), kMemsFile));
  return cpus.value_or("").empty() || mems.value_or("").empty();
}

void remove_blank(const Group& group) {
  if (!is_blank(group).value_or(false)) return;
  const Group::Part& part = group.cpuset();
  const auto below = part.fs->children(part.path);
  if (!below) return;  // it does not exist
  for (const std::string& child : *below) (void)part.fs->remove_group(part.path + "/" + child);
  (void)part.fs->remove_group(part.path);
}

}  // namespace pinfold::enforce
