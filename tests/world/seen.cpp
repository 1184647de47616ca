#include "seen.hpp"

#include <fmt/format.h>

#include <map>

namespace pinfold::world {
namespace {

constexpr const char* kCpusFile = "cpuset.cpus";

/// Groups in which a process runs, of containers that `adopted` names and of others.
void add_running(test::ModelKernel& kernel, const test::ModelKernel::Dir& dir,
                 const std::string& path, const std::map<std::string, ContainerId>& adopted,
                 std::vector<Seen>& all) {
  const auto id = adopted.find(path);
  if (!dir.processes.empty()) {
    all.push_back({id == adopted.end() ? ContainerId{PodUid(), path} : id->second, path,
                   kernel.effective(dir, kCpusFile), true});
  }
  for (const auto& [name, child] : dir.children) {
    add_running(kernel, *child, path + "/" + name, adopted, all);
  }
}

}  // namespace

std::vector<Seen> containers_in(test::ModelKernel& kernel, const agent::AgentState& state) {
  std::vector<Seen> all;
  if (const auto* const pods = kernel.find("kubepods")) {
    constexpr std::size_t kBelow = 7;  // "/model/"
    std::map<std::string, ContainerId> adopted;
    for (const auto& entry : state.adopted) adopted.emplace(entry.value.substr(kBelow), entry.id());
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
                     !child->processes.empty(),
                     !child->files[kCpusFile].empty()});
    }
  }
  return all;
}

}  // namespace pinfold::world
