#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "adopted_groups.hpp"
#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/agent/kept_state.hpp"
#include "pinfold/agent/known_machine.hpp"
#include "pinfold/agent/metrics.hpp"
#include "pinfold/agent/node_agent.hpp"
#include "pinfold/agent/offline.hpp"
#include "pinfold/agent/readmission.hpp"
#include "pinfold/decide/acting_quirks.hpp"

// How it works
//
// This file has all steps of an admission, in the order in which admit() takes them:
//   1. decide_pods() decides the pods one after another on a copy of the state.
//   2. check_replaced() and check_forgotten() check what runs. A preview ends here.
//   3. commit() makes the copy durable, and counts.
//   4. apply() brings the control groups to the new state.
// admit_adopted() admits a pod with a container whose group its runtime has made before.

namespace pinfold::agent {
namespace {

/// What determines an admission besides the state.
struct AdmissionFacts {
  const Node& node;
  const CpuSet& offline;                   ///< CPUs of the node that are offline
  const std::optional<Machine>& observed;  ///< see KnownMachine
};

/// Notes for a rejected pod that it would get no exclusive CPUs even if it fitted.
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

/// Returns "admit pod 'a', 'b'".
std::string intent_to_admit(const std::vector<PodSpec>& pods) {
  std::string text = "admit pod";
  for (const PodSpec& pod : pods) {
    text += fmt::format("{} '{}'", &pod == &pods.front() ? "" : ",", pod.name);
  }
  return text;
}

/// Decides pods in order on a copy of the state. Rejects a pod that would need memory that the
/// machine no longer has. Does not check which containers run. Errors: kUnsupported if a pod would
/// get exclusive CPUs while CPUs are offline.
Result<Preview> decide_pods(const AdmissionFacts& facts, const AgentState& state,
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

}  // namespace

/// Checks that adopted groups that are missing from the next state have no processes. They are not
/// below the root, so nothing would keep processes there off exclusive CPUs. Not needed if a
/// runtime is followed: they are foreign groups then.
Result<void> NodeView::check_forgotten(const AgentState& next) const {
  if (!enforced_ || has_runtime()) return {};
  for (const auto& entry : state().adopted) {
    if (next.adopted.contains(entry.id())) continue;
    PINFOLD_TRY(enforced_->observed().check_empty({entry.id()}));
  }
  return {};
}

/// Returns whether a container runs, or may run. Without enforcement, one with exclusive CPUs or a
/// recorded start counts as running.
bool NodeView::runs(const ContainerId& container) const {
  if (enforced_) return enforced_->observed().has_processes(container).value_or(true);
  const ActivePod* const pod = state().node.find(container.pod);
  const CpuSet* const cpus = state().node.cpu.assignments.find(container);
  return (cpus != nullptr && !cpus->empty()) ||
         (pod != nullptr && pod->started.contains(container.name));
}

/// Checks that pods that are active with another spec lose nothing that runs, except what their
/// runtime has asked to release.
Result<void> NodeView::check_replaced(const std::vector<PodSpec>& pods, const AgentState& next,
                                      const std::vector<ContainerId>& released) const {
  for (const PodSpec& pod : pods) {
    const ActivePod* const active = state().node.find(pod.uid);
    if (active == nullptr || active->spec == pod) continue;
    const auto resources = has_runtime() ? Resizes::kKeepWhatIsThere : Resizes::kAreLosses;
    for (const Loss& loss : find_losses(*node_, state(), next, pod.uid, resources)) {
      const bool is_released =
          std::find(released.begin(), released.end(), loss.container) != released.end();
      if (!is_released && runs(loss.container))
        return fail(ErrorCode::kBusy, describe(loss, active->spec));
    }
  }
  return {};
}

Result<NodeView::Decided> NodeView::decide_all(const AgentState& before,
                                               const std::vector<PodSpec>& pods,
                                               std::vector<Trace>* traces,
                                               const FromRuntime& shown) const {
  const auto begin = now();
  Counts counts = metrics().counts;
  PINFOLD_LET(auto preview,
              decide_pods({*node_, offline_, observed_}, before, pods, traces, shown, &counts));
  return Decided{std::move(preview), counts, begin};
}

/// Decides, and checks that no running container loses its resources.
Result<NodeView::Decided> NodeView::decide_checked(const AgentState& before,
                                                   const std::vector<PodSpec>& pods,
                                                   std::vector<Trace>* traces,
                                                   const FromRuntime& shown) const {
  PINFOLD_LET(Decided decided, decide_all(before, pods, traces, shown));
  PINFOLD_TRY_WRAP(check_replaced(pods, decided.next, shown.release), intent_to_admit(pods));
  PINFOLD_TRY_WRAP(check_forgotten(decided.next), intent_to_admit(pods));
  return decided;
}

Result<Preview> NodeView::preview(const std::vector<PodSpec>& pods,
                                  std::vector<Trace>* traces) const {
  return preview_after(state(), pods, traces);
}

Result<Preview> NodeView::preview_after(const AgentState& before, const std::vector<PodSpec>& pods,
                                        std::vector<Trace>* traces) const {
  PINFOLD_LET(Decided decided, decide_checked(before, pods, traces, {}));
  return Preview(std::move(decided));
}

/// Commits decisions, then logs and counts them.
Result<void> NodeAgent::commit(const std::vector<PodSpec>& pods, Decided& decided,
                               Unstored unstored) {
  PINFOLD_TRY_WRAP(store(std::move(decided.next), unstored), intent_to_admit(pods));
  const auto took = now() - decided.begin;
  Metrics metrics = kept_->metrics();
  metrics.counts = decided.counts;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const auto& rejection = decided.outcomes[i].rejection;
    log(LogLevel::kInfo, fmt::format("pod '{}': {}", pods[i].uid,
                                     rejection ? "rejected, " + rejection->message : "admitted"));
    metrics.observe(took);
  }
  kept_->set_metrics(metrics);
  return {};
}

Result<AdmitOutcome> NodeAgent::admit(const PodSpec& pod, Trace* trace) {
  std::vector<Trace> traces;
  PINFOLD_LET(auto outcomes, admit(std::vector{pod}, trace != nullptr ? &traces : nullptr));
  if (trace != nullptr) *trace = std::move(traces.front());
  return std::move(outcomes.front());
}

Result<std::vector<AdmitOutcome>> NodeAgent::admit(const std::vector<PodSpec>& pods,
                                                   std::vector<Trace>* traces,
                                                   const FromRuntime& shown) {
  PINFOLD_LET(Decided decided, decide_checked(state(), pods, traces, shown));
  PINFOLD_TRY(commit(pods, decided, shown.unstored));
  std::set<PodUid> changed;
  for (const PodSpec& pod : pods) changed.insert(pod.uid);
  const auto not_enforced = apply(changed);
  for (AdmitOutcome& outcome : decided.outcomes) outcome.not_enforced = not_enforced;
  return std::move(decided.outcomes);
}

Result<std::string> NodeView::directory_to_adopt(const PodSpec& pod,
                                                 const Adoption& adoption) const {
  if (!enforced_) {
    if (adoption.directory.starts_with('/')) return adoption.directory;
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}': expected an absolute path", adoption.directory));
  }
  PINFOLD_LET(std::string real, enforced_->observed().check_adoptable({pod.uid, adoption.container},
                                                                      adoption.directory));
  PINFOLD_TRY(check_pod_of_group(state().node, enforced_->observed().root(), pod,
                                 adoption.container, real));
  return real;
}

Result<AdmitOutcome> NodeAgent::admit_adopted(const PodSpec& pod, const Adoption& adoption) {
  PINFOLD_TRY(check_container(pod, adoption.container));
  const ContainerId container{pod.uid, adoption.container};
  const bool is_active = state().node.find(pod.uid) != nullptr;
  if (is_active && enforced_) {
    PINFOLD_LET(auto adopted, agent::adopt(*this, {container, adoption.directory}));
    return AdmitOutcome{std::nullopt, std::move(adopted.not_enforced)};
  }
  PINFOLD_LET(std::string directory, directory_to_adopt(pod, adoption));
  if (is_active) {
    AgentState next = state();
    note_adopted(next, container, std::move(directory));
    PINFOLD_TRY(store(std::move(next)));
    return AdmitOutcome{};
  }
  PINFOLD_LET(Decided decided, decide_all(state(), {pod}, nullptr));
  AdmitOutcome outcome = std::move(decided.outcomes.front());
  if (!outcome.rejection) {
    PINFOLD_LET(decided.next.node,
                start_container(*node_, std::move(decided.next.node), container));
    note_adopted(decided.next, container, std::move(directory));
    decided.next.ending.insert(pod.uid);
  }
  decided.outcomes.front() = outcome;
  PINFOLD_TRY(commit({pod}, decided));
  outcome.not_enforced =
      outcome.rejection ? apply(std::set{pod.uid}) : adopt_and_apply({container});
  return outcome;
}

}  // namespace pinfold::agent
