#include "pinfold/enforce/group.hpp"

#include <fmt/format.h>

namespace pinfold::enforce {

Result<CpuSet> read_set(const Group& group, const std::string& file) {
  const Group::Part& part = group.cpuset();
  PINFOLD_LET(auto text, part.fs->read(part.path, file));
  auto set = CpuSet::parse(text);
  if (set) return *std::move(set);
  return fail(ErrorCode::kIo, fmt::format("'{}/{}': {}", part.path, file, set.error().message));
}

Result<CpuSet> effective_cpus(const Group& group) {
  return read_set(group, group.is_v2() ? "cpuset.cpus.effective" : "cpuset.effective_cpus");
}

Result<NodeSet> effective_mems(const Group& group) {
  return read_set(group, group.is_v2() ? "cpuset.mems.effective" : "cpuset.effective_mems");
}

}  // namespace pinfold::enforce
