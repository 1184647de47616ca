#include "pinfold/enforce/group.hpp"

#include <fmt/format.h>

namespace pinfold::enforce {

Result<CpuSet> read_set(const GroupReader& group, const std::string& file) {
  const GroupReader::Part& part = group.cpuset();
  PINFOLD_LET(auto text, part.fs->read(part.path, file));
  auto set = CpuSet::parse(text);
  if (set) return *std::move(set);
  return fail(ErrorCode::kIo, fmt::format("'{}/{}': {}", part.path, file, set.error().message));
}

Result<CpuSet> effective_cpus(const GroupReader& group) {
  return read_set(group, group.is_v2() ? "cpuset.cpus.effective" : "cpuset.effective_cpus");
}

Result<NodeSet> effective_mems(const GroupReader& group) {
  return read_set(group, group.is_v2() ? "cpuset.mems.effective" : "cpuset.effective_mems");
}

Result<CpuSet> GroupReader::cpus() const { return effective_cpus(*this); }

Result<NodeSet> GroupReader::mems() const { return effective_mems(*this); }

}  // namespace pinfold::enforce
