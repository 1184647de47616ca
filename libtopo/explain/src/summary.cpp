#include "summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "memory_ties.hpp"
#include "pinfold/align/explanation.hpp"
#include "pinfold/api/pod_level.hpp"
#include "pinfold/decide/allocatable.hpp"
#include "pinfold/types/named.hpp"
#include "words.hpp"

namespace pinfold::explain_detail {
namespace {

constexpr std::size_t kMostNamed = 4;  ///< NUMA nodes, or ties

std::string needs(const std::vector<Amounts>& amounts) {
  std::vector<std::string> parts;
  parts.reserve(amounts.size());
  for (const Amounts& resource : amounts) {
    parts.push_back(of_resource(resource.needed, resource.resource, AmountRounding::kUp));
  }
  return listed(parts);
}

std::string policy_of(const Failure& failure) {
  return fmt::format("topology policy {}{}", to_string(failure.node.topology().policy()),
                     failure.is_whole_pod() ? ", scope pod: for all containers together" : "");
}

/// Returns "2 CPUs there are reserved", "1 CPU there is reserved, and its core is not whole without
/// it".
std::string reserved_cpus(const Failure& failure, const PlaceAmounts& place) {
  const Machine& machine = failure.node.machine();
  const auto position = machine.numa_position(NumaId{place.numa_nodes.front()});
  const CpuSet here = position ? machine.cpus_of_numa(*position) : CpuSet{};
  const CpuSet& reserved = failure.node.cpu().reserved();
  const auto count = static_cast<std::int64_t>(reserved.count_common(here));
  std::string text =
      fmt::format("{} there {} reserved", count == 1 ? "1 CPU" : fmt::format("{} CPUs", count),
                  count == 1 ? "is" : "are");
  if (Quantity::milli(count * 1000) == place.reserved) return text;
  const CpuSet siblings = (failure.node.cpu().reserved_cores() - reserved) & here;
  return siblings.empty()
             ? text
             : text + fmt::format(", and {} share{} a core with reserved CPUs",
                                  cpus_named(siblings), siblings.size() == 1 ? "s" : "");
}

/// Returns " (16 CPUs there are reserved)" if that explains what is missing on a NUMA node, else
/// "".
std::string reserved_there(const Failure& failure, const Missing& missing) {
  for (const Amounts& lack : missing.amounts) {
    for (const Amounts& amounts : failure.amounts) {
      if (amounts.resource != lack.resource) continue;
      for (const PlaceAmounts& place : amounts.places) {
        if (place.numa_nodes != missing.numa_nodes || place.reserved < lack.needed) continue;
        const bool is_all = (place.free + place.held).is_zero();
        return fmt::format(" ({}{})", is_all ? "all " : "",
                           lack.resource == "cpu"
                               ? reserved_cpus(failure, place)
                               : of_resource(place.reserved, lack.resource, AmountRounding::kUp) +
                                     " there is reserved");
      }
    }
  }
  return "";
}

/// Returns "until they end, a container can get memory only from NUMA node 0 alone, from NUMA nodes
/// 1 and 2 together, or from others".
std::string tie_rule(const Failure& failure, const std::vector<MemoryTie>& ties) {
  std::vector<std::string> sets;
  std::set<std::int32_t> tied;
  for (const MemoryTie& tie : ties) {
    tied.insert(tie.numa_nodes.begin(), tie.numa_nodes.end());
    if (sets.size() < kMostNamed) sets.push_back("from " + set_of(tie));
  }
  const bool has_others =
      ties.size() > kMostNamed ||
      tied.size() < static_cast<std::size_t>(failure.node.machine().numa_count());
  if (has_others) sets.emplace_back("from others");
  const std::string last = sets.back();
  sets.pop_back();
  const char* const before = sets.empty() ? "" : sets.size() == 1 ? " or " : ", or ";
  return fmt::format("until {}, a container can get memory only {}{}{}",
                     ties.size() == 1 ? "that ends" : "they end", fmt::join(sets, ", "), before,
                     last);
}

/// Returns "a/x has memory on NUMA node 0 alone, ...; until ..."; "" without ties.
std::string because_of(const Failure& failure, const std::vector<MemoryTie>& ties) {
  std::vector<std::string> parts;
  for (const MemoryTie& tie : ties) {
    if (parts.size() == kMostNamed) break;
    parts.push_back(describe(tie));
  }
  if (parts.empty()) return "";
  const char* const more = ties.size() > parts.size() ? ", and more pods likewise" : "";
  return fmt::format("{}{}; {}", fmt::join(parts, ", "), more, tie_rule(failure, ties));
}

/// Returns the ties that keep a container from having memory of one of the NUMA nodes only.
std::vector<MemoryTie> groups_at(const Failure& failure, const std::vector<std::int32_t>& ids) {
  std::vector<MemoryTie> ties = find_ties(failure);
  std::erase_if(ties, [&](const MemoryTie& tie) {
    return tie.numa_nodes.size() == 1 ||
           std::find_first_of(tie.numa_nodes.begin(), tie.numa_nodes.end(), ids.begin(),
                              ids.end()) == tie.numa_nodes.end();
  });
  return ties;
}

/// Returns " (CPU 16 is not reserved, but full-pcpus-only assigns whole cores, and it shares its
/// core with a reserved CPU)" if there is such a CPU among `here`, else "".
std::string unusable_siblings(const Failure& failure, const CpuSet& here) {
  const CpuSet siblings =
      (failure.node.cpu().reserved_cores() - failure.node.cpu().reserved()) & here;
  if (siblings.empty()) return "";
  return fmt::format(
      " ({} {} not reserved, but full-pcpus-only assigns whole cores, and {} with a reserved CPU)",
      cpus_named(siblings), one_or_more(siblings, "is", "are"),
      one_or_more(siblings, "it shares its core", "they share cores"));
}

/// The same if CPUs are missing on NUMA nodes that have such CPUs.
std::string unusable_siblings(const Failure& failure, const Missing& missing) {
  const bool lacks_cpus =
      std::any_of(missing.amounts.begin(), missing.amounts.end(),
                  [](const Amounts& amounts) { return amounts.resource == "cpu"; });
  if (!lacks_cpus || !failure.node.cpu().options().full_pcpus_only) return "";
  const Machine& machine = failure.node.machine();
  CpuSet here;
  for (const std::int32_t id : missing.numa_nodes) {
    if (const auto position = machine.numa_position(NumaId{id})) {
      here |= machine.cpus_of_numa(*position);
    }
  }
  return unusable_siblings(failure, here);
}

std::string lacking_on_several(const Failure& failure, const Missing& missing) {
  return fmt::format(
      "needs {} on {} NUMA nodes, the fewest that suffice ({}): {} together lack {}{}",
      needs(failure.amounts), missing.numa_nodes.size(), policy_of(failure),
      numa_nodes(missing.numa_nodes), needs(missing.amounts), unusable_siblings(failure, missing));
}

/// Returns "; together the NUMA nodes have only 2 CPUs free" with the amounts that all of them
/// together have some but too little of, else "".
std::string too_little_in_all(const Failure& failure) {
  std::vector<std::string> parts;
  for (const Amounts& amounts : failure.amounts) {
    const Quantity free = free_in_all(amounts);
    if (amounts.places.size() < 2 || free.is_zero() || free >= amounts.needed) continue;
    parts.push_back(of_resource(free, amounts.resource, AmountRounding::kDown));
  }
  return parts.empty() ? ""
                       : fmt::format("; together the NUMA nodes have only {} free", listed(parts));
}

/// Returns "needs 6 CPUs on one NUMA node (...): NUMA node 1 lacks 2 CPUs, NUMA node 0 has enough,
/// but shop/db has memory on NUMA nodes 0 and 2 together; ...".
std::string lacking(const Failure& failure, const std::vector<Missing>& places) {
  if (places.front().numa_nodes.size() > 1) return lacking_on_several(failure, places.front());
  std::vector<std::string> parts;
  std::vector<std::int32_t> named;
  for (const Missing& place : places) {
    if (parts.size() == kMostNamed) break;
    const std::string where = numa_nodes(place.numa_nodes);
    parts.push_back(place.amounts.empty()
                        ? where + " has enough"
                        : fmt::format("{} lacks {}{}", where, needs(place.amounts),
                                      reserved_there(failure, place)));
    named.push_back(place.numa_nodes.front());
  }
  const bool may_be_several = failure.node.topology().policy() != TopologyPolicy::kSingleNumaNode;
  std::string text = fmt::format("needs {} on one NUMA node{} ({}): {}", needs(failure.amounts),
                                 may_be_several ? ", the fewest that suffice" : "",
                                 policy_of(failure), fmt::join(parts, ", "));
  if (places.size() > kMostNamed) text += ", and the others lack at least as much";
  text += too_little_in_all(failure);
  const std::string why = because_of(failure, groups_at(failure, named));
  return why.empty() ? text : text + ", but " + why;
}

/// Explains resources that need different numbers of NUMA nodes; "" if all need as many.
std::string different_widths(const Failure& failure) {
  if (failure.node.topology().policy() != TopologyPolicy::kRestricted) return "";
  std::vector<std::string> parts;
  std::set<int> widths;
  for (const Amounts& amounts : failure.amounts) {
    const auto found = failure.hints.find(amounts.resource);
    if (found == failure.hints.end() || !found->second) continue;
    int width = 0;
    for (const TopologyHint& hint : *found->second) {
      if (!hint.preferred || !hint.numa) continue;
      const int count = hint.numa->count();
      width = width == 0 ? count : std::min(width, count);
    }
    if (width == 0) return "";
    widths.insert(width);
    parts.push_back(fmt::format(
        "{} for {}", width, of_resource(amounts.needed, amounts.resource, AmountRounding::kUp)));
  }
  if (widths.size() < 2) return "";
  return fmt::format(
      "needs {}; enough is free, but each must be on the fewest NUMA nodes that suffice, and all "
      "on "
      "the same ones ({}): the fewest are {}",
      needs(failure.amounts), policy_of(failure), listed(parts));
}

/// Explains the merge, for a failure in which no amount is missing.
std::string conflict(const Failure& failure) {
  if (auto text = different_widths(failure); !text.empty()) return text;
  constexpr std::string_view kPrefix = "not aligned: ";
  const TopologyManager& manager = failure.node.topology();
  const std::vector<ResourceHints> providers = {failure.hints};
  const MergedHint merged = manager.merge(providers, {});
  for (std::string& text : sentences(manager, explain_merge(manager, providers, merged))) {
    if (!text.starts_with(kPrefix)) continue;
    text.erase(0, kPrefix.size());
    return fmt::format("needs {}, aligned ({}): {}", needs(failure.amounts), policy_of(failure),
                       text);
  }
  return fmt::format("needs {}, aligned ({}), and no NUMA nodes suit every resource",
                     needs(failure.amounts), policy_of(failure));
}

/// Explains a container that takes over the CPUs of its pod's init containers, and so must be where
/// they are.
std::string taking_over(const Failure& failure) {
  const Container* const own = failure.container();
  if (own == nullptr || own->kind == ContainerKind::kInit) return "";
  const auto cpus = std::find_if(failure.amounts.begin(), failure.amounts.end(),
                                 [](const Amounts& amounts) { return amounts.resource == "cpu"; });
  if (cpus == failure.amounts.end()) return "";
  const auto before = served_before(failure);
  if (!before) return "";
  CpuSet left;
  for (const Container& container : failure.pod.containers) {
    if (&container == own) break;
    const CpuSet* const has = before->cpu.assignments.find({failure.pod.uid, container.name});
    if (has == nullptr) continue;
    if (container.kind == ContainerKind::kInit) {
      left |= *has;
    } else {
      left -= *has;  // taken over by a sidecar
    }
  }
  if (left.empty()) return "";
  const Machine& machine = failure.node.machine();
  std::vector<std::int32_t> where;
  Quantity there = Quantity::of(static_cast<std::int64_t>(left.size()), cpus->needed.format());
  for (int position = 0; position < machine.numa_count(); ++position) {
    if (!machine.cpus_of_numa(position).intersects(left)) continue;
    where.push_back(machine.numa_id(position).value);
    there += free_at(*cpus, where.back());
  }
  if (there >= cpus->needed) return "";
  return fmt::format(
      "needs {} ({}) and takes over {} from its init containers: it must be on {}, where {} "
      "missing",
      of_resource(cpus->needed, "cpu", AmountRounding::kUp), policy_of(failure), cpus_named(left),
      numa_nodes(where),
      of_resource(cpus->needed - there, "cpu", AmountRounding::kUp) +
          (cpus->needed - there == Quantity::milli(1000) ? " is" : " are"));
}

std::string misaligned(const Failure& failure) {
  const std::vector<Missing> places = find_missing(failure);
  if (places.empty()) return conflict(failure);
  const bool is_lacking = !places.front().amounts.empty();
  // What other NUMA nodes lack does not matter to a container that must be on this one.
  if (!is_lacking || needs_one_numa_node(failure)) {
    if (auto text = taking_over(failure); !text.empty()) return text;
  }
  if (is_lacking) return lacking(failure, places);
  const bool is_tied = places.front().numa_nodes.size() == 1 &&
                       !groups_at(failure, places.front().numa_nodes).empty();
  return is_tied ? lacking(failure, places) : conflict(failure);
}

const char* too_few(const std::string& resource) {
  return is_memory_resource(resource) ? "too little" : "too few";
}

/// Returns " (NUMA node 1 alone lacks 1Gi)" for the NUMA node without a group that lacks least; ""
/// if there is none.
std::string nearest_node(const Failure& failure, const Amounts& memory) {
  const std::vector<MemoryTie> ties = find_ties(failure);
  std::optional<std::pair<Quantity, std::int32_t>> nearest;
  for (const std::int32_t id : numa_ids({memory})) {
    const bool is_in_group = std::any_of(ties.begin(), ties.end(), [&](const MemoryTie& tie) {
      return tie.numa_nodes.size() > 1 &&
             std::find(tie.numa_nodes.begin(), tie.numa_nodes.end(), id) != tie.numa_nodes.end();
    });
    const Quantity lack = memory.needed - free_at(memory, id);
    const bool is_nearer = lack.sign() > 0 && (!nearest || lack < nearest->first);
    if (!is_in_group && is_nearer) nearest = {lack, id};
  }
  if (!nearest) return "";
  return fmt::format(" ({} alone lacks {})", numa_nodes({nearest->second}),
                     readable(nearest->first, AmountRounding::kUp));
}

/// Returns whether no NUMA node may provide memory together with another one.
bool are_all_apart(const Failure& failure, const Amounts& memory) {
  const std::vector<MemoryTie> ties = find_ties(failure);
  const std::vector<std::int32_t> ids = numa_ids({memory});
  return std::all_of(ids.begin(), ids.end(), [&](std::int32_t id) {
    return std::any_of(ties.begin(), ties.end(), [&](const MemoryTie& tie) {
      return tie.numa_nodes == std::vector<std::int32_t>{id};
    });
  });
}

/// Explains an amount that exceeds what all NUMA nodes together have free.
std::string short_on_node(const Failure& failure, const Missing& missing) {
  std::vector<std::string> parts;
  for (const Amounts& lack : missing.amounts) {
    for (const Amounts& amounts : failure.amounts) {
      if (amounts.resource != lack.resource) continue;
      std::string needed = of_resource(amounts.needed, amounts.resource, AmountRounding::kUp);
      if (lack.resource == "cpu") {
        const std::string count = readable(amounts.needed, AmountRounding::kUp);
        needed = fmt::format("{} exclusive CPU{} (it is Guaranteed, with whole CPUs)", count,
                             count == "1" ? "" : "s");
      }
      const bool is_apart = is_memory_resource(amounts.resource) && are_all_apart(failure, amounts);
      parts.push_back(fmt::format("needs {}; the node has {} free, {} {}{}", needed,
                                  readable(free_in_all(amounts), AmountRounding::kDown),
                                  readable(lack.needed, AmountRounding::kUp),
                                  too_few(lack.resource),
                                  is_apart ? nearest_node(failure, amounts) : ""));
    }
  }
  return listed(parts);
}

/// Returns " (250m of it overhead)" for a pod with an overhead, else "".
std::string overhead_in(const Failure& failure, const std::string& resource) {
  const Quantity overhead = amount_of(failure.pod.overhead, resource);
  return overhead.is_zero()
             ? ""
             : fmt::format(" ({} of it overhead)", readable(overhead, AmountRounding::kUp));
}

std::string over_requested(const Failure& failure) {
  if (failure.why.reason == kOutOfPods) {
    const std::int64_t others = other_pods(failure);
    return fmt::format("would exceed the pod limit: the node has {} pod{}, and {}", others,
                       others == 1 ? "" : "s", pods_limit(failure.node));
  }
  std::vector<std::string> parts;
  for (const Amounts& amounts : failure.amounts) {
    const PlaceAmounts& all = amounts.places.front();
    const std::string needed = of_resource(amounts.needed, amounts.resource, AmountRounding::kUp) +
                               overhead_in(failure, amounts.resource);
    if ((all.free + all.held).is_zero()) {
      parts.push_back(fmt::format("requests {}, but this node has none for pods", needed));
      continue;
    }
    const std::string free = readable(all.free, AmountRounding::kDown);
    const std::string left =
        all.held.is_zero()
            ? fmt::format("this node has {} for pods", free)
            : fmt::format(
                  "the requests of other pods leave {} of the {} that pods may request", free,
                  of_resource(all.free + all.held, amounts.resource, AmountRounding::kDown));
    parts.push_back(fmt::format("requests {}, but {}, {} {}", needed, left,
                                readable(amounts.needed - all.free, AmountRounding::kUp),
                                too_few(amounts.resource)));
  }
  return fmt::format("{}", fmt::join(parts, "; it also "));
}

/// Returns whether the pod as a whole may have too little of a resource for its containers. That is
/// found out before the number of CPUs is compared with cores, so it is then not the reason.
bool may_starve(const Failure& failure, const std::string& resource) {
  const Node& node = failure.node;
  const bool is_managed = resource == "cpu" ? node.cpu().is_static() : node.memory().is_static();
  return is_managed && failure.why.reason != kUnevenCores &&
         is_managed_as_pod(node.gates(), failure.pod);
}

/// Returns whether a container has an exclusive part of the pod's resources.
bool is_exclusive_in(const Failure& failure, const PodView& pod, const Container& container,
                     const std::string& resource) {
  return resource == "cpu" ? failure.node.cpu().guaranteed_cpus(pod, container) > 0
                           : is_guaranteed(container);
}

std::string starved(const Failure& failure) {
  for (const char* const resource : {"cpu", "memory"}) {
    const std::vector<std::string> containers = starved_containers(failure, resource);
    if (containers.empty()) continue;
    const Quantity whole = amount_of(failure.pod.resources->requests, resource);
    return fmt::format(
        "has {} for all its containers, and those with exclusive {} leave none for container{} {}, "
        "which would share the rest",
        of_resource(whole, resource, AmountRounding::kUp),
        std::string_view(resource) == "cpu" ? "CPUs" : resource, containers.size() == 1 ? "" : "s",
        listed(containers));
  }
  for (const char* const resource : {"cpu", "memory"}) {
    const auto shortage = find_init_shortage(failure, resource);
    if (!shortage) continue;
    return fmt::format(
        "has too little for its init container {}, which needs {}: earlier sidecars leave {} of "
        "the pod's total",
        shortage->container, of_resource(shortage->needed, resource, AmountRounding::kUp),
        readable(shortage->left, AmountRounding::kDown));
  }
  return "";
}

/// Explains a container that has devices and requests a different number of them.
std::string changed_devices(const Failure& failure) {
  const auto* const held =
      failure.state.devices.assignments.find({failure.pod.uid, failure.step.object});
  if (held == nullptr || failure.step.source != "devices") return "";
  for (const Amounts& amounts : failure.amounts) {
    const auto ids = held->find(amounts.resource);
    if (ids == held->end()) continue;
    const auto count = static_cast<std::int64_t>(ids->second.size());
    if (count == amounts.needed.value()) continue;
    return fmt::format("has {} {} and requests {}: the devices of an active pod do not change",
                       count, amounts.resource, amounts.needed.value());
  }
  return "";
}

std::string too_few_whole_cores(const Failure& failure) {
  const int per_core = failure.node.machine().cpus_per_core();
  for (const Amounts& amounts : failure.amounts) {
    if (amounts.resource != "cpu") continue;
    const std::int64_t count = amounts.needed.value();
    if (count % per_core != 0) {
      return fmt::format(
          "needs {}, but full-pcpus-only assigns only whole cores, here multiples of {} CPUs",
          of_resource(amounts.needed, "cpu", AmountRounding::kUp), per_core);
    }
    const auto free = static_cast<std::int64_t>(
        (failure.state.cpu.default_set - failure.node.cpu().reserved_cores()).size());
    return fmt::format(
        "needs {} in whole cores (full-pcpus-only), but the node has {} free in whole cores{}",
        of_resource(amounts.needed, "cpu", AmountRounding::kUp), free,
        unusable_siblings(failure, failure.node.cpu().reserved_cores()));
  }
  return needs(failure.amounts);
}

/// Explains memory that the node has free, by the rule of the memory manager: which NUMA nodes may
/// provide it, and what keeps others from that.
std::string of_memory(const Failure& failure) {
  std::vector<Amounts> memory;
  int fewest = 1;
  for (const Amounts& amounts : failure.amounts) {
    if (!is_memory_resource(amounts.resource)) continue;
    memory.push_back(amounts);
    fewest = std::max(fewest, least_nodes(amounts));
  }
  if (memory.empty()) return "requests an amount of memory that is not a whole number of bytes";
  const std::vector<std::int32_t> serving = serving_nodes(failure);
  std::string why = because_of(failure, find_ties(failure));
  if (!why.empty()) why = ": " + why;
  if (serving.empty()) {
    return fmt::format(
        "needs {}, which the node has free, but not on NUMA nodes that may provide it together{}{}",
        needs(memory), memory.size() == 1 ? nearest_node(failure, memory.front()) : "", why);
  }
  if (static_cast<int>(serving.size()) > fewest) {
    return fmt::format("needs {} on {}, the fewest that suffice, and now only {} may provide it{}",
                       needs(memory),
                       fewest == 1 ? "one NUMA node" : fmt::format("{} NUMA nodes", fewest),
                       numa_nodes(serving), why);
  }
  return fmt::format(
      "needs {}, which {} may provide, but the NUMA nodes of its affinity may not be combined{}",
      needs(memory), numa_nodes(serving), why);
}

}  // namespace

std::optional<InitShortage> find_init_shortage(const Failure& failure,
                                               const std::string& resource) {
  const PodView pod(failure.pod);
  if (!may_starve(failure, resource)) return std::nullopt;
  Quantity left = amount_of(pod.resources->requests, resource);
  if (left.is_zero()) return std::nullopt;
  for (const Container& container : pod.containers) {
    if (!is_exclusive_in(failure, pod, container, resource)) continue;
    const Quantity request = amount_of(container.resources.requests, resource);
    if (container.kind != ContainerKind::kInit) {
      left -= request;
    } else if (request > left) {
      return InitShortage{container.name, request, left};
    }
  }
  return std::nullopt;
}

std::vector<std::string> starved_containers(const Failure& failure, const std::string& resource) {
  const PodView pod(failure.pod);
  if (!may_starve(failure, resource)) return {};
  const Quantity whole = amount_of(pod.resources->requests, resource);
  Quantity taken;
  std::vector<std::string> shared;
  for (const Container& container : pod.containers) {
    const bool is_exclusive = is_exclusive_in(failure, pod, container, resource);
    if (container.kind == ContainerKind::kInit) {
      if (!is_exclusive && taken >= whole) shared.push_back(container.name);
    } else if (is_exclusive) {
      taken += amount_of(container.resources.requests, resource);
    } else {
      shared.push_back(container.name);
    }
  }
  return !whole.is_zero() && taken >= whole ? shared : std::vector<std::string>{};
}

namespace {

std::string assigner(const std::string& source) {
  if (source == "cpu") return "the CPU manager";
  if (source == "devices") return "the device manager";
  return fmt::format("hint provider '{}'", source);
}

std::string need(const Failure& failure) {
  if (failure.step.source == kRequests) return over_requested(failure);
  if (auto text = starved(failure); !text.empty()) return text;
  if (failure.step.source == kTopology) return misaligned(failure);
  if (auto text = changed_devices(failure); !text.empty()) return text;
  // With one CPU per core there is nothing to align: the node simply has too few.
  if (failure.why.reason == kUnevenCores && failure.node.machine().cpus_per_core() > 1) {
    return too_few_whole_cores(failure);
  }
  const std::vector<Missing> missing = find_missing(failure);
  if (!missing.empty() && !missing.front().amounts.empty()) {
    if (needs_one_numa_node(failure)) return lacking(failure, missing);
    return short_on_node(failure, missing.front());
  }
  if (failure.step.source == "memory") return of_memory(failure);
  const std::string& cause = failure.why.cause.empty() ? failure.why.message : failure.why.cause;
  if (failure.amounts.empty())
    return fmt::format("gets nothing from {}: {}", assigner(failure.step.source), cause);
  return fmt::format("needs {}, which the node has free, but {} failed: {}", needs(failure.amounts),
                     assigner(failure.step.source), cause);
}

/// Returns whether some NUMA node has more of a resource for pods than `most`.
bool has_more_somewhere(const Amounts& amounts, const Quantity& most) {
  const auto ids = numa_ids({amounts});
  return std::any_of(ids.begin(), ids.end(),
                     [&](std::int32_t id) { return free_at(amounts, id) > most; });
}

/// Returns "no NUMA node has more than 16Gi of memory for pods", or "this machine has at most 16Gi
/// of memory for pods on NUMA node 0" if another one has more, but cannot be used, for instance
/// because of devices.
std::string most(const Failure& alone, const Missing& missing) {
  std::vector<std::string> parts;
  bool is_named = false;
  bool is_nothing = true;
  for (const Amounts& amounts : alone.amounts) {
    for (const Amounts& lack : missing.amounts) {
      if (lack.resource != amounts.resource) continue;
      const Quantity present = amounts.needed - lack.needed;
      parts.push_back(of_resource(present, amounts.resource, AmountRounding::kDown));
      is_named = is_named || has_more_somewhere(amounts, present);
      is_nothing = is_nothing && present.is_zero();
    }
  }
  const std::size_t width = missing.numa_nodes.size();
  std::string where = width == 0 ? " for pods" : fmt::format(" for pods on {} NUMA nodes", width);
  if (width == 1 && is_named) where = " for pods on " + numa_nodes(missing.numa_nodes);
  if (parts.size() == 1 && is_nothing) {
    const std::string& resource = missing.amounts.front().resource;
    const std::string reserved = reserved_there(alone, missing);
    if (resource == "cpu" && width == 1 && !reserved.empty()) {
      return fmt::format("{} has no CPUs for pods{}", numa_nodes(missing.numa_nodes), reserved);
    }
    return fmt::format("this machine has no {}{}", resource == "cpu" ? "CPUs" : resource,
                       is_named ? where : " for pods");
  }
  if (width == 1 && !is_named) {
    return fmt::format("no NUMA node has more than {} for pods", listed(parts));
  }
  return fmt::format("this machine has at most {}{}", listed(parts), where);
}

}  // namespace

std::string summarize(const Failure& failure) {
  const std::string pod = name_of(failure.pod);
  if (failure.is_whole_pod()) return pod + " " + need(failure);
  const Container* const container = failure.container();
  const bool is_init = container != nullptr && container->kind == ContainerKind::kInit;
  return fmt::format("{} {} of {} {}", is_init ? "Init container" : "Container",
                     failure.step.object, pod, need(failure));
}

std::string summarize_limit(const Failure& failure, const Failure& alone) {
  const std::vector<Missing> places = find_missing(alone);
  if (!places.empty() && !places.front().amounts.empty()) return most(alone, places.front());
  const std::string text = need(alone);
  if (alone.step.object == failure.step.object && text == need(failure)) {
    return failure.state.pods.empty() && failure.state.held.empty()
               ? "the node runs none"
               : "a node without other pods rejects it for the same reason";
  }
  return alone.is_whole_pod() ? "it " + text
                              : fmt::format("container {} {}", alone.step.object, text);
}

}  // namespace pinfold::explain_detail
