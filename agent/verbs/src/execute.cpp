#include "pinfold/verbs/execute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>

#include "pinfold/agent/reconcile.hpp"
#include "pinfold/decide/decide.hpp"
#include "pinfold/enforce/live_process.hpp"

namespace pinfold::verbs {
namespace {

using agent::NodeAgent;

/// Opens the process, not a later one with the same number.
Result<enforce::LiveProcess> open_process(const enforce::ProcessId& id) {
  PINFOLD_LET(auto process, enforce::LiveProcess::open(id.pid));
  const auto now = enforce::identify(id.pid);
  if (now == id && process.is_running()) return process;
  return fail(ErrorCode::kNotFound, fmt::format("process {}: it has ended", id.pid));
}

Result<Answer> changed(Result<agent::ChangeOutcome> outcome) {
  PINFOLD_LET(auto done, std::move(outcome));
  return done;
}

Result<Answer> done(Result<void> outcome) {
  PINFOLD_TRY(std::move(outcome));
  return Done{};
}

struct Execute {
  NodeAgent& agent;
  const NodeSource& source;

  Result<Answer> operator()(const Admit& request) const {
    return std::move(admit_together(agent, {&request}).front());
  }
  Result<Answer> operator()(const PreviewAdmit& request) const {
    PINFOLD_LET(auto admissions, preview(agent, request));
    return admissions;
  }
  Result<Answer> operator()(const Start& request) const {
    return changed(agent.start(request.container));
  }
  Result<Answer> operator()(const Attach& request) const {
    PINFOLD_LET(const auto process, open_process(request.process));
    return done(attach(agent, request.container, process));
  }
  Result<Answer> operator()(const Resize& request) const {
    Trace trace;
    PINFOLD_LET(auto outcome,
                agent.resize(request.request, request.wants_trace ? &trace : nullptr));
    if (request.wants_trace) outcome.trace = std::move(trace);
    return outcome;
  }
  Result<Answer> operator()(const Remove& request) const {
    if (request.container.empty()) return changed(agent.remove_pod(request.pod, request.running));
    return changed(agent.remove_container({request.pod, request.container}, request.running));
  }
  Result<Answer> operator()(const ReleaseUnknown& /*request*/) const {
    return changed(agent.release_unknown());
  }
  Result<Answer> operator()(const AdmitHooked& request) const {
    if (!request.process) return admit_hooked(agent, request, [] { return false; });
    PINFOLD_LET(const auto process, open_process(*request.process));
    return admit_hooked(agent, request, [&] { return !process.is_running(); });
  }
  Result<Answer> operator()(const PrepareHooked& request) const {
    return prepare_hooked(agent, request);
  }
  Result<Answer> operator()(const RemoveHooked& request) const {
    return remove_hooked(agent, request.container);
  }
  Result<Answer> operator()(const Reconcile& request) const {
    PINFOLD_LET(auto report, reconcile(agent, request.pages));
    return report;
  }
  Result<Answer> operator()(const CheckpointJournal& /*request*/) const {
    return done(agent.checkpoint_journal());
  }
  Result<Answer> operator()(const Adopt& request) const {
    return changed(
        adopt(agent, {{request.pod, request.adoption.container}, request.adoption.directory}));
  }
  Result<Answer> operator()(const ReadComparison& /*request*/) const { return Done{}; }
  Result<Answer> operator()(const ReadService& /*request*/) const { return ServiceReport{}; }
  Result<Answer> operator()(const ReadStatus& /*request*/) const {
    PINFOLD_LET(auto status, agent::node_status(agent));
    return status;
  }
  Result<Answer> operator()(const ListPods& /*request*/) const {
    return PodList{agent::decided_pods(agent)};
  }
  Result<Answer> operator()(const Reconfigure& request) const {
    PINFOLD_LET(auto outcome, reconfigure(agent, request, source));
    return outcome;
  }
  Result<Answer> operator()(const Defragment& request) const {
    PINFOLD_LET(auto outcome, defragment(agent, request));
    return outcome;
  }
};

/// Moves the next `count` elements out of a list that is not empty.
template <class T>
std::vector<T> take(std::vector<T>& list, std::size_t& position, std::size_t count) {
  if (list.empty()) return {};
  const auto begin = std::make_move_iterator(list.begin() + static_cast<std::ptrdiff_t>(position));
  position += count;
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

/// Adds the pods of an answer, as desired by `state`.
void add_pods(const NodeAgent& agent, const agent::AgentState& state,
              const std::vector<PodSpec>& pods, Admissions& admissions) {
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const agent::AdmitOutcome& decided = admissions.outcomes[i];
    admissions.pods.push_back(agent::decided_pod(agent, state, pods[i], decided.rejection));
    admissions.pods.back().notes = decided.notes;
  }
}

/// Starts all containers of an admitted pod, in order.
Result<void> start_all(const Node& node, const PodSpec& pod, agent::AgentState& state) {
  for (const Container& container : pod.containers) {
    const ContainerId id{pod.uid, container.name};
    PINFOLD_LET(state.node, start_container(node, std::move(state.node), id));
    state.removed.erase(id);
  }
  return {};
}

}  // namespace

Result<Admissions> preview(const NodeAgent& agent, const PreviewAdmit& request) {
  Admissions admissions;
  admissions.warnings = request.warnings;
  // On the heap, because a runtime's threads have small stacks.
  const auto state = std::make_unique<agent::AgentState>(agent.state());
  const std::vector<PodSpec>& pods = request.pods;
  // Like Admit, decides all pods in one transaction, unless one starts before the next.
  const auto count = static_cast<std::ptrdiff_t>(request.starts ? 1 : pods.size());
  for (auto begin = pods.begin(); begin != pods.end(); begin += count) {
    const std::vector<PodSpec> some(begin, begin + count);
    const auto decided = std::make_unique<Result<agent::Preview>>(
        agent.preview_after(*state, some, request.wants_trace ? &admissions.traces : nullptr));
    if (!*decided) return tl::unexpected(std::move(*decided).error());
    agent::Preview& preview = **decided;
    *state = std::move(preview.next);
    if (request.starts && !preview.outcomes.front().rejection) {
      PINFOLD_TRY(start_all(agent.node(), some.front(), *state));
    }
    std::move(preview.outcomes.begin(), preview.outcomes.end(),
              std::back_inserter(admissions.outcomes));
  }
  add_pods(agent, *state, pods, admissions);
  return admissions;
}

Result<Answer> execute(NodeAgent& agent, const Action& action, const NodeSource& source) {
  return std::visit(Execute{agent, source}, action);
}

std::vector<Result<Answer>> admit_together(NodeAgent& agent,
                                           const std::vector<const Admit*>& requests) {
  std::vector<PodSpec> pods;
  bool wants_trace = false;
  for (const Admit* const request : requests) {
    pods.insert(pods.end(), request->pods.begin(), request->pods.end());
    wants_trace = wants_trace || request->wants_trace;
  }
  std::vector<Trace> traces;
  // What a runtime has shown belongs to one request, which waits for no other.
  const agent::FromRuntime none;
  const agent::FromRuntime& shown = requests.size() == 1 ? requests.front()->shown : none;
  auto outcomes = agent.admit(pods, wants_trace ? &traces : nullptr, shown);
  std::vector<Result<Answer>> answers;
  if (!outcomes && requests.size() == 1) {
    answers.emplace_back(fail(std::move(outcomes).error()));
    return answers;
  }
  if (!outcomes) {  // nothing has changed; an error in one must not fail the others
    for (const Admit* const request : requests) {
      answers.push_back(std::move(admit_together(agent, {request}).front()));
    }
    return answers;
  }
  std::size_t outcome = 0;
  std::size_t trace = 0;
  for (const Admit* const request : requests) {
    const std::size_t count = request->pods.size();
    Admissions admissions{
        take(*outcomes, outcome, count), take(traces, trace, count), {}, request->warnings};
    if (!request->wants_trace) admissions.traces.clear();
    if (request->wants_pods) add_pods(agent, agent.state(), request->pods, admissions);
    answers.emplace_back(std::move(admissions));
  }
  return answers;
}

}  // namespace pinfold::verbs
