#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cpu_sets.hpp"
#include "pinfold/api/pod_level.hpp"
#include "pinfold/cpu/cpu_manager.hpp"

namespace pinfold {
namespace {

constexpr const char* kResource = "cpu";

/// An empty list of hints: the request cannot be satisfied.
ResourceHints impossible() { return {{kResource, std::vector<TopologyHint>{}}}; }

}  // namespace

ResourceHints CpuManager::hints_of_free(const CpuState& state, const CpuSet& reusable,
                                        int count) const {
  place::HeapArena memory(policy_->bytes());
  place::Arena& arena = memory.arena();
  const place::Cpus free =
      policy_->available(cpu::words_of(state.default_set, *tree_, arena), arena);
  const place::Cpus again = cpu::words_of(reusable, *tree_, arena);
  ResourceHints hints;  // filled in place: a copy is large on machines with many NUMA nodes
  hints[kResource] = place::list_hints(
      policy_->hints(free, {.count = count, .reusable = again}, arena), tree_->numa_count());
  return hints;
}

ResourceHints CpuManager::hints_of(const CpuSet& cpus, const CpuSet& reusable, int count) const {
  place::HeapArena memory(policy_->bytes());
  place::Arena& arena = memory.arena();
  const place::Cpus words = cpu::words_of(cpus, *tree_, arena);
  const place::Cpus again = cpu::words_of(reusable, *tree_, arena);
  return {{kResource,
           place::list_hints(policy_->hints(words, {.count = count, .reusable = again}, arena),
                             tree_->numa_count())}};
}

ResourceHints CpuManager::container_hints(const CpuState& state, const PodView& pod,
                                          const Container& container, CpuRequestKind kind) const {
  if (!is_static_ || !manages(pod)) return {};
  const int count = guaranteed_cpus(pod, container);
  if (count == 0) return {};
  const CpuSet reusable = state.reusable_pod == pod.uid ? state.reusable : CpuSet{};
  const CpuSet* const known = state.assignments.find({pod.uid, container.name});
  if (known == nullptr) return hints_of_free(state, reusable, count);
  const auto had = static_cast<int>(known->size());
  if (had == count) return hints_of(*known, {}, count);
  if (kind == CpuRequestKind::kAdmission) return impossible();
  return had < count ? hints_of_free(state, *known | reusable, count)
                     : hints_of({}, *known | reusable, count);
}

std::string CpuManager::why_no_pod_hints(const CpuState& state, const PodView& pod) const {
  if (!is_static_ || !manages(pod) || !is_managed_as_pod(gates_, pod)) return "";
  const int count = pod_guaranteed_cpus(pod);
  if (count == 0) return "";
  if (const auto fits = check_shared_pool(pod); !fits) {
    std::string_view why = fits.error().message;
    constexpr std::string_view kPrefix = "pod rejected, ";
    if (why.starts_with(kPrefix)) why.remove_prefix(kPrefix.size());
    return fmt::format("the pod has {} CPUs: {}", count, why);
  }
  const auto known = state.pods.find(pod.uid);
  if (quirks_.readmitted_pod_takes_cpus_again || known == state.pods.end()) return "";
  const auto had = static_cast<int>(known->second.size());
  return had == count ? "" : fmt::format("the pod has {} CPUs already and needs {}", had, count);
}

CpuSet CpuManager::free_cpus(const CpuState& state) const {
  place::HeapArena memory(policy_->bytes());
  place::Arena& arena = memory.arena();
  return CpuSet::of_words(
      policy_->available(cpu::words_of(state.default_set, *tree_, arena), arena));
}

std::vector<Amounts> CpuManager::amounts(const CpuState& state, const PodView& pod,
                                         const Container* container) const {
  if (!is_static_ || !manages(pod)) return {};
  const int count =
      container == nullptr ? pod_guaranteed_cpus(pod) : guaranteed_cpus(pod, *container);
  if (count == 0) return {};
  const auto cpus = [](std::size_t number) {
    return Quantity::of(static_cast<std::int64_t>(number), Quantity::Format::kDecimalSi);
  };
  Amounts amounts{kResource, cpus(static_cast<std::size_t>(count)), {}};
  const CpuSet free = free_cpus(state);
  const CpuSet shared = state.default_set | reserved_;
  for (const Machine::Group& node : machine_->numa_groups()) {
    if (node.cpus.empty()) continue;
    const std::size_t free_here = free.count_common(node.cpus);
    const std::size_t held_here = (node.cpus - shared).size();
    amounts.places.push_back({{node.id},
                              cpus(free_here),
                              cpus(held_here),
                              cpus(node.cpus.size() - free_here - held_here)});
  }
  return {std::move(amounts)};
}

ResourceHints CpuManager::pod_hints(const CpuState& state, const PodView& pod,
                                    CpuRequestKind kind) const {
  if (!is_static_ || !manages(pod)) return {};
  const int count = pod_guaranteed_cpus(pod);
  if (count == 0) return {};
  if (is_managed_as_pod(gates_, pod)) {
    if (!check_shared_pool(pod)) return impossible();
    // QUIRK: as in allocate_pod.
    const auto known = state.pods.find(pod.uid);
    if (!quirks_.readmitted_pod_takes_cpus_again && known != state.pods.end()) {
      if (static_cast<int>(known->second.size()) != count) return impossible();
      return hints_of(known->second, {}, count);
    }
  }
  CpuSet assigned;
  for (const Container& container : pod.containers) {
    const CpuSet* const known = state.assignments.find({pod.uid, container.name});
    if (known == nullptr) continue;
    const bool is_as_requested = static_cast<int>(known->size()) == guaranteed_cpus(pod, container);
    if (!is_as_requested && kind == CpuRequestKind::kAdmission) return impossible();
    assigned |= *known;
  }
  if (static_cast<int>(assigned.size()) == count) return hints_of(assigned, {}, count);
  if (state.reusable_pod == pod.uid) assigned |= state.reusable;
  return hints_of_free(state, assigned, count);
}

}  // namespace pinfold
