#include "node/explain_offline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "pinfold/agent/offline.hpp"
#include "pinfold/decide/decide.hpp"
#include "pinfold/decide/stale.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::tools {
namespace {

/// Returns whether a pod fits without new exclusive CPUs for any container.
bool fits_now(const Node& node, const NodeState& state, const PodSpec& pod) {
  const Decision decision = decide(node, release_stale(node, state), pod, nullptr, nullptr,
                                   AdmissionChecks::kManagersAndRequests);
  const auto* const admitted = std::get_if<Admitted>(&decision);
  return admitted != nullptr && !agent::gains_cpus(state, admitted->next);
}

/// Returns whether a remedy helps while CPUs are offline: nothing is moved then, and a node only
/// starts with a configuration that needs no move.
bool helps_now(const Node& node, NodeState state, const PodSpec& pod, const Remedy& remedy) {
  switch (remedy.kind) {
    case Remedy::Kind::kRequest:
      return fits_now(node, state, *remedy.pod);
    case Remedy::Kind::kResize:
      state.pods.replace_spec(state.pods.find(remedy.pod->uid), *remedy.pod);
      return fits_now(node, state, pod);
    case Remedy::Kind::kPods:
      for (const PodUid& uid : remedy.pods) state = remove_pod(node, std::move(state), uid);
      return fits_now(node, state, pod);
    case Remedy::Kind::kSetting: {
      const auto other = Node::make(node.machine(), *remedy.config);
      return other && other->cpu().start(state.cpu) && other->memory().start(state.memory) &&
             fits_now(*other, state, pod);
    }
    case Remedy::Kind::kMoves:
    case Remedy::Kind::kOnline:
      break;
  }
  return false;
}

/// Marks the remedies that only help once the CPUs are back, and puts them last.
void sort_remedies(const agent::NodeView& agent, const NodeState& state, Explanation& explanation) {
  for (Remedy& remedy : explanation.remedies) {
    if (!helps_now(agent.node(), state, explanation.pod, remedy)) remedy.online = agent.offline();
  }
  std::stable_partition(explanation.remedies.begin(), explanation.remedies.end(),
                        [](const Remedy& remedy) { return remedy.online.empty(); });
}

/// Removes offline CPUs from what is free.
void take_offline(const agent::NodeView& agent, const NodeState& state, Explanation& explanation) {
  const Machine& machine = agent.node().machine();
  const CpuSet offline = agent.node().cpu().free_cpus(state.cpu) & agent.offline();
  for (OccupiedResource& resource : explanation.table) {
    if (resource.resource != "cpu") continue;
    for (OccupiedPlace& place : resource.places) {
      if (place.numa_nodes.empty()) continue;  // the sum of requests, which no CPU is part of
      const auto position = machine.numa_position(NumaId{place.numa_nodes.front()});
      if (!position) continue;
      const auto count =
          static_cast<std::int64_t>(offline.count_common(machine.cpus_of_numa(*position)));
      place.offline = std::min(place.free, Quantity::of(count, Quantity::Format::kDecimalSi));
      place.free -= place.offline;
    }
  }
}

/// Turns an admission into a rejection until the CPUs are back.
void refuse(const CpuSet& offline, const std::string& why, Explanation& explanation) {
  explanation.rejection = Rejection{kUnexpectedReason, why, why};
  explanation.containers.clear();
  Remedy remedy;
  remedy.kind = Remedy::Kind::kOnline;
  remedy.text = fmt::format("{} {} online again: {}", cpus_named(offline),
                            one_or_more(offline, "is", "are"), agent::online_command(offline));
  remedy.online = offline;
  explanation.remedies.clear();
  explanation.remedies.push_back(std::move(remedy));
}

}  // namespace

bool waits_for_cpus(const Explanation& explanation) {
  return std::any_of(explanation.remedies.begin(), explanation.remedies.end(),
                     [](const Remedy& remedy) { return remedy.kind == Remedy::Kind::kOnline; });
}

Explanation explain_now(const agent::NodeView& agent, const NodeState& state, const PodSpec& pod) {
  Explanation explanation = explain(agent.node(), state, pod);
  if (agent.offline().empty()) return explanation;
  sort_remedies(agent, state, explanation);
  const bool is_stopped = explanation.rejection ? agent::needs_cpus(agent.node(), state, pod)
                                                : !fits_now(agent.node(), state, pod);
  if (!is_stopped) return explanation;
  take_offline(agent, state, explanation);
  const bool would_fit = !explanation.rejection;
  // A pod that would fit has the command as its remedy.
  const std::string why = would_fit ? agent::offline_cause(state, agent.offline())
                                    : agent::offline_text(state, agent.offline());
  if (would_fit) refuse(agent.offline(), why, explanation);
  explanation.notes.insert(
      explanation.notes.begin(),
      fmt::format("Once {} back: {}", one_or_more(agent.offline(), "it is", "they are"),
                  explanation.summary));
  if (would_fit) {
    explanation.notes.insert(
        explanation.notes.begin() + 1,
        fmt::format(
            "If {} will not return: 'pinfold reconfigure' takes {} out of the node, and the "
            "containers that have {} get other CPUs before any pod does",
            one_or_more(agent.offline(), "it", "they"), one_or_more(agent.offline(), "it", "them"),
            one_or_more(agent.offline(), "it", "them")));
  }
  explanation.summary =
      fmt::format("{}/{} needs exclusive CPUs, but {}", pod.namespace_name, pod.name, why);
  return explanation;
}

}  // namespace pinfold::tools
