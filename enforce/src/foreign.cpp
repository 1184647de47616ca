#include "pinfold/enforce/foreign.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "pinfold/api/pod.hpp"
#include "pinfold/enforce/nested.hpp"
#include "pinfold/enforce/processes.hpp"

namespace pinfold::enforce {
namespace {

std::string child_of(const std::string& path, const std::string& name) {
  return path.empty() ? name : fmt::format("{}/{}", path, name);
}

/// Returns the group at a path in the cpuset hierarchy.
Group at(const Cgroups& cgroups, const std::string& path) {
  Group group = cgroups.root_group();
  group.parts.resize(1);
  group.parts.front().path = path;
  group.label = path;
  if (!path.empty()) group.directory += "/" + path;
  return group;
}

/// Returns the CPUs of the group, or of the nearest one above it that has a cpuset.
CpuSet cpus_at(const Cgroups& cgroups, std::string path) {
  while (true) {
    if (auto cpus = effective_cpus(at(cgroups, path))) return *std::move(cpus);
    if (path.empty()) return {};
    const std::size_t slash = path.rfind('/');
    path = slash == std::string::npos ? "" : path.substr(0, slash);
  }
}

/// True for an adopted group, and for a group that has one somewhere below it.
bool has_adopted(const Cgroups& cgroups, const std::string& directory) {
  const auto& adopted = cgroups.adopted();
  return std::any_of(adopted.begin(), adopted.end(), [&](const auto& entry) {
    return entry.value == directory || entry.value.starts_with(directory + "/");
  });
}

void add(const Cgroups& cgroups, const std::string& path, bool is_own,
         std::vector<ForeignGroup>& found) {
  const Group group = at(cgroups, path);
  if (!is_own && has_adopted(cgroups, group.directory)) return;
  const auto pids = is_own ? processes(group) : processes_below(group);
  if (is_own && pids && pids->empty()) return;
  ForeignGroup entry{path, group.directory, cpus_at(cgroups, path), 0, is_own};
  if (pids) {
    entry.processes = pids->size();
  } else {
    entry.problem = pids.error().message;
  }
  found.push_back(std::move(entry));
}

}  // namespace

Result<std::vector<ForeignGroup>> find_foreign(const Cgroups& cgroups) {
  std::vector<ForeignGroup> found;
  CgroupFs& fs = *cgroups.root_group().cpuset().fs;
  add(cgroups, "", true, found);
  PINFOLD_LET(const auto groups, fs.children(""));
  for (const std::string& name : groups) {
    const bool is_pod = pod_of_group(name).has_value();
    add(cgroups, name, is_pod, found);
    if (!is_pod) continue;
    const auto containers = fs.children(name);
    if (!containers) continue;  // removed since, or the pod's own problem
    for (const std::string& container : *containers) {
      if (!is_safe_name(container)) add(cgroups, child_of(name, container), false, found);
    }
  }
  return found;
}

Result<void> confine(const Cgroups& cgroups, const ForeignGroup& group, const CpuSet& allowed) {
  const Group target = at(cgroups, group.path);
  const auto has = effective_cpus(target);
  if (!has) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("'{}': it has no cpuset, and cannot be confined", target.directory));
  }
  if (allowed.contains_all(*has)) return {};
  const CpuSet left = *has & allowed;
  return write_set(target, kCpusFile, left.empty() ? allowed : left);
}

}  // namespace pinfold::enforce
