#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hints.hpp"
#include "pinfold/cpu/cpu_manager.hpp"

namespace pinfold {
namespace {

constexpr const char* kResource = "cpu";

/// An empty list of hints: the request cannot be satisfied.
ResourceHints impossible() { return {{kResource, std::vector<TopologyHint>{}}}; }

}  // namespace

ResourceHints CpuManager::hints(const CpuSet& free, const CpuSet& reusable, int count) const {
  ResourceHints hints;  // filled in place: a copy is large on machines with many NUMA nodes
  hints[kResource] =
      cpu::make_hints(*machine_, {&free, &reusable, count, options_.align_by_socket, widest_hint_});
  return hints;
}

ResourceHints CpuManager::container_hints(const CpuState& state, const PodView& pod,
                                          const Container& container) const {
  if (!is_static_ || !manages(pod)) return {};
  const int count = guaranteed_cpus(pod, container);
  if (count == 0) return {};
  if (const CpuSet* const known = state.assignments.find({pod.uid, container.name})) {
    if (static_cast<int>(known->size()) != count) return impossible();
    return hints(*known, {}, count);
  }
  return hints(available(state), state.reusable_pod == pod.uid ? state.reusable : CpuSet{}, count);
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
  const CpuSet free = available(state);
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

ResourceHints CpuManager::pod_hints(const CpuState& state, const PodView& pod) const {
  if (!is_static_ || !manages(pod)) return {};
  const int count = pod_guaranteed_cpus(pod);
  if (count == 0) return {};
  if (is_managed_as_pod(gates_, pod)) {
    if (!check_shared_pool(pod)) return impossible();
    // QUIRK: as in allocate_pod.
    const auto known = state.pods.find(pod.uid);
    if (!quirks_.readmitted_pod_takes_cpus_again && known != state.pods.end()) {
      if (static_cast<int>(known->second.size()) != count) return impossible();
      return hints(known->second, {}, count);
    }
  }
  CpuSet assigned;
  for (const Container& container : pod.containers) {
    const CpuSet* const known = state.assignments.find({pod.uid, container.name});
    if (known == nullptr) continue;
    if (static_cast<int>(known->size()) != guaranteed_cpus(pod, container)) return impossible();
    assigned |= *known;
  }
  if (static_cast<int>(assigned.size()) == count) return hints(assigned, {}, count);
  if (state.reusable_pod == pod.uid) assigned |= state.reusable;
  return hints(available(state), assigned, count);
}

}  // namespace pinfold
