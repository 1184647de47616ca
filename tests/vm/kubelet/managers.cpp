#include "managers.hpp"

#include <cstddef>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "pinfold/base/read_file.hpp"
#include "pinfold/decide/stale.hpp"

namespace pinfold::test {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> read_state(const fs::path& file) {
  auto text = read_file(file.string());
  if (!text) return std::nullopt;
  return std::move(*text);
}

void write_state(const fs::path& file, const std::optional<std::string>& text) {
  if (!text || read_state(file) == text) return;
  const fs::path draft = file.parent_path() / ("." + file.filename().string());
  std::ofstream(draft, std::ios::binary) << *text;
  std::error_code ignored;
  fs::rename(draft, file, ignored);
}

/// Returns the entries that two states have in common.
template <class Map>
Map in_both(const Map& before, Map after) {
  after.erase_if([&](const auto& entry) {
    const auto* const known = before.find(entry.id());
    return known == nullptr || *known != entry.value;
  });
  return after;
}

/// Returns the states that a kubelet writes, one after the other, when a change affects one
/// container: the CPU manager and the memory manager write their file twice each. After the first
/// write the CPUs that change hands are neither shared nor a container's; the memory is counted for
/// a container that has none, or no longer counted for one that has.
/// Source: kubelet v1.36.2 cpumanager policy_static.go, memorymanager policy_static.go.
std::vector<NodeState> writes_of(const NodeState& before, const NodeState& after) {
  std::vector<NodeState> writes(4, before);
  CpuState& half = writes[0].cpu;
  half.default_set = before.cpu.default_set & after.cpu.default_set;
  half.assignments = in_both(before.cpu.assignments, after.cpu.assignments);
  for (std::size_t i = 1; i < writes.size(); ++i) writes[i].cpu = after.cpu;
  MemoryState& memory = writes[2].memory;
  memory.assignments = in_both(before.memory.assignments, after.memory.assignments);
  const bool takes = memory.assignments != after.memory.assignments;
  if (takes) memory.machine_state = after.memory.machine_state;
  writes[3] = after;
  return writes;
}

}  // namespace

tl::expected<Managers, StartError> Managers::start(Node node, fs::path folder) {
  Managers managers(std::move(node), std::move(folder));
  managers.files_ = {read_state(managers.folder_ / checkpoint::kCpuFileName),
                     read_state(managers.folder_ / checkpoint::kMemoryFileName)};
  auto state = checkpoint::start(managers.node_, managers.files_, {}, managers.folder_.string());
  managers.save();  // a failed start has changed them too
  if (!state) return tl::unexpected(state.error());
  managers.state_ = std::move(*state);
  managers.state_.held = stale_pods(managers.state_);  // their manifests are read next
  return managers;
}

std::optional<Rejection> Managers::admit(const PodSpec& pod) {
  NodeState without_removed = state_;
  release_stale_memory(node_, without_removed);
  commit(without_removed);
  Decision decision =
      decide(node_, state_, pod, nullptr, nullptr, AdmissionChecks::kManagersAndRequests);
  if (auto* rejected = std::get_if<Rejected>(&decision)) {
    commit(rejected->next);
    return rejected->why;
  }
  NodeState next = std::move(std::get<Admitted>(decision).next);
  for (const Container& container : pod.containers) {
    (void)start_in_place(node_, next, {pod.uid, container.name});
  }
  commit(next);
  return std::nullopt;
}

void Managers::remove(const PodUid& pod) {
  NodeState next = state_;
  if (const auto found = next.pods.find(pod); found != next.pods.end()) next.pods.erase(found);
  release_stale_cpus(node_, next);
  commit(next);
}

void Managers::release_others() {
  NodeState next = state_;
  next.held.clear();
  release_stale_cpus(node_, next);
  commit(next);
}

void Managers::commit(const NodeState& next) {
  for (NodeState& step : writes_of(state_, next)) {
    checkpoint::update(node_, state_, step, files_);
    state_ = std::move(step);
    save();
  }
}

void Managers::save() const {
  write_state(folder_ / checkpoint::kCpuFileName, files_.cpu);
  write_state(folder_ / checkpoint::kMemoryFileName, files_.memory);
}

}  // namespace pinfold::test
