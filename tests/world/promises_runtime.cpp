// Runner: what a runtime's plugin must do, and must answer.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "runner.hpp"

namespace pinfold::world {
namespace {

namespace api = nri::api;
using agent::AgentState;

constexpr std::string_view kMount = "/model/";

/// The rejection of the last admission, and what keeps it from being decided.
struct Decided {
  std::optional<Rejection> rejection;
  std::string error;
};

Decided decide_last(const Node& node, AgentState state, const CpuSet& offline,
                    const PluginModel::Steps& steps) {
  Decided decided;
  for (const service::Action& step : steps) {
    auto expected = expect(node, state, offline, step);
    if (std::holds_alternative<service::Admit>(step)) {
      decided = {std::nullopt, expected.error};
      if (expected.error.empty()) decided.rejection = expected.rejections.back();
    }
    state = std::move(expected.next);
  }
  return decided;
}

}  // namespace

const PodSpec* Runner::spec_of(const PodUid& uid) const {
  for (const auto& [number, pod] : runtime_.pods()) {
    if (pod.spec.uid == uid) return &pod.spec;
  }
  return nullptr;
}

/// Which groups of a runtime are adopted, the processes in them decide: see judge_start().
AgentState Runner::with_groups(AgentState expected, const AgentState& actual) {
  if (!history_.has_runtime) return without_abandoned(std::move(expected), actual);
  expected.adopted = actual.adopted;
  return expected;
}

/// After what the runtime has asked for in `steps_`, all of it or, after a fault, a part.
void Runner::expect_state(const AgentState& actual, bool had_fault) {
  const auto states = reachable(*model_node_, model_, offline_, std::exchange(steps_, {}),
                                had_fault ? Committed::kAny : Committed::kAll);
  const bool is_known = std::any_of(states.begin(), states.end(), [&](const AgentState& one) {
    return actual == with_groups(one, actual);
  });
  if (!is_known) {
    break_promise("state",
                  fmt::format("expected {}, got {}", describe(states.back()), describe(actual)));
  }
  // The plugin does not say which records could not be dropped; what is stored later drops them.
  if (had_fault) {
    undecided_.insert(undecided_.end(), states.begin(), states.end());
  } else if (actual != model_) {
    undecided_.clear();
  }
  model_ = actual;
}

/// Whether a removal must fail because processes run.
bool Runner::is_busy(const service::Action& change) {
  const auto* const remove = std::get_if<service::Remove>(&change);
  if (remove == nullptr) return false;
  if (has_processes(change)) return true;
  return std::any_of(model_.adopted.begin(), model_.adopted.end(), [&](const auto& entry) {
    if (entry.pod != remove->pod) return false;
    if (!remove->container.empty() && entry.name != remove->container) return false;
    auto* const dir = node_.kernel.find(entry.value.substr(kMount.size()));
    return dir != nullptr && !dir->processes.empty();
  });
}

void Runner::begin_call(const nri::Request& call) {
  expect_state(in_turn_->state(), /*had_fault=*/false);
  steps_ = plugin_model_.begin(model_, call);
  std::erase_if(steps_, [&](const service::Action& step) { return is_busy(step); });
}

void Runner::end_call(const nri::Request& call, const Result<void>& answer) {
  if (!answer) {
    note("  refused: " + answer.error().message);
    if (answer.error().message.empty()) break_promise("reason", "refused without a reason");
  }
  const auto* const event = std::get_if<api::StateChangeEvent>(&call);
  const bool is_creation = std::holds_alternative<api::CreateContainerRequest>(call);
  const bool is_start = event != nullptr && event->event() == api::Event::START_CONTAINER;
  calls_.ask(steps_, answer && (is_creation || is_start));
  if (is_creation) judge_create(answer);
  const auto rejection = decide_last(*model_node_, model_, offline_, steps_).rejection;
  expect_state(in_turn_->state(), node_.has_failed());
  calls_.read(model_);
  if (is_start) judge_start(*event, rejection, answer);
  plugin_model_.end(model_, call);
}

/// What decide() admits is created, and what it rejects is not, with its reason.
void Runner::judge_create(const Result<void>& answer) {
  const auto [rejection, error] = decide_last(*model_node_, model_, offline_, steps_);
  const bool has_all_cpus = offline_.empty() && node_.online() == model_node_->machine().all_cpus();
  if (node_.has_failed() || !has_all_cpus) {
    has_to_create_again_ = !answer && has_all_cpus;
    return check_reason(answer);
  }
  if (!rejection && !answer) {
    return break_promise("admits", "what is admitted is not created: " + answer.error().message);
  }
  if (rejection) check_rejected(*rejection, answer);
}

void Runner::check_rejected(const Rejection& rejection, const Result<void>& answer) {
  if (answer) return break_promise("answer", "accepted although rejected: " + rejection.message);
  const std::string why = fmt::format("{}: {}", rejection.reason, rejection.message);
  if (!answer.error().message.ends_with(why)) {
    break_promise("reason", fmt::format("expected '{}', got '{}'", why, answer.error().message));
  }
}

/// After a fault, and while CPUs are offline: one of the causes that there are.
void Runner::check_reason(const Result<void>& answer) {
  if (answer) return;
  constexpr std::array kCauses = {"is rejected, ",           "offline",        "Input/output error",
                                  "No space left on device", " runs on CPUs ", " can run on "};
  const std::string& why = answer.error().message;
  const bool is_known = std::any_of(kCauses.begin(), kCauses.end(), [&](const char* cause) {
    return why.find(cause) != std::string::npos;
  });
  if (!is_known) break_promise("reason", "no known cause: " + why);
}

/// Of cgroup v1 nobody gives the group of a pod what it has lost with an offline CPU, so a
/// container with that CPU cannot start: see restart_stranded().
bool Runner::has_lost_cpus(const api::StateChangeEvent& event) {
  const std::string group(event.container().linux().cgroups_path().substr(1));
  auto* const above = node_.kernel.find(group.substr(0, group.rfind('/')));
  return node_.kernel.version == enforce::CgroupVersion::kV1 && above != nullptr &&
         node_.kernel.effective(*above, "cpuset.cpus") != node_.online();
}

/// A container that may start has its group adopted, and one that may not has a cause. One that was
/// created while there was no plugin is decided now.
void Runner::judge_start(const api::StateChangeEvent& event,
                         const std::optional<Rejection>& rejection, const Result<void>& answer) {
  const ContainerId id{PodUid(event.pod().uid()), event.container().name()};
  const bool has_all_cpus = offline_.empty() && node_.online() == model_node_->machine().all_cpus();
  if (!answer) {
    if (node_.has_failed() || !has_all_cpus || has_lost_cpus(event)) return check_reason(answer);
    if (rejection) return check_rejected(*rejection, answer);
    return break_promise("admits", "a container does not start: " + answer.error().message);
  }
  const std::string group(event.container().linux().cgroups_path().substr(1));
  const std::string* const adopted = model_.adopted.find(id);
  if (adopted != nullptr && *adopted == std::string(kMount) + group) return;
  break_promise("state", fmt::format("'{}' has started, and was not adopted", group));
}

}  // namespace pinfold::world
