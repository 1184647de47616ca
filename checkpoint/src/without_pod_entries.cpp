#include "pinfold/checkpoint/without_pod_entries.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "pinfold/types/named.hpp"

namespace pinfold::checkpoint {
namespace {

/// Returns the containers that share CPUs with other containers of the pod.
std::vector<std::string> sharing(const std::map<std::string, CpuSet>& containers) {
  std::vector<std::string> names;
  for (const auto& [name, cpus] : containers) {
    const bool shares =
        std::any_of(containers.begin(), containers.end(), [&, &self = name](const auto& other) {
          return other.first != self && other.second.intersects(containers.at(self));
        });
    if (shares) names.push_back(name);
  }
  return names;
}

using Sizes = std::map<std::string, std::uint64_t>;  // container to bytes of one resource

/// Divides `total` among the containers. Containers that share a pool each have the size of the
/// whole pool: all but one of them get 0. If no number of such containers explains the total
/// (because of init containers), the smallest containers come first.
Sizes counted_once(Sizes sizes, std::uint64_t total) {
  std::uint64_t sum = 0;
  for (const auto& [name, size] : sizes) sum += size;
  for (const auto& [owner, pool] : Sizes(sizes)) {
    if (sum <= total || pool == 0) break;
    const std::uint64_t others = (sum - total) / pool;
    const auto alike = std::count_if(sizes.begin(), sizes.end(),
                                     [size = pool](const auto& s) { return s.second == size; });
    if ((sum - total) % pool != 0 || others >= static_cast<std::uint64_t>(alike)) continue;
    std::uint64_t left = others;
    for (auto it = sizes.rbegin(); it != sizes.rend() && left > 0; ++it) {
      if (it->second != pool) continue;
      it->second = 0;
      --left;
    }
    return sizes;
  }
  std::vector<std::pair<std::uint64_t, std::string>> order;
  for (const auto& [name, size] : sizes) order.emplace_back(size, name);
  std::sort(order.begin(), order.end());
  for (const auto& [size, name] : order) {
    sizes[name] = std::min(size, total);
    total -= sizes[name];
  }
  return sizes;
}

std::string amount(std::uint64_t bytes, const std::string& type) {
  return fmt::format("{} of {}", bytes_named(bytes), type);
}

/// Reduces the sizes of a pod's containers until they fit into the pod's blocks.
void spread(const PodUid& pod, const std::vector<MemoryBlock>& reserved,
            std::map<std::string, std::vector<MemoryBlock>>& containers, std::vector<Note>& lost) {
  for (const MemoryBlock& block : reserved) {
    Sizes before;
    for (const auto& [name, blocks] : containers) {
      for (const MemoryBlock& own : blocks) {
        if (own.type == block.type) before[name] += own.size;
      }
    }
    const Sizes after = counted_once(before, block.size);
    std::uint64_t counted = 0;
    for (auto& [name, blocks] : containers) {
      std::uint64_t rest = before.contains(name) ? after.at(name) : 0;
      for (MemoryBlock& own : blocks) {
        if (own.type != block.type) continue;
        const std::uint64_t had = std::exchange(own.size, std::min(own.size, rest));
        rest -= own.size;
        counted += own.size;
        if (own.size == had) continue;
        lost.push_back({to_string(ContainerId{pod, name}),
                        fmt::format("{} that it shares with its pod: stays on {}, counted as {}",
                                    amount(had, block.type), numa_nodes_named(own.numa_affinity),
                                    bytes_named(own.size))});
      }
    }
    if (counted < block.size) {
      lost.push_back({pod.value, fmt::format("{} that no container holds: released",
                                             amount(block.size - counted, block.type))});
    }
  }
}

}  // namespace

ContainersOnly<CpuCheckpoint> without_pod_entries(CpuCheckpoint state) {
  std::vector<Note> lost;
  CpuSet held;
  for (const auto& [pod, name, cpus] : state.assignments) held |= cpus;
  for (const auto& [pod, cpus] : state.pods) {
    lost.push_back(
        {pod.value, fmt::format("{} as one reservation: a container that ends returns its "
                                "CPUs to the node instead of the pod",
                                cpus_named(cpus))});
    if (const CpuSet left = cpus - held; !left.empty()) {
      lost.push_back(
          {pod.value, fmt::format("{} that no container holds: returned to the shared pool",
                                  cpus_named(left))});
      state.default_set |= left;
    }
    const auto* const containers = state.assignments.find(pod);
    if (containers == nullptr) continue;
    if (const auto names = sharing(*containers); !names.empty()) {
      lost.push_back(
          {pod.value, fmt::format("that its containers {} share CPUs: each keeps them, counts "
                                  "as their exclusive owner, and gets no CFS quota when it "
                                  "starts again",
                                  fmt::join(names, ", "))});
    }
  }
  state.pods.clear();
  return {std::move(state), std::move(lost)};
}

ContainersOnly<MemoryCheckpoint> without_pod_entries(MemoryCheckpoint state) {
  std::vector<Note> lost;
  if (state.pods.empty()) return {std::move(state), std::move(lost)};
  for (const auto& [pod, reserved] : state.pods) {
    std::map<std::string, std::vector<MemoryBlock>> none;
    const bool has_containers = state.assignments.contains(pod);
    spread(pod, reserved, has_containers ? state.assignments[pod] : none, lost);
  }
  state.pods.clear();
  return {count_again(std::move(state), false), std::move(lost)};
}

}  // namespace pinfold::checkpoint
