#include "pinfold/agent/admission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "pinfold/agent/known_machine.hpp"
#include "pinfold/agent/offline.hpp"
#include "pinfold/decide/acting_quirks.hpp"

namespace pinfold::agent {
namespace {

/// Says of a rejected pod that it would get no exclusive CPUs even if it fitted.
void add_offline(const AdmissionFacts& facts, const NodeState& state, const PodSpec& pod,
                 AdmitOutcome& outcome, Trace* trace) {
  if (facts.offline.empty() || !needs_cpus(facts.node, state, pod)) return;
  std::string text = offline_text(state, facts.offline);
  if (trace != nullptr) trace->facts.insert(trace->facts.begin(), TraceFact{"cpu", "pod", text});
  outcome.notes.insert(outcome.notes.begin(), std::move(text));
}

/// Decides one pod, and updates `state`.
AdmitOutcome decide_into(const AdmissionFacts& facts, AgentState& state, const PodSpec& pod,
                         Trace* trace, Counts* counts, const FromRuntime& shown) {
  AdmitOutcome outcome;
  const auto places = shown.places.find(pod.uid);
  if (places == shown.places.end()) outcome.notes = acting_quirks(facts.node, state.node, pod);
  const bool releases = std::any_of(shown.release.begin(), shown.release.end(),
                                    [&](const ContainerId& id) { return id.pod == pod.uid; });
  std::optional<NodeState> before;
  if (facts.observed || releases) before = state.node;
  for (const ContainerId& id : shown.release) {
    if (id.pod == pod.uid) {
      state.node = remove_container(facts.node, std::move(state.node), id);
    }
  }
  Decision decision = decide_keeping(facts.node, std::move(state.node), pod,
                                     places == shown.places.end() ? Places() : places->second,
                                     trace, counts, AdmissionChecks::kManagersAndRequests);
  auto* const admitted = std::get_if<Admitted>(&decision);
  if (facts.observed && admitted != nullptr) {
    const auto missing =
        memory_that_is_gone(before->memory, admitted->next.memory, *facts.observed);
    if (!missing.empty()) {
      state.node = *std::move(before);
      outcome.rejection = Rejection::unexpected(missing.front());
      return outcome;
    }
  }
  if (auto* const rejected = std::get_if<Rejected>(&decision)) {
    state.node = releases ? *std::move(before) : std::move(rejected->next);
    outcome.rejection = std::move(rejected->why);
    add_offline(facts, state.node, pod, outcome, trace);
  } else {
    state.node = std::move(std::get<Admitted>(decision).next);
    // Its containers run again, and it no longer ends with its adopted containers.
    std::erase_if(state.removed, [&](const ContainerId& id) { return id.pod == pod.uid; });
    state.ending.erase(pod.uid);
    state.creators.erase(pod.uid);
    if (shown.creator) {
      state.ending.insert(pod.uid);
      state.creators.emplace(pod.uid, *shown.creator);
    }
    state.notes.erase(pod.uid);
  }
  remove_inactive(state);
  return outcome;
}

}  // namespace

std::string intent_to_admit(const std::vector<PodSpec>& pods) {
  std::string text = "admit pod";
  for (const PodSpec& pod : pods) {
    text += fmt::format("{} '{}'", &pod == &pods.front() ? "" : ",", pod.name);
  }
  return text;
}

Result<Preview> preview_admission(const AdmissionFacts& facts, const AgentState& state,
                                  const std::vector<PodSpec>& pods, std::vector<Trace>* traces,
                                  const FromRuntime& shown, Counts* counts) {
  Preview preview{{}, state};
  for (const PodSpec& pod : pods) {
    Trace* const trace = traces != nullptr ? &traces->emplace_back() : nullptr;
    preview.outcomes.push_back(decide_into(facts, preview.next, pod, trace, counts, shown));
  }
  for (const auto& [uid, note] : shown.notes) {
    if (preview.next.node.find(uid) != nullptr) preview.next.notes[uid] = note;
  }
  PINFOLD_TRY_WRAP(check_no_gains(state.node, preview.next.node, facts.offline),
                   intent_to_admit(pods));
  return preview;
}

}  // namespace pinfold::agent
