#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "pinfold/types/named.hpp"
#include "trials.hpp"
#include "words.hpp"

namespace pinfold::explain_detail {
namespace {

constexpr std::size_t kMostMovesNamed = 3;

std::size_t width_of(const std::vector<MemoryBlock>& blocks) {
  std::set<std::int32_t> ids;
  for (const MemoryBlock& block : blocks) {
    ids.insert(block.numa_affinity.begin(), block.numa_affinity.end());
  }
  return ids.size();
}

/// Returns whether a container's memory is then on more NUMA nodes.
bool spreads(const PlannedContainer& move) {
  return !move.memory_before.empty() && width_of(move.memory_after) > width_of(move.memory_before);
}

/// The memory of a container that is on the same NUMA nodes before and after a move.
struct MovedMemory {
  std::vector<std::int32_t> from;
  std::vector<std::int32_t> to;
  std::vector<std::string> amounts;
  bool has_hugepages = false;
};

/// Returns the memory that a move takes elsewhere, by its NUMA nodes.
std::vector<MovedMemory> moved_memory(const PlannedContainer& move) {
  std::vector<MovedMemory> all;
  for (const MemoryBlock& block : move.memory_before) {
    std::vector<std::int32_t> to;
    for (const MemoryBlock& after : move.memory_after) {
      if (after.type == block.type) {
        to.insert(to.end(), after.numa_affinity.begin(), after.numa_affinity.end());
      }
    }
    std::sort(to.begin(), to.end());
    to.erase(std::unique(to.begin(), to.end()), to.end());
    if (to.empty() || to == block.numa_affinity) continue;
    auto same = std::find_if(all.begin(), all.end(), [&](const MovedMemory& one) {
      return one.from == block.numa_affinity && one.to == to;
    });
    if (same == all.end()) same = all.insert(all.end(), {block.numa_affinity, to, {}, false});
    same->amounts.push_back(of_resource(Quantity::bytes(static_cast<std::int64_t>(block.size)),
                                        block.type, AmountRounding::kDown));
    same->has_hugepages = same->has_hugepages || block.type != "memory";
  }
  return all;
}

bool moves_hugepages(const PlannedContainer& move) {
  const auto all = moved_memory(move);
  return std::any_of(all.begin(), all.end(),
                     [](const MovedMemory& one) { return one.has_hugepages; });
}

/// Returns "shop/db/main (CPUs 2-3 -> 8-9; 1Gi of memory: NUMA node 0 -> NUMA node 1)".
std::string move_text(const NodeState& state, const PlannedContainer& move) {
  std::vector<std::string> parts;
  if (move.cpus_moved > 0) {
    parts.push_back(
        fmt::format("{} -> {}", cpus_named(*move.cpus_before), move.cpus_after->to_string()));
  }
  for (const MovedMemory& memory : moved_memory(move)) {
    parts.push_back(fmt::format("{}: {} -> {}", listed(memory.amounts), numa_nodes(memory.from),
                                numa_nodes(memory.to)));
  }
  const std::string name = name_of(state, move.id.pod) + "/" + move.id.name;
  return parts.empty() ? name : fmt::format("{} ({})", name, fmt::join(parts, "; "));
}

/// Returns what a plan costs the containers that move; "" if it is only the move.
std::string drawbacks(const std::vector<PlannedContainer>& moves) {
  std::string text;
  if (std::any_of(moves.begin(), moves.end(), spreads)) {
    text += "; memory is then spread over more NUMA nodes than now";
  }
  if (std::any_of(moves.begin(), moves.end(), moves_hugepages)) {
    text += "; huge pages in use may stay where they are until their container restarts";
  }
  return text;
}

}  // namespace

std::vector<Remedy> container_moves(const Failure& failure, Trials& trials) {
  if (failure.step.source == kRequests) return {};  // no move changes what pods request
  PlanOptions options;
  options.steps = kMoveSteps;
  options.checks = AdmissionChecks::kManagersAndRequests;
  auto plan = plan_defragmentation(failure.node, failure.state, failure.pod, options);
  if (plan && !plan->optimal && plan->moves.size() != 1) {
    options.steps = kDefragmentationSteps;
    plan = plan_defragmentation(failure.node, failure.state, failure.pod, options);
  }
  if (!plan) return {};
  if (!plan->possible || plan->moves.empty()) {
    if (!plan->optimal) trials.end_early();
    return {};
  }
  if (!trials.admits(failure.node, std::move(plan->next), failure.pod)) return {};
  std::vector<std::string> names;
  for (const PlannedContainer& move : plan->moves) {
    names.push_back(move_text(failure.state, move));
  }
  names = first_named(std::move(names), kMostMovesNamed, "more containers");
  const bool may_be_fewer = !plan->optimal && plan->moves.size() > 1;
  return {Remedy{Remedy::Kind::kMoves,
                 listed(names) + (plan->moves.size() == 1 ? " is moved" : " are moved") +
                     drawbacks(plan->moves) +
                     (may_be_fewer ? "; the search ended early, so fewer moves may suffice" : ""),
                 std::nullopt,
                 {},
                 std::nullopt,
                 std::move(plan->moves)}};
}

bool is_harmful(const Remedy& remedy) {
  return std::any_of(remedy.moves.begin(), remedy.moves.end(), [](const PlannedContainer& move) {
    return spreads(move) || moves_hugepages(move);
  });
}

}  // namespace pinfold::explain_detail
