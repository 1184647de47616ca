#include "pinfold/place/cpu_policy.hpp"

#include <algorithm>
#include <functional>

namespace pinfold::place {
namespace {

/// Returns how many of the amounts, which are in descending order, add up to `count`; all of them
/// if even those do not.
int least_nodes(std::span<const std::int64_t> amounts, std::int64_t count) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    sum += amounts[i];
    if (sum >= count) return static_cast<int>(i) + 1;
  }
  return static_cast<int>(amounts.size());
}

}  // namespace

CpuRule::CpuRule(const CpuTree& tree, CpusView free, const CpuRequest& request, bool by_socket,
                 int widest, Arena& arena)
    : count_(request.count) {
  const std::span<const CpuGroup> nodes = tree.groups(Level::kNuma);
  const std::span<const CpuGroup> sockets = tree.groups(Level::kSocket);
  const auto free_of_node = arena.make<std::int64_t>(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const CpuGroup& node = nodes[i];
    if (node.size == 0) continue;
    with_cpus_ = with_cpus_ | NumaMask::of(static_cast<int>(i));
    free_of_node[i] = count_common(free, node);
    if (request.reusable.empty()) continue;
    const int reusable = count_common(request.reusable, node);
    free_of_node[i] += reusable;
    if (reusable > 0) must_have_ = must_have_ | NumaMask::of(static_cast<int>(i));
  }
  preferred_width_ = least_nodes(tree.sizes_of_numa(), count_);
  free_cpus_ = MaskSums<std::int64_t>(free_of_node, arena);
  set_widths(1, std::min(tree.numa_with_cpus(), widest));
  if (widest > 1) {
    // Narrower masks have too few free CPUs.
    std::sort(free_of_node.begin(), free_of_node.end(), std::greater<>());
    set_widths(least_nodes(free_of_node, count_), std::min(tree.numa_with_cpus(), widest));
  }

  const int nodes_per_socket = tree.numa_with_cpus() / static_cast<int>(sockets.size());
  if (!by_socket || nodes_per_socket == 0) return;
  preferred_sockets_ = (preferred_width_ + nodes_per_socket - 1) / nodes_per_socket;
  socket_words_ = (sockets.size() + kBits - 1) / kBits;
  sockets_ = arena.make<Word>(socket_words_ * nodes.size());
  for_each_cpu(tree.all(), [&](std::int32_t cpu) {
    const auto node = static_cast<std::size_t>(tree.group_of(Level::kNuma, cpu));
    insert(sockets_.subspan(node * socket_words_, socket_words_),
           tree.group_of(Level::kSocket, cpu));
  });
}

int CpuRule::sockets_of(NumaMask mask) const {
  int count = 0;
  for (std::size_t word = 0; word < socket_words_; ++word) {
    Word sockets = 0;
    for (const int node : mask.positions()) {
      sockets |= sockets_[static_cast<std::size_t>(node) * socket_words_ + word];
    }
    count += ones(sockets);
  }
  return count;
}

Fit CpuRule::fit(NumaMask mask) const {
  if (!mask.contains_all(must_have_) || !with_cpus_.contains_all(mask)) return Fit::kNo;
  if (free_cpus_.of(mask) < count_) return Fit::kNo;
  if (mask.count() == preferred_width_) return Fit::kPreferred;
  const bool preferred = preferred_sockets_ > 0 && sockets_of(mask) == preferred_sockets_;
  return preferred ? Fit::kPreferred : Fit::kYes;
}

CpuPolicy::CpuPolicy(const CpuTree& tree, const CpuPolicyOptions& options, const Quirks& quirks,
                     int widest_hint)
    : options_(options),
      widest_hint_(widest_hint),
      reserved_(tree.words()),
      reserved_cores_(tree.words()) {
  rules_.tree = &tree;
  rules_.quirks = quirks;
  rules_.across_numa = options.distribute_cpus_across_numa;
  rules_.numa_group_size = options.full_pcpus_only ? tree.average(Level::kCore) : 1;
  rules_.across_cores = options.distribute_cpus_across_cores;
  rules_.by_uncore_cache = options.prefer_align_cpus_by_uncorecache;
  rules_.align_by_socket = options.align_by_socket;
}

void CpuPolicy::reserve(CpusView cpus) {
  reserved_.assign(cpus.begin(), cpus.end());
  std::fill(reserved_cores_.begin(), reserved_cores_.end(), 0);
  for_each_cpu(cpus, [&](std::int32_t cpu) {
    add(reserved_cores_, tree().group(Level::kCore, tree().group_of(Level::kCore, cpu)));
  });
}

Cpus CpuPolicy::available(CpusView shared, Arena& arena) const {
  // QUIRK: the kubelet counts siblings of reserved CPUs as taken, but still allocates
  // them if a NUMA affinity leaves nothing else.
  const bool keeps_siblings =
      options_.full_pcpus_only && !rules_.quirks.siblings_of_reserved_cpus_allocated;
  const Cpus free = arena.copy(shared);
  remove(free, keeps_siblings ? reserved_cores_ : reserved_);
  return free;
}

tl::expected<void, CpuFailure> CpuPolicy::check_cores(CpusView shared, int count) const {
  if (!options_.full_pcpus_only) return {};
  CpuFailure failure{.kind = CpuFailure::Kind::kOddThreads,
                     .requested = count,
                     .available = 0,
                     .per_core = tree().average(Level::kCore)};
  if (count % failure.per_core != 0) return tl::unexpected(failure);
  // Siblings of reserved CPUs are free, but do not count as whole cores.
  failure.available = place::count(shared) - count_common(shared, CpusView(reserved_cores_));
  failure.kind = CpuFailure::Kind::kTooFewCores;
  if (count > failure.available) return tl::unexpected(failure);
  return {};
}

Cpus CpuPolicy::near(CpusView cpus, NumaMask affinity, Arena& arena) const {
  const Cpus chosen = arena.make<Word>(cpus.size());
  for (const int node : affinity.positions()) add(chosen, tree().group(Level::kNuma, node));
  if (options_.align_by_socket) {
    const CpusView of_nodes = arena.copy(CpusView(chosen));
    for (const CpuGroup& socket : tree().groups(Level::kSocket)) {
      if (intersects(of_nodes, socket)) add(chosen, socket);
    }
  }
  keep_only(chosen, cpus);
  return chosen;
}

Taken CpuPolicy::choose(CpusView shared, const CpuRequest& request, Arena& arena,
                        TakeSteps* steps) const {
  const Cpus free = available(shared, arena);
  if (!request.reusable.empty()) add(free, request.reusable);
  const Cpus chosen = arena.make<Word>(free.size());
  int missing = request.count;
  if (request.affinity) {
    const Cpus near_cpus = near(free, *request.affinity, arena);
    TakeRules nearby = rules_;
    nearby.affinity_nodes = request.affinity->count();
    const Taken taken =
        take(nearby, near_cpus, std::min(request.count, count(near_cpus)), arena, steps);
    if (!taken) return taken;
    add(chosen, *taken);
    remove(free, *taken);
    missing -= count(*taken);
  }
  if (missing < 1) return chosen;
  const Taken rest = take(rules_, free, missing, arena, steps);
  if (!rest) return rest;
  add(chosen, *rest);
  return chosen;
}

Taken CpuPolicy::resize(CpusView shared, const CpuResize& request, Arena& arena,
                        TakeSteps* steps) const {
  if (request.count <= count(request.current)) {
    return take(rules_, request.current, request.count, arena, steps, request.baseline);
  }
  const Cpus free = available(shared, arena);
  add(free, request.current);
  CpusView kept = request.current;
  if (request.affinity) {
    const Cpus near_cpus = near(free, *request.affinity, arena);
    add(near_cpus, kept);
    const int most = std::min(request.count, count(near_cpus));
    const Taken taken = take(rules_, near_cpus, most, arena, steps, kept);
    if (!taken || most == request.count) return taken;
    kept = *taken;
  }
  return take(rules_, free, request.count, arena, steps, kept);
}

std::size_t CpuPolicy::bytes() const {
  // Sets: those of the caller, of choose() or resize(), of two Takers and of one of their steps;
  // with a trace, one for each NUMA node. Lists: those of two nested steps, with counts and cores.
  constexpr std::size_t kSets = 40;
  constexpr std::size_t kLists = 18;
  const auto nodes = static_cast<std::size_t>(tree().numa_count());
  const std::size_t sets = (kSets + nodes) * tree().words() * sizeof(Word);
  const std::size_t lists = kLists * tree().longest_list() * sizeof(std::int32_t);
  const std::size_t numbers = (4 * nodes + 4 * (nodes + 4)) * sizeof(std::int64_t);
  const std::size_t sockets =
      nodes * (tree().groups(Level::kSocket).size() / kBits + 1) * sizeof(Word);
  return sets + lists + numbers + sockets + 64 * alignof(std::max_align_t);
}

NumaUsage CpuPolicy::usage(CpusView assigned, int numa) const {
  const CpuGroup& node = tree().group(Level::kNuma, numa);
  return {NumaMask::of(numa), static_cast<std::uint64_t>(count_common(assigned, node)),
          static_cast<std::uint64_t>(node.size - count_common(reserved_, node))};
}

}  // namespace pinfold::place
