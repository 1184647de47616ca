#include "memory_ties.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "pinfold/api/pod_level.hpp"
#include "pinfold/types/named.hpp"
#include "words.hpp"

namespace pinfold::explain_detail {
namespace {

constexpr std::size_t kMostHolders = 2;

/// Returns the memory at the failed step: with what earlier containers of the pod have taken.
/// Under pod scope a pod of only these containers might be elsewhere, so they do not count.
MemoryState memory_at_step(const Failure& failure) {
  const TopologyManager& topology = failure.node.topology();
  const bool is_by_container =
      topology.policy() == TopologyPolicy::kNone || topology.scope() == TopologyScope::kContainer;
  if (failure.is_whole_pod() || !is_by_container) return failure.state.memory;
  PodSpec before = failure.pod;
  const auto failed = std::find_if(
      before.containers.begin(), before.containers.end(),
      [&](const Container& container) { return container.name == failure.step.object; });
  before.containers.erase(failed, before.containers.end());
  if (before.containers.empty()) return failure.state.memory;
  Decision decision = decide(failure.node, failure.state, before);
  auto* const admitted = std::get_if<Admitted>(&decision);
  if (admitted == nullptr) return failure.state.memory;
  return std::move(admitted->next.memory);
}

bool needs_memory(const Failure& failure) {
  return std::any_of(failure.amounts.begin(), failure.amounts.end(),
                     [](const Amounts& amounts) { return is_memory_resource(amounts.resource); });
}

using HoldersBySet = std::map<std::vector<std::int32_t>, std::set<std::string>>;

void add_holders(const Failure& failure, const PodUid& uid, const std::vector<MemoryBlock>& blocks,
                 HoldersBySet& out) {
  const bool is_own = uid == failure.pod.uid;
  for (const MemoryBlock& block : blocks) {
    out[block.numa_affinity].insert(is_own ? "its earlier containers"
                                           : name_of(failure.state, uid));
  }
}

}  // namespace

std::vector<MemoryTie> find_ties(const Failure& failure) {
  std::vector<MemoryTie> ties;
  if (!needs_memory(failure)) return ties;
  const MemoryState memory = memory_at_step(failure);
  HoldersBySet by_set;
  for (const auto& [uid, blocks] : memory.pods) add_holders(failure, uid, blocks, by_set);
  for (const auto& [uid, containers] : memory.assignments.by_pod()) {
    for (const auto& [name, blocks] : containers) add_holders(failure, uid, blocks, by_set);
  }
  for (const auto& [numa_nodes, holders] : by_set) {
    ties.push_back({numa_nodes, {holders.begin(), holders.end()}});
  }
  return ties;
}

std::string set_of(const MemoryTie& tie) {
  return fmt::format("{} {}", numa_nodes(tie.numa_nodes),
                     tie.numa_nodes.size() == 1 ? "alone" : "together");
}

std::string describe(const MemoryTie& tie) {
  const auto names = first_named(tie.holders, kMostHolders, "more pods");
  const bool is_one = names.size() == 1 && names.front() != "its earlier containers";
  return fmt::format("{} {} memory on {}", listed(names), is_one ? "has" : "have", set_of(tie));
}

std::vector<std::int32_t> serving_nodes(const Failure& failure) {
  const PodView pod(failure.pod);
  const MemoryState state = memory_at_step(failure);
  const MemoryManager& memory = failure.node.memory();
  const Container* const container = failure.container();
  const ResourceHints hints = container == nullptr ? memory.pod_hints(state, pod)
                                                   : memory.container_hints(state, pod, *container);
  std::optional<NumaMask> best;
  for (const auto& [resource, list] : hints) {
    if (!list) continue;
    for (const TopologyHint& hint : *list) {
      if (hint.numa && (!best || hint.numa->count() < best->count())) best = hint.numa;
    }
  }
  return best ? failure.node.machine().numa_ids(*best) : std::vector<std::int32_t>{};
}

}  // namespace pinfold::explain_detail
