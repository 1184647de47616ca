#include "pinfold/place/decider.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "pinfold/types/rejection.hpp"

namespace pinfold::place {
namespace {

std::vector<CpuPlace> sorted(std::span<const CpuPlace> cpus) {
  std::vector<CpuPlace> all(cpus.begin(), cpus.end());
  std::sort(all.begin(), all.end(),
            [](const CpuPlace& a, const CpuPlace& b) { return a.cpu < b.cpu; });
  return all;
}

/// Returns the CPUs that become exclusive; 0 for a fraction.
int whole_cpus(const ContainerRequest& container) {
  if (container.milli_cpu <= 0 || container.milli_cpu % 1000 != 0) return 0;
  return static_cast<int>(
      std::min<std::int64_t>(container.milli_cpu / 1000, std::numeric_limits<int>::max()));
}

/// Returns a bit for each owner, 1 for kShared. Without a loop: most of a decision on a small
/// machine would be this one. It subtracts, because processors make -1 of a comparison more easily
/// than 1.
template <std::size_t kCount, std::size_t... kIndices>
Word shared_among(std::span<const Owner, kCount> owners, std::index_sequence<kIndices...> /*all*/) {
  Word negative = 0;
  ((negative = 2 * negative - Word{owners[kCount - 1 - kIndices] == kShared}), ...);
  return 0 - negative;
}

tl::unexpected<Refused> unexpected(Text& message, std::string_view cause) {
  message << kBeforeUnexpected << cause << kAfterUnexpected;
  return tl::unexpected(Refused{kUnexpectedReason});
}

tl::unexpected<Refused> refused(Text& message, const CpuFailure& failure) {
  if (is_alignment(failure)) {
    message << kBeforeAlignment << failure;
    return tl::unexpected(Refused{kAlignmentReason});
  }
  message << kBeforeUnexpected << failure << kAfterUnexpected;
  return tl::unexpected(Refused{kUnexpectedReason});
}

}  // namespace

/// One decision in progress.
struct Decider::Work {
  Ownership& state;
  Arena& arena;
  Text& message;
  bool guaranteed;
  Cpus shared;                          ///< the CPUs without an owner
  std::span<std::uint64_t> free;        ///< bytes by kind, then by NUMA position
  std::span<std::uint64_t> reserved;    ///< likewise
  std::span<std::int32_t> assignments;  ///< by NUMA position
  std::span<NumaMask> groups;           ///< likewise

  void take(NumaMask nodes, std::size_t kind, std::uint64_t bytes) {
    const std::size_t first = kind * groups.size();
    for (const int node : nodes.positions()) {
      const auto i = static_cast<std::size_t>(node);
      ++assignments[i];
      groups[i] = nodes;
      bytes = take_part(free[first + i], reserved[first + i], bytes);
    }
  }
};

Decider::Decider(std::span<const CpuPlace> cpus, int numa_count, const Rules& rules)
    : tree_(sorted(cpus), numa_count),
      policy_(tree_, rules.cpu, rules.quirks,
              rules.topology == TopologyPolicy::kSingleNumaNode ? 1 : NumaMask::kMaxNodes),
      topology_(rules.topology),
      scope_(rules.scope),
      prefers_most_allocated_(rules.prefer_most_allocated_numa_node),
      strategy_(rules.strategy),
      quirks_(rules.quirks),
      distances_(rules.distances.begin(), rules.distances.end()),
      memory_(rules.memory.begin(), rules.memory.end()),
      kinds_(memory_.size() / static_cast<std::size_t>(numa_count)) {
  cpus_.reserve(cpus.size());
  position_.resize(tree_.words() * kBits);
  for (const CpuPlace& cpu : cpus) {
    position_[static_cast<std::size_t>(cpu.cpu)] = cpus_.size();
    has_positions_as_ids_ = has_positions_as_ids_ && cpu.cpu == static_cast<int>(cpus_.size());
    cpus_.push_back(cpu.cpu);
  }
  const auto nodes = static_cast<std::size_t>(numa_count);
  const std::size_t of_state = memory_.size() * 3 * sizeof(std::uint64_t) +
                               nodes * (sizeof(NumaMask) + 5 * sizeof(std::int32_t));
  const std::size_t of_request = kinds_ * (sizeof(std::uint64_t) + 2 * sizeof(MemoryDemand));
  const std::size_t of_usage = strategy_ == NumaAllocationStrategy::kNone
                                   ? 0
                                   : (kinds_ + 1) * (nodes * sizeof(NumaUsage) + Arena::kAlignment);
  bytes_ = of_state + of_request + of_usage + (kinds_ + 1) * sizeof(Hints) + policy_.bytes() +
           2 * memory_bytes(nodes, kinds_) + merge_bytes(numa_count, kinds_ + 1, 0) +
           32 * Arena::kAlignment;
  bytes_of_device_ = sizeof(Hints) + merge_bytes(numa_count, 1, 0) - merge_bytes(numa_count, 0, 0);
}

bool Decider::reserve(int count) {
  HeapArena memory(policy_.bytes());
  const Taken taken = take(policy_.rules(), tree_.all(), count, memory.arena(), nullptr);
  if (taken) policy_.reserve(*taken);
  return taken.has_value();
}

Decided Decider::decide(Ownership& state, const PlaceRequest& request,
                        std::span<ContainerPlacement> placements, Arena& arena,
                        Text& message) const {
  const auto nodes = static_cast<std::size_t>(tree_.numa_count());
  Work work{state,
            arena,
            message,
            request.guaranteed,
            arena.make<Word>(tree_.words()),
            arena.copy(std::span<const std::uint64_t>(memory_)),
            arena.make<std::uint64_t>(memory_.size()),
            arena.make<std::int32_t>(nodes),
            arena.make_raw<NumaMask>(nodes)};
  note_shared(work);
  for (std::size_t i = 0; i < nodes; ++i) work.groups[i] = NumaMask::of(static_cast<int>(i));
  const std::size_t before = state.allocation_count;
  for (const Allocation& made : state.allocations.first(before)) {
    work.take(NumaMask(made.numa_mask), made.kind, made.bytes);
  }
  Decided decided = run(work, request, placements);
  // QUIRK: the kubelet cannot roll back.
  if (!decided && !quirks_.rejected_pod_keeps_resources) {
    state.allocation_count = before;
    for (Owner& owner : state.owners) {
      if (owner == kShared) continue;
      const bool is_new = std::any_of(request.containers.begin(), request.containers.end(),
                                      [&](const auto& one) { return one.owner == owner; });
      if (is_new) owner = kShared;
    }
  }
  return decided;
}

void Decider::note_shared(Work& work) const {
  constexpr std::size_t kStep = 16;
  const std::span<const Owner> owners = work.state.owners;
  if (!has_positions_as_ids_) {
    for (std::size_t i = 0; i < owners.size(); ++i) {
      if (owners[i] == kShared) insert(work.shared, cpus_[i]);
    }
    return;
  }
  for (std::size_t first = 0; first < owners.size(); first += kBits) {
    const auto of_word = owners.subspan(first, std::min<std::size_t>(kBits, owners.size() - first));
    Word word = 0;
    std::size_t i = 0;
    for (; i + kStep <= of_word.size(); i += kStep) {
      word |= shared_among(of_word.subspan(i).first<kStep>(), std::make_index_sequence<kStep>())
              << i;
    }
    for (; i < of_word.size(); ++i) word |= Word{of_word[i] == kShared} << i;
    work.shared[first / kBits] = word;
  }
}

Decided Decider::run(Work& work, const PlaceRequest& request,
                     std::span<ContainerPlacement> placements) const {
  const auto misaligned = [&]() -> Decided {
    work.message << "Resources cannot be allocated with Topology locality";
    return tl::unexpected(Refused{"TopologyAffinityError"});
  };
  TopologyHint of_pod;
  const bool is_aligned = topology_ != TopologyPolicy::kNone;
  if (is_aligned && scope_ == TopologyScope::kPod) {
    of_pod = merge_pod(work, request);
    if (!admits(topology_, of_pod)) return misaligned();
  }
  for (std::size_t i = 0; i < request.containers.size(); ++i) {
    const Arena::Scope scope(work.arena);
    const ContainerRequest& container = request.containers[i];
    ContainerPlacement& placement = placements[i] = {of_pod, {}};
    const MemoryRule memory = memory_rule(work, container.bytes);
    if (is_aligned && scope_ == TopologyScope::kContainer) {
      placement.affinity = merge(work, whole_cpus(container), memory, container.devices);
      if (!admits(topology_, placement.affinity)) return misaligned();
    }
    if (!work.guaranteed) continue;
    if (Decided done = allocate_cpus(work, container, placement.affinity); !done) return done;
    if (Decided done = allocate_memory(work, container, memory, placement); !done) return done;
  }
  return {};
}

MemoryRule Decider::memory_rule(const Work& work, std::span<const std::uint64_t> bytes) const {
  const std::size_t nodes = work.groups.size();
  const std::span<const std::uint64_t> allocatable(memory_);
  const std::size_t kinds = work.guaranteed ? std::min(bytes.size(), kinds_) : 0;
  const auto demands = work.arena.make_raw<MemoryDemand>(kinds);
  std::size_t count = 0;
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    if (bytes[kind] == 0) continue;
    demands[count++] = {bytes[kind], work.free.subspan(kind * nodes, nodes),
                        allocatable.subspan(kind * nodes, nodes), kind};
  }
  return {{work.assignments, work.groups}, demands.first(count), {}, work.arena};
}

TopologyHint Decider::merge(const Work& work, int cpus, const MemoryRule& memory,
                            std::span<const Hints> devices) const {
  Arena& arena = work.arena;
  const Arena::Scope scope(arena);
  const auto all = arena.make_raw<Hints>(devices.size() + 1 + memory.demand_count());
  std::copy(devices.begin(), devices.end(), all.begin());
  std::size_t count = devices.size();

  const int exclusive = work.guaranteed ? cpus : 0;
  const CpuRule cpu =
      policy_.hints(policy_.available(work.shared, arena), {.count = exclusive}, arena);
  if (exclusive > 0) {
    // With single-numa-node a rule that no node fits is the same as no hint.
    const bool fits =
        topology_ == TopologyPolicy::kSingleNumaNode || fits_anywhere(cpu, tree_.numa_count());
    all[count] = fits ? Hints::of(cpu) : Hints{.kind = Hints::Kind::kNowhere};
    all[count++].usage = usage_of_cpus(work);
  }
  // As in the kubelet: without any hint there is no preference, and the container is rejected when
  // its memory is allocated.
  if (fits_anywhere(memory, tree_.numa_count())) {
    for (std::size_t i = 0; i < memory.demand_count(); ++i) {
      all[count] = Hints::of(memory);
      all[count++].usage = usage_of_memory(work, memory.demand(i).kind);
    }
  }
  MergeRules rules{.policy = topology_,
                   .nodes = tree_.numa_count(),
                   .distances = distances_,
                   .strategy = strategy_};
  Scores of_managers;
  if (prefers_most_allocated_) {
    of_managers = scores(work);
    rules.scores = &of_managers;
  }
  return place::merge(all.first(count), rules, arena);
}

Cpus Decider::assigned_cpus(const Work& work) const {
  const Cpus assigned = work.arena.copy(tree_.all());
  remove(assigned, work.shared);
  if (is_strict()) remove(assigned, reserved());
  return assigned;
}

std::span<const NumaUsage> Decider::usage_of_cpus(const Work& work) const {
  if (strategy_ == NumaAllocationStrategy::kNone) return {};
  const auto usage = work.arena.make<NumaUsage>(work.groups.size());
  const Cpus assigned = assigned_cpus(work);
  for (std::size_t i = 0; i < usage.size(); ++i) {
    usage[i] = policy_.usage(assigned, static_cast<int>(i));
  }
  return usage;
}

std::span<const NumaUsage> Decider::usage_of_memory(const Work& work, std::size_t kind) const {
  if (strategy_ == NumaAllocationStrategy::kNone) return {};
  const auto usage = work.arena.make<NumaUsage>(work.groups.size());
  for (std::size_t i = 0; i < usage.size(); ++i) {
    const std::size_t at = kind * usage.size() + i;
    usage[i] = {NumaMask::of(static_cast<int>(i)), work.reserved[at], memory_[at]};
  }
  return usage;
}

Scores Decider::scores(const Work& work) const {
  Arena& arena = work.arena;
  const auto cpu = arena.make<int>(work.groups.size());
  const auto memory = arena.make<int>(memory_.empty() ? 0 : work.groups.size());
  const Cpus assigned = assigned_cpus(work);
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    const NumaUsage of_cpus = policy_.usage(assigned, static_cast<int>(i));
    if (of_cpus.allocatable > 0) {
      cpu[i] = static_cast<int>(of_cpus.assigned * 100 / of_cpus.allocatable);
    }
    if (memory_.empty() || memory_[i] == 0) continue;
    memory[i] = static_cast<int>(work.reserved[i] * 100 / memory_[i]);
  }
  return {cpu, memory};
}

TopologyHint Decider::merge_pod(const Work& work, const PlaceRequest& request) const {
  const Arena::Scope scope(work.arena);
  const auto bytes = work.arena.make<std::uint64_t>(kinds_);
  std::int64_t cpus = 0;
  for (const ContainerRequest& container : request.containers) {
    cpus += whole_cpus(container);
    for (std::size_t kind = 0; kind < std::min(kinds_, container.bytes.size()); ++kind) {
      bytes[kind] += container.bytes[kind];
    }
  }
  cpus = std::min<std::int64_t>(cpus, std::numeric_limits<int>::max());
  return merge(work, static_cast<int>(cpus), memory_rule(work, bytes), request.devices);
}

Decided Decider::allocate_cpus(Work& work, const ContainerRequest& container,
                               const TopologyHint& affinity) const {
  const int count = whole_cpus(container);
  if (count == 0) return {};
  if (const auto fits = policy_.check_cores(work.shared, count); !fits) {
    return refused(work.message, fits.error());
  }
  const Taken taken =
      policy_.choose(work.shared, {.count = count, .affinity = affinity.numa}, work.arena, nullptr);
  if (!taken) return refused(work.message, taken.error());
  remove(work.shared, *taken);
  for_each_cpu(*taken, [&](std::int32_t cpu) {
    work.state.owners[position_[static_cast<std::size_t>(cpu)]] = container.owner;
  });
  return {};
}

Decided Decider::allocate_memory(Work& work, const ContainerRequest& container,
                                 const MemoryRule& memory, ContainerPlacement& placement) const {
  if (memory.demand_count() == 0) return {};
  const auto choice =
      choose_nodes(memory, placement.affinity, quirks_.single_node_overwrites_group);
  if (!choice) return unexpected(work.message, choice.error());
  placement.memory_nodes = choice->nodes;
  for (std::size_t kind = 0; kind < std::min(kinds_, container.bytes.size()); ++kind) {
    const std::uint64_t bytes = container.bytes[kind];
    if (bytes == 0) continue;
    work.take(choice->nodes, kind, bytes);
    work.state.allocations[work.state.allocation_count++] = {
        container.owner, static_cast<std::uint32_t>(kind), choice->nodes.bits(), bytes};
  }
  return {};
}

}  // namespace pinfold::place
