// SimulatedNode: foreign agents that write the kubelet's groups, and containers that make groups
// inside their own.

#include <algorithm>
#include <string_view>
#include <utility>

#include "node.hpp"

namespace pinfold::world {
namespace {

using enforce::CgroupVersion;
using Dir = test::ModelKernel::Dir;

constexpr const char* kCpusOfGroup = "cpuset.cpus";
constexpr const char* kNestedGroup = "nested";
constexpr const char* kNoLimit = "9223372036854771712";
constexpr std::uint64_t kMuch = std::uint64_t{1} << 50U;

/// Takes the processes out of a group and out of all groups below it.
void take_processes(Dir& dir, std::set<int>& processes) {
  processes.merge(dir.processes);
  dir.processes.clear();
  for (const auto& [name, child] : dir.children) take_processes(*child, processes);
}

}  // namespace

void SimulatedNode::narrow(const std::string& group, const CpuSet& cpus, bool is_deep) {
  auto* const dir = kernel.find(group);
  if (dir == nullptr) return;
  const Hold hold{cpus, is_deep || kernel.version == CgroupVersion::kV1};
  // cgroup v1 requires larger sets to be written from the top down, and smaller ones from the
  // bottom up.
  widen(group, cpus, hold.is_deep);
  shrink(group, cpus, hold.is_deep);
  const bool is_written = dir->files[kCpusOfGroup] == cpus.to_string();
  if (is_written && !cpus.contains_all(online())) narrowed_[group] = hold;
}

/// Adds CPUs to a group, then to those below it.
void SimulatedNode::widen(const std::string& group, const CpuSet& cpus, bool is_deep) {
  auto* const dir = kernel.find(group);
  if (dir == nullptr) return;
  const auto has = CpuSet::parse(dir->files[kCpusOfGroup]);
  write_cpus(group, has ? *has | cpus : cpus);
  if (!is_deep) return;
  for (const auto& [name, child] : dir->children) widen(group + "/" + name, cpus, is_deep);
}

/// Reduces the groups below a group, then the group.
void SimulatedNode::shrink(const std::string& group, const CpuSet& cpus, bool is_deep) {
  for (const auto& [name, child] : kernel.find(group)->children) {
    if (is_deep) shrink(group + "/" + name, cpus, is_deep);
  }
  write_cpus(group, cpus);
}

/// Writes a cpuset. The kernel refuses some sets; then nothing has changed.
void SimulatedNode::write_cpus(const std::string& group, const CpuSet& cpus) {
  if (kernel.fs()->write(group, kCpusOfGroup, cpus.to_string())) disturbed.insert(group);
}

bool SimulatedNode::is_narrowed(const std::string& group) {
  std::erase_if(narrowed_, [&](const auto& one) { return kernel.find(one.first) == nullptr; });
  return std::any_of(narrowed_.begin(), narrowed_.end(), [&](const auto& one) {
    return group == one.first || group.starts_with(one.first + "/");
  });
}

bool SimulatedNode::has_trouble() { return !narrowed_.empty() || !soft().empty(); }

const std::set<std::string>& SimulatedNode::soft() {
  std::erase_if(soft_, [&](const std::string& group) {
    auto* const dir = kernel.find(group);
    return dir == nullptr || (dir->files["cpu.idle"] != "1" && dir->memory_use == 0);
  });
  return soft_;
}

void SimulatedNode::back_off() {
  for (const auto& [group, hold] : std::exchange(narrowed_, {})) {
    // A cpuset of cgroup v1 cannot contain offline CPUs.
    const bool is_v1 = kernel.version == CgroupVersion::kV1;
    widen(group, is_v1 ? online() : CpuSet::range(0, 7), hold.is_deep);
  }
  for (const std::string& group : std::set(soft())) trouble(group, SoftTrouble::What::kNothing);
}

void SimulatedNode::trouble(const std::string& group, SoftTrouble::What what) {
  auto* const dir = kernel.find(group);
  soft_.erase(group);
  if (dir == nullptr) return;
  const bool is_idle = what == SoftTrouble::What::kIdle || what == SoftTrouble::What::kPodIdle;
  const auto fs = kernel.fs();
  (void)fs->write(group, "cpu.idle", is_idle ? "1" : "0");
  dir->memory_use = 0;
  if (what == SoftTrouble::What::kMemory) {
    (void)fs->write(group, "memory.limit_in_bytes", kNoLimit);
    dir->memory_use = kMuch;
  }
  if (what != SoftTrouble::What::kNothing) soft_.insert(group);
}

void SimulatedNode::nest(const std::string& group, Nested::How how) {
  auto* const dir = kernel.find(group);
  if (dir == nullptr || dir->parent == nullptr) return;
  std::set<int> processes;
  take_processes(*dir, processes);
  if (dir->children.contains(kNestedGroup)) {
    dir->children.clear();
    dir->processes = std::move(processes);
    return;
  }
  if (processes.empty()) return;
  std::string path = group + "/" + kNestedGroup;
  kernel.make_path(path);
  const CpuSet cpus = kernel.effective(*dir, kCpusOfGroup);
  if (how != Nested::How::kOne) {
    const CpuSet first = CpuSet::of(*cpus.begin());
    const bool is_split = how == Nested::How::kTwo && cpus.size() > 1;
    (void)kernel.fs()->write(path, kCpusOfGroup, (is_split ? first : cpus).to_string());
    const std::string second = is_split ? path + "-2" : path + "/inner";
    kernel.make_path(second);
    (void)kernel.fs()->write(second, kCpusOfGroup, (is_split ? cpus - first : cpus).to_string());
    path = second;
  }
  kernel.find(path)->processes = std::move(processes);
}

void SimulatedNode::end_group(const std::string& group) {
  auto* const dir = kernel.find(group);
  if (dir == nullptr || dir->parent == nullptr) return;
  dir->processes.clear();
  dir->children.clear();
}

}  // namespace pinfold::world
