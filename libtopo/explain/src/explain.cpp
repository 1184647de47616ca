#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "admitted.hpp"
#include "pinfold/decide/acting_quirks.hpp"
#include "pinfold/decide/allocatable.hpp"
#include "pinfold/decide/fields.hpp"
#include "pinfold/explain/explanation.hpp"
#include "summary.hpp"
#include "table.hpp"
#include "words.hpp"

namespace pinfold {

using explain_detail::Failure;

namespace {

Explanation of_rejection(const Failure& failure, Trace trace) {
  Explanation out;
  out.pod = failure.pod;
  out.rejection = failure.why;
  out.summary = explain_detail::summarize(failure);
  out.trace = std::move(trace);
  out.table = explain_detail::occupied(failure);
  out.remedies = find_remedies(failure.node, failure.state, failure.pod);
  out.names = names_of_pods(failure.state);
  const NodeState empty = empty_state(failure.node);
  if (const auto alone = explain_detail::find_failure(failure.node, empty, failure.pod, nullptr)) {
    out.limit = explain_detail::summarize_limit(failure, *alone);
  }
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
  if (count > kMostNamed) {
    names.resize(kMostNamed);
    names.push_back(fmt::format("{} more", count - kMostNamed));
  }
  return fmt::format(
      "{} pod{} known only from the kubelet's files ({}): {} with {}, and any other requests are "
      "unknown; name what runs on the node with --running FILE, or pass the manifest{} before that "
      "of this pod",
      count, count == 1 ? " is" : "s are", explain_detail::listed(names),
      count == 1 ? "it counts" : "they count",
      explain_detail::of_resource(amount_of(others_held(state, pod), "cpu"), "cpu",
                                  AmountRounding::kDown),
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
        "As in a kubelet, the shared pool includes the reserved CPUs {}; they are only never "
        "exclusive. cpuManagerPolicyOptions: strict-cpu-reservation keeps all pods off them",
        reserved.to_string()));
  }
  if (const CpuSet siblings = node.cpu().reserved_cores() - reserved; !siblings.empty()) {
    notes.push_back(fmt::format("CPU{} {} not reserved and share{} a core with reserved CPUs",
                                siblings.size() == 1 ? "" : "s",
                                siblings.to_string() + (siblings.size() == 1 ? " is" : " are"),
                                siblings.size() == 1 ? "s" : ""));
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
        "The pod is active, and its container {} has {} exclusive CPUs. To give it {} while it "
        "runs: pinfold resize {}/{} --container {} --cpu {}",
        container.name, has->size(), cpu.to_string(), pod.namespace_name, pod.name, container.name,
        cpu.to_string()));
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
  out.notes = acting_quirks(node, current, pod);
  if (auto unknown = unknown_requests(current, pod.uid); !unknown.empty()) {
    out.notes.push_back(std::move(unknown));
  }
  for (std::string& note : about_reserved_cpus(node, out)) out.notes.push_back(std::move(note));
  for (std::string& note : about_core_kinds(node.machine(), out)) {
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
