// Runner: what a runtime's plugin must do and answer.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "runner.hpp"
#include "seen.hpp"

namespace pinfold::world {
namespace {

namespace api = nri::api;
using agent::AgentState;

constexpr std::string_view kMount = "/model/";

template <class Message>
ContainerId id_in(const Message& message) {
  return {PodUid(message.pod().uid()), message.container().name()};
}

}  // namespace

/// The rejection of the last admission, or the error that prevents a decision.
struct Runner::Decided {
  ContainerId id;
  std::optional<Rejection> rejection;
  std::string error;
  CpuSet cpus;  ///< exclusive CPUs of the container, or of the sandbox that runs it
  bool is_pod_exclusive = false;

  /// Returns true if offline CPUs cannot be a reason to refuse it.
  [[nodiscard]] bool is_shared() const {
    return error.empty() && cpus.empty() && !is_pod_exclusive;
  }
};

Runner::Decided Runner::decide_last(const ContainerId& id) const {
  Decided decided{id, std::nullopt, "", {}};
  AgentState state = model_;
  for (const verbs::Action& step : steps_) {
    auto expected = expect(*model_node_, state, offline_, step, plugin_model_.places());
    if (std::holds_alternative<verbs::Admit>(step)) {
      decided.rejection.reset();
      decided.error = expected.error;
      if (expected.error.empty()) decided.rejection = expected.rejections.back();
    }
    state = std::move(expected.next);
  }
  const bool is_whole_pod = without_groups(id.pod) != nullptr;
  for (const auto& entry : state.node.cpu.assignments) {
    if (entry.id() == id || (is_whole_pod && entry.pod == id.pod)) decided.cpus |= entry.value;
  }
  decided.is_pod_exclusive = state.node.cpu.assignments.contains(id.pod);
  return decided;
}

const PodSpec* Runner::spec_of(const PodUid& uid) const {
  for (const auto& [number, pod] : runtime_.pods()) {
    if (pod.spec.uid == uid) return &pod.spec;
  }
  return nullptr;
}

/// Copies the adopted groups from `actual`: the processes in a runtime's groups decide which are
/// adopted, see judge_start().
AgentState Runner::with_groups(AgentState expected, const AgentState& actual) {
  expected.notes = actual.notes;  // the plugin's notes about pods
  if (!history_.has_runtime) return without_abandoned(std::move(expected), actual);
  expected.adopted = actual.adopted;
  expected.end_with_group = actual.end_with_group;
  expected.unread = actual.unread;
  return expected;
}

/// Checks the state after the runtime's request in `steps_`: all steps are done or, after a fault,
/// some of them.
void Runner::expect_state(const AgentState& actual, bool had_fault) {
  const auto states = reachable(
      *model_node_, model_, offline_, std::exchange(steps_, {}),
      had_fault || std::exchange(is_taken_back_, false) ? Committed::kAny : Committed::kAll,
      plugin_model_.places());
  const bool is_known = std::any_of(states.begin(), states.end(), [&](const AgentState& one) {
    return actual == with_groups(one, actual);
  });
  if (!is_known) {
    break_promise("state",
                  fmt::format("expected {}, got {}", describe(states.back()), describe(actual)));
  }
  // The plugin does not say which records could not be dropped; the next commit drops them.
  if (had_fault) {
    undecided_.insert(undecided_.end(), states.begin(), states.end());
  } else if (actual != model_) {
    undecided_.clear();
  }
  model_ = actual;
}

/// Returns true if a removal must fail because processes run.
bool Runner::is_busy(const verbs::Action& change) {
  const auto* const remove = std::get_if<verbs::Remove>(&change);
  if (remove == nullptr) return false;
  if (has_processes(change)) return true;
  return std::any_of(model_.adopted.begin(), model_.adopted.end(), [&](const auto& entry) {
    if (entry.pod != remove->pod) return false;
    if (!remove->container.empty() && entry.name != remove->container) return false;
    const std::string group = group_of_directory(node_.kernel, entry.value);
    const Runtime::Pod* const sandboxed = without_groups(entry.pod);
    if (sandboxed != nullptr && group == Runtime::group_of_sandbox(*sandboxed)) return false;
    auto* const dir = node_.kernel.find(group);
    return dir != nullptr && is_populated(*dir);
  });
}

void Runner::begin_call(const nri::PluginRequest& call) {
  expect_state(in_turn_->state(), /*had_fault=*/false);
  steps_ = plugin_model_.begin(model_, call);
  const auto* const stop = std::get_if<api::StopContainerRequest>(&call);
  const auto* const event = std::get_if<api::StateChangeEvent>(&call);
  const bool is_end = event != nullptr && event->event() == api::Event::REMOVE_CONTAINER;
  // A container whose start was refused ends.
  if (stop != nullptr && refused_starts_.erase(stop->container().id()) > 0) {
    may_take_back(id_in(*stop));
  }
  if (is_end && refused_starts_.erase(event->container().id()) > 0) may_take_back(id_in(*event));
  std::erase_if(steps_, [&](const verbs::Action& step) { return is_busy(step); });
  const auto* const creation = std::get_if<api::CreateContainerRequest>(&call);
  if (creation != nullptr) asked_ = id_in(*creation);
  if (event != nullptr && event->event() == api::Event::START_CONTAINER) asked_ = id_in(*event);
}

void Runner::end_call(const nri::PluginRequest& call, const Result<void>& answer) {
  asked_.reset();
  if (!answer) {
    note("  refused: " + answer.error().message);
    if (answer.error().message.empty()) break_promise("reason", "refused without a reason");
  }
  const auto* const event = std::get_if<api::StateChangeEvent>(&call);
  const auto* const creation = std::get_if<api::CreateContainerRequest>(&call);
  const bool is_start = event != nullptr && event->event() == api::Event::START_CONTAINER;
  const ContainerId id = creation != nullptr ? id_in(*creation)
                         : is_start          ? id_in(*event)
                                             : ContainerId();
  const Decided decided = decide_last(id);
  const bool is_asked = creation != nullptr || is_start;
  if (is_asked && !answer && !decided.rejection) {
    // It fails for a reason other than a rejection, so its decision is taken back.
    may_take_back(id);
    if (is_start) refused_starts_.insert(event->container().id());
  }
  calls_.ask(steps_, answer && is_asked && !node_.has_failed(), plugin_model_.places());
  if (creation != nullptr) judge_create(*creation, decided, answer);
  expect_state(in_turn_->state(), node_.has_failed());
  calls_.read(model_);
  if (is_start) judge_start(*event, decided, answer);
  plugin_model_.end(model_, call);
}

/// Allows the decision to be taken back: the container is removed, and its pod too if it has no
/// others; otherwise the others are decided again without it.
void Runner::may_take_back(const ContainerId& id) {
  AgentState state = model_;
  for (const verbs::Action& step : steps_) {
    state = expect(*model_node_, state, offline_, step, plugin_model_.places()).next;
  }
  steps_.emplace_back(verbs::Remove{id.pod, id.name, {}});
  if (const ActivePod* const pod = state.node.find(id.pod)) {
    PodSpec rest = pod->spec;
    std::erase_if(rest.containers, [&](const Container& one) { return one.name == id.name; });
    if (!rest.containers.empty()) steps_.emplace_back(verbs::Admit{{std::move(rest)}});
  }
  steps_.emplace_back(verbs::Remove{id.pod, "", {}});
  is_taken_back_ = true;
}

/// Checks that a container that decide() admits is created, and that a rejected one is not, with
/// the right reason.
void Runner::judge_create(const api::CreateContainerRequest& request, const Decided& decided,
                          const Result<void>& answer) {
  const bool has_all_cpus = offline_.empty() && node_.online() == model_node_->machine().all_cpus();
  const bool is_only_stored_later =
      node_.has_only_filled_up() && decided.is_shared() && steps_.size() == 1;
  if ((node_.has_failed() && !is_only_stored_later) || (!has_all_cpus && !decided.is_shared())) {
    has_to_create_again_ = !answer && has_all_cpus;
    return check_reason(answer);
  }
  if (decided.rejection) return check_rejected(*decided.rejection, answer);
  refused_.reset();
  if (answer) return;
  if (!model_.node.cpu.assignments.contains(decided.id)) refused_ = decided.id;
  if (is_excused(decided, request.container(), request.pod(), answer.error())) {
    return check_reason(answer);
  }
  break_promise("admits", "what is admitted is not created: " + answer.error().message);
}

/// Returns true if something outside Pinfold prevents an admitted container from being created or
/// started: only if it needs exclusive CPUs, or if all CPUs are exclusive to others.
bool Runner::is_excused(const Decided& decided, const api::Container& container,
                        const api::PodSandbox& sandbox, const Error& error) {
  const std::string group(container.linux().cgroups_path().substr(1));
  if (decided.cpus.empty() && !has_room(group, exclusive_in(model_))) return true;
  const std::string& handler = sandbox.runtime_handler();
  const bool names_handler = !handler.empty() && error.message.find(handler) != std::string::npos;
  if (decided.is_pod_exclusive && names_handler) return true;
  return !decided.cpus.empty() && !can_be_free(decided.id, group, decided.cpus);
}

void Runner::check_rejected(const Rejection& rejection, const Result<void>& answer) {
  if (answer) return break_promise("answer", "accepted although rejected: " + rejection.message);
  const std::string why = fmt::format("{}: {}", rejection.reason, rejection.message);
  if (!answer.error().message.ends_with(why)) {
    break_promise("reason", fmt::format("expected '{}', got '{}'", why, answer.error().message));
  }
}

/// Checks a refusal after a fault or while CPUs are offline: it must have one of the known causes.
void Runner::check_reason(const Result<void>& answer) {
  if (answer) return;
  constexpr std::array kCauses = {
      "is rejected, ", "offline",      "Input/output error", "No space left on device",
      " runs on CPU",  " can run on ", "runtime class"};
  const std::string& why = answer.error().message;
  const bool is_known = std::any_of(kCauses.begin(), kCauses.end(), [&](const char* cause) {
    return why.find(cause) != std::string::npos;
  });
  if (!is_known) break_promise("reason", "no known cause: " + why);
}

/// Checks that a container that may start has its group adopted, and that one that may not has a
/// cause. A container that was created while there was no plugin is decided now.
void Runner::judge_start(const api::StateChangeEvent& event, const Decided& decided,
                         const Result<void>& answer) {
  const bool has_all_cpus = offline_.empty() && node_.online() == model_node_->machine().all_cpus();
  if (!answer) {
    if (node_.has_failed() || (!has_all_cpus && !decided.is_shared())) return check_reason(answer);
    if (decided.rejection) return check_rejected(*decided.rejection, answer);
    const bool is_true = is_excused(decided, event.container(), event.pod(), answer.error());
    if (is_true) return check_reason(answer);
    return break_promise("admits", "a container does not start: " + answer.error().message);
  }
  if (!event.pod().runtime_handler().empty()) return;  // it has no group
  const std::string group(event.container().linux().cgroups_path().substr(1));
  const std::string* const adopted = model_.adopted.find(decided.id);
  if (adopted != nullptr && *adopted == std::string(kMount) + group) return;
  // A shared container starts anyway, and is adopted once that can be stored.
  if (decided.cpus.empty() && node_.has_failed()) return;
  break_promise("state", fmt::format("'{}' has started, and was not adopted", group));
}

}  // namespace pinfold::world
