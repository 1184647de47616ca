#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "admitted.hpp"
#include "pinfold/decide/acting_quirks.hpp"
#include "pinfold/decide/allocatable.hpp"
#include "pinfold/decide/fields.hpp"
#include "pinfold/explain/amount_text.hpp"
#include "pinfold/explain/explanation.hpp"
#include "pinfold/explain/remedies.hpp"
#include "pinfold/types/named.hpp"
#include "reservations.hpp"
#include "summary.hpp"
#include "table.hpp"
#include "trials.hpp"
#include "words.hpp"

namespace pinfold {

using explain_detail::Failure;

namespace {

/// Returns whether the second change is one of an amount that the first one has changed.
bool changes_again(const explain_detail::MetShortage& first,
                   const explain_detail::MetShortage& second) {
  const auto is_changed = [&](const explain_detail::RequestChange& change) {
    return std::any_of(first.changes.begin(), first.changes.end(), [&](const auto& other) {
      return other.target == change.target && other.resource == change.resource;
    });
  };
  return std::any_of(second.changes.begin(), second.changes.end(), is_changed);
}

/// Returns "Even with maxPods: 8 -> 9 it would be rejected, OutOfcpu: ... (held by ...)".
std::string rejected_even_with(const std::string& change, const Failure& failure) {
  return fmt::format("Even with {} it would be rejected, {}: {}{}", change, failure.why.reason,
                     explain_detail::summarize(failure), explain_detail::holders_of_all(failure));
}

/// Returns what would be in the way on a node that allows more pods.
std::vector<std::string> obstacles_besides_count(const Failure& failure) {
  if (!failure.node.providers().empty()) return {};  // the providers belong to this node
  const explain_detail::Setting setting = explain_detail::more_pods(failure);
  const auto node = Node::make(failure.node.machine(), setting.config);
  if (!node) return {};
  const auto next = explain_detail::find_failure(*node, failure.state, failure.pod, nullptr);
  if (!next) return {};
  return {rejected_even_with(setting.text, *next)};
}

/// Returns what would still prevent the admission if nothing were missing; nothing if the pod would
/// then be admitted.
std::vector<std::string> next_obstacles(const Failure& failure) {
  constexpr std::size_t kMost = 2;
  if (failure.why.reason == explain_detail::kOutOfPods) return obstacles_besides_count(failure);
  std::vector<std::string> notes;
  auto met = explain_detail::with_shortage_met(failure);
  while (met && notes.size() < kMost) {
    const auto next = explain_detail::find_failure(failure.node, failure.state, met->pod, nullptr);
    if (!next) break;
    notes.push_back(rejected_even_with(met->change, *next));
    auto more = explain_detail::with_shortage_met(*next);
    if (!more || changes_again(*met, *more)) break;
    more->change = met->change + " and " + more->change;
    met = std::move(more);
  }
  return notes;
}

Explanation of_rejection(const Failure& failure, Trace trace) {
  Explanation out;
  out.pod = failure.pod;
  out.rejection = failure.why;
  out.summary = explain_detail::summarize(failure);
  out.trace = std::move(trace);
  out.table = explain_detail::occupied(failure);
  out.is_aligned = failure.step.source == explain_detail::kTopology ||
                   explain_detail::needs_one_numa_node(failure);
  auto found = explain_detail::all_remedies(failure);
  out.remedies = std::move(found.remedies);
  out.notes = next_obstacles(failure);
  out.names = names_of_pods(failure.state);
  const NodeState empty = empty_state(failure.node);
  if (const auto alone = explain_detail::find_failure(failure.node, empty, failure.pod, nullptr)) {
    out.limit = explain_detail::summarize_limit(failure, *alone);
  }
  out.may_be_moves = found.may_be_moves && out.limit.empty();
  return out;
}

/// Returns a note about the unknown requests of held pods other than `pod`; "" if there are none.
std::string unknown_requests(const NodeState& state, const PodUid& pod) {
  std::vector<std::string> names;
  for (const PodUid& held : state.held) {
    if (held != pod) names.push_back(explain_detail::name_of(state, held));
  }
  if (names.empty()) return "";
  constexpr std::size_t kMostNamed = 3;
  const std::size_t count = names.size();
  names = first_named(std::move(names), kMostNamed, "more");
  const Quantity cpus = amount_of(others_held(state, pod), "cpu");
  return fmt::format(
      "{} pod{} known only from the kubelet's files ({}): {} {} counted, and any other requests "
      "are unknown; name what runs on the node with --running FILE, or pass the other manifest{} "
      "before that of this pod",
      count, count == 1 ? " is" : "s are", explain_detail::listed(names),
      count == 1 ? "its" : "their",
      explain_detail::of_resource(cpus, "cpu", AmountRounding::kDown) +
          (cpus == Quantity::milli(1000) ? " is" : " are"),
      count == 1 ? "" : "s");
}

/// Notes that the shared pool of the pod's containers includes the reserved CPUs.
std::vector<std::string> about_reserved_cpus(const Node& node, const Explanation& explanation) {
  std::vector<std::string> notes;
  const CpuSet& reserved = node.cpu().reserved();
  const bool is_shared = std::any_of(explanation.containers.begin(), explanation.containers.end(),
                                     [](const ContainerExplanation& container) {
                                       return container.resources.isolation == Isolation::kHost;
                                     });
  if (!node.cpu().is_static() || reserved.empty() || !is_shared) return notes;
  if (!node.cpu().options().strict_cpu_reservation) {
    notes.push_back(fmt::format(
        "As in a kubelet, the shared pool includes the reserved {}, which no container gets "
        "exclusively. cpuManagerPolicyOptions: strict-cpu-reservation keeps all pods off {}",
        cpus_named(reserved), one_or_more(reserved, "it", "them")));
  }
  if (const CpuSet siblings = node.cpu().reserved_cores() - reserved; !siblings.empty()) {
    notes.push_back(fmt::format(
        "{} {} a core with reserved CPUs", cpus_named(siblings),
        one_or_more(siblings, "is not reserved and shares", "are not reserved and share")));
  }
  return notes;
}

/// Notes that the exclusive CPUs of a container are of several kinds of cores.
std::vector<std::string> about_core_kinds(const Machine& machine, const Explanation& explanation) {
  std::vector<std::string> notes;
  for (const ContainerExplanation& container : explanation.containers) {
    const ContainerResources& has = container.resources;
    const auto kinds = explain_detail::core_kinds(machine, has.cpuset_cpus);
    if (has.isolation != Isolation::kContainer || kinds.size() < 2) continue;
    notes.push_back(fmt::format(
        "Container {} has CPUs of several kinds of cores, which the CPU manager does not "
        "distinguish: {}",
        has.name, explain_detail::listed(kinds)));
  }
  return notes;
}

/// Returns the sentence on CPUs of a slower kind of core that a container has although as many of a
/// faster one are free; "" if there is nothing to say. The fastest kind is the first.
std::string about_faster_kind(const Machine& machine, const CpuSet& has, const CpuSet& free,
                              const std::string& container) {
  const auto& kinds = machine.description().core_kinds;
  if (!kinds) return "";
  const CoreKind* faster = nullptr;
  for (const CoreKind& kind : *kinds) {
    if (kind.cpus.contains_all(has) && faster != nullptr) {
      const CpuSet left = faster->cpus & free;
      return fmt::format(
          "Container {} has CPUs of the kind {} although {} of the kind {} {} free: the CPU "
          "manager does not distinguish kinds of cores, and of equal places it takes the cores "
          "with the fewest free CPUs first, then those with the lowest numbers",
          container, kind.name, cpus_named(left), faster->name, left.size() == 1 ? "is" : "are");
    }
    const bool has_enough = (kind.cpus & free).size() >= has.size();
    if (has_enough && faster == nullptr) faster = &kind;
  }
  return "";
}

/// Notes for each container whose exclusive CPUs are all of one kind that CPUs of another were
/// free. `state`: before the admission.
std::vector<std::string> about_kinds_passed_over(const Node& node, const NodeState& state,
                                                 const Explanation& explanation) {
  std::vector<std::string> notes;
  CpuSet free = state.cpu.default_set - node.cpu().reserved();
  for (const ContainerExplanation& container : explanation.containers) {
    if (container.resources.isolation == Isolation::kContainer) {
      free -= container.resources.cpuset_cpus;
    }
  }
  for (const ContainerExplanation& container : explanation.containers) {
    const ContainerResources& has = container.resources;
    if (has.isolation != Isolation::kContainer) continue;
    std::string note = about_faster_kind(node.machine(), has.cpuset_cpus, free, has.name);
    if (!note.empty()) notes.push_back(std::move(note));
  }
  return notes;
}

/// Notes that an active pod which is decided with other amounts can be resized instead.
std::vector<std::string> about_resizes(const Node& node, const NodeState& state,
                                       const PodSpec& pod) {
  std::vector<std::string> notes;
  const ActivePod* const active = state.find(pod.uid);
  if (active == nullptr || !resizes_exclusive_cpus(node.config())) return notes;
  for (const Container& container : pod.containers) {
    const CpuSet* const has = state.cpu.assignments.find({pod.uid, container.name});
    const Quantity cpu = amount_of(container.resources.requests, "cpu");
    if (has == nullptr || !cpu.is_whole() ||
        cpu.value() == static_cast<std::int64_t>(has->size())) {
      continue;
    }
    notes.push_back(fmt::format(
        "The pod is active, and its container {} has {} exclusive CPU{}. To give it {} while it "
        "runs: pinfold resize {}/{} --container {} --cpu {}",
        container.name, has->size(), has->size() == 1 ? "" : "s", cpu.to_string(),
        pod.namespace_name, pod.name, container.name, cpu.to_string()));
  }
  return notes;
}

}  // namespace

Explanation explain(const Node& node, const NodeState& state, const PodSpec& pod) {
  const NodeState current = release_stale(node, state);
  Trace trace;
  const auto failure = explain_detail::find_failure(node, current, pod, &trace);
  Explanation out = failure ? of_rejection(*failure, std::move(trace))
                            : explain_detail::of_admission(node, current, pod);
  for (std::string& note : acting_quirks(node, current, pod)) out.notes.push_back(std::move(note));
  if (auto unknown = unknown_requests(current, pod.uid); !unknown.empty()) {
    out.notes.push_back(std::move(unknown));
  }
  for (std::string& note : about_reserved_cpus(node, out)) out.notes.push_back(std::move(note));
  for (std::string& note : about_core_kinds(node.machine(), out)) {
    out.notes.push_back(std::move(note));
  }
  for (std::string& note : about_kinds_passed_over(node, current, out)) {
    out.notes.push_back(std::move(note));
  }
  for (std::string& note : about_resizes(node, state, pod)) out.notes.push_back(std::move(note));
  return out;
}

Result<Explanation> explain_active(const Node& node, const NodeState& state, const PodUid& uid) {
  const ActivePod* const pod = state.find(uid);
  if (pod == nullptr) {
    return fail(ErrorCode::kNotFound, fmt::format("pod '{}' is not active on this node", uid));
  }
  Explanation out = explain_detail::of_active_pod(node, state, *pod);
  for (std::string& note : about_core_kinds(node.machine(), out)) {
    out.notes.push_back(std::move(note));
  }
  return out;
}

}  // namespace pinfold
