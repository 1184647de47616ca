#include "seen.hpp"

#include <fmt/format.h>

#include <map>
#include <string_view>

namespace pinfold::world {
namespace {

constexpr const char* kCpusFile = "cpuset.cpus";

CpuSet cpus_of_processes(test::ModelKernel& kernel, const test::ModelKernel::Dir& dir) {
  CpuSet cpus;
  if (!dir.processes.empty()) cpus = kernel.effective(dir, kCpusFile);
  for (const auto& [name, child] : dir.children) cpus |= cpus_of_processes(kernel, *child);
  return cpus;
}

void add_nested(test::ModelKernel& kernel, const test::ModelKernel::Dir& dir, const Seen& around,
                std::vector<Seen>& all) {
  for (const auto& [name, child] : dir.children) {
    Seen one{around.id,
             around.group + "/" + name,
             kernel.effective(*child, kCpusFile),
             is_populated(*child),
             true,
             true};
    all.push_back(one);
    add_nested(kernel, *child, one, all);
  }
}

/// Adds groups in which a process runs, of containers in `adopted` and others.
void add_running(test::ModelKernel& kernel, const test::ModelKernel::Dir& dir,
                 const std::string& path, const std::map<std::string, ContainerId>& adopted,
                 std::vector<Seen>& all) {
  if (const auto id = adopted.find(path); id != adopted.end()) {
    if (!is_populated(dir)) return;
    all.push_back({id->second, path, kernel.effective(dir, kCpusFile), true, true, false,
                   cpus_of_processes(kernel, dir)});
    return add_nested(kernel, dir, Seen(all.back()), all);
  }
  if (!dir.processes.empty()) {
    all.push_back({{PodUid(), path}, path, kernel.effective(dir, kCpusFile), true});
  }
  for (const auto& [name, child] : dir.children) {
    add_running(kernel, *child, path + "/" + name, adopted, all);
  }
}

}  // namespace

std::string group_of_directory(const test::ModelKernel& kernel, const std::string& directory) {
  constexpr std::string_view kModel = "/model/";
  const auto canonical = kernel.canonical(directory);
  return canonical && canonical->starts_with(kModel) ? canonical->substr(kModel.size()) : directory;
}

CpuSet exclusive_in(const agent::AgentState& state) {
  CpuSet cpus;
  for (const auto& entry : state.node.cpu.assignments) cpus |= entry.value;
  return cpus;
}

std::vector<Seen> containers_in(test::ModelKernel& kernel, const agent::AgentState& state) {
  std::vector<Seen> all;
  if (const auto* const pods = kernel.find("kubepods")) {
    std::map<std::string, ContainerId> adopted;
    for (const auto& entry : state.adopted) {
      adopted.emplace(group_of_directory(kernel, entry.value), entry.id());
    }
    add_running(kernel, *pods, "kubepods", adopted, all);
  }
  auto* const root = kernel.find(kRoot);
  if (root == nullptr) return all;
  for (const auto& [pod, dir] : root->children) {
    const auto uid = enforce::pod_of_group(pod);
    if (!uid) continue;
    for (const auto& [name, child] : dir->children) {
      all.push_back({{*uid, name},
                     fmt::format("{}/{}/{}", kRoot, pod, name),
                     kernel.effective(*child, kCpusFile),
                     is_populated(*child),
                     !child->files[kCpusFile].empty(),
                     false,
                     cpus_of_processes(kernel, *child)});
      add_nested(kernel, *child, Seen(all.back()), all);
    }
  }
  return all;
}

}  // namespace pinfold::world
