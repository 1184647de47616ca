#include "scenario/scenario_kubelet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>
#include <vector>

#include "pinfold/harness/json.hpp"
#include "scenario/scenario_fields.hpp"

namespace pinfold::harness {
namespace {

/// Returns true for "$NAME" with the name of an environment variable.
bool is_variable(const std::string& text) {
  const auto is_letter = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  };
  return text.size() > 1 && text[0] == '$' && is_letter(text[1]) &&
         std::all_of(text.begin() + 1, text.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

/// Reads the fields of a start: program, configuration, and expected outcome.
void read_start_of(FieldReader& fields, KubeletStep& step) {
  using Answer = KubeletStep::Answer;
  step.binary = read_kubelet_program(fields, "binary");
  step.config = read_kubelet(fields, "config");
  step.answer = fields.choice<Answer>(
      "answer", {{"started", Answer::kStarted}, {"refused", Answer::kRefused}});
  step.message = fields.text("message", "");
}

std::string read_signal(FieldReader& fields) {
  static constexpr std::string_view kSignals[] = {"TERM", "KILL", "INT", "QUIT", "ABRT"};
  return std::string(kSignals[fields.chosen("signal", {std::begin(kSignals), std::end(kSignals)})]);
}

/// Follows the kubelet and its pods through the steps.
class KubeletOrder {
 public:
  /// Returns what is wrong with the next step at its position; "" if nothing is.
  [[nodiscard]] std::string follow(const ScenarioStep& step) {
    std::string wrong =
        std::visit([this](const auto& action) { return this->check(action); }, step.action);
    if (!wrong.empty() || !std::holds_alternative<KubeletStep>(step.action)) return wrong;
    will_be_killed_ = step.kill_at.has_value();
    return will_be_killed_ && !runs_ ? "expected the answer started with killAt" : "";
  }

 private:
  template <class Other>
  [[nodiscard]] static std::string check(const Other&) {
    return "";
  }

  [[nodiscard]] std::string check(const KubeletStep& step) {
    using Do = KubeletStep::Do;
    if (will_be_killed_) return "the kubelet is killed at its killAt: expected waitKubelet before";
    if (step.what == Do::kStart && runs_) return "the kubelet runs already: use restartKubelet";
    if (step.what == Do::kStop && !runs_) return kDoesNotRun;
    runs_ = step.what != Do::kStop && step.answer == KubeletStep::Answer::kStarted;
    return "";
  }

  [[nodiscard]] std::string check(const WaitKubeletStep&) {
    if (!will_be_killed_) return "the kubelet is not killed: expected killAt with its start before";
    will_be_killed_ = runs_ = false;
    return "";
  }

  [[nodiscard]] std::string check(const RunStaticPodStep& step) {
    pods_.insert(step.pod);
    return "";
  }

  [[nodiscard]] std::string check(const RemoveStaticPodStep& step) { return needs_pod(step.pod); }

  [[nodiscard]] std::string check(const WaitPodStep& step) {
    return runs_ ? needs_pod(step.pod) : kDoesNotRun;
  }

  [[nodiscard]] static std::string check(const RunPodStep&) { return kOwnPods; }
  [[nodiscard]] static std::string check(const PodStep&) { return kOwnPods; }
  [[nodiscard]] static std::string check(const ContainerStep&) { return kOwnPods; }
  [[nodiscard]] static std::string check(const ExecContainerStep&) { return kOwnPods; }

  [[nodiscard]] std::string needs_pod(const std::string& pod) const {
    return pods_.contains(pod)
               ? ""
               : fmt::format("pod '{}' has no manifest: expected runStaticPod before", pod);
  }

  static constexpr const char* kDoesNotRun =
      "the kubelet does not run: expected startKubelet before";
  static constexpr const char* kOwnPods =
      "the machine has a kubelet, which removes the pods of others: expected runStaticPod";

  bool runs_ = false;
  bool will_be_killed_ = false;
  std::set<std::string> pods_;  ///< that have or had a manifest
};

/// Replaces "$NAME" by the variable's value. Returns false if it is not set.
Result<bool> resolve(std::string& program, Scenario& scenario) {
  if (program.empty()) return true;
  if (program[0] == '$') {
    const std::string name = program.substr(1);
    const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): one thread
    if (value == nullptr || *value == '\0') {
      scenario.skipped = fmt::format("{} is not set: expected the full path of a kubelet", name);
      return false;
    }
    program = value;
    if (program[0] != '/') {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}: '{}': expected the full path of a kubelet", name, program));
    }
  }
  auto& known = scenario.kubelets;
  if (std::find(known.begin(), known.end(), program) == known.end()) known.emplace_back(program);
  return true;
}

}  // namespace

std::string read_kubelet_program(FieldReader& fields, const char* key) {
  std::string program = fields.text(key, "");
  const bool named = !fields.failed() && fields.find(key) != nullptr;
  if (named && !program.starts_with('/') && !is_variable(program)) {
    fields.complain(key, fmt::format("'{}': expected the full path of a kubelet, or the name of an "
                                     "environment variable with it, such as $PINFOLD_KUBELET",
                                     program.substr(0, 60)));
  }
  return program;
}

StepAction read_start_kubelet(FieldReader& fields) {
  KubeletStep step;
  read_start_of(fields, step);
  return step;
}

StepAction read_restart_kubelet(FieldReader& fields) {
  KubeletStep step;
  step.what = KubeletStep::Do::kRestart;
  step.signal = read_signal(fields);
  read_start_of(fields, step);
  return step;
}

StepAction read_stop_kubelet(FieldReader& fields) {
  KubeletStep step;
  step.what = KubeletStep::Do::kStop;
  step.signal = read_signal(fields);
  return step;
}

StepAction read_wait_kubelet(FieldReader&) { return WaitKubeletStep{}; }

StepAction read_run_static_pod(FieldReader& fields) {
  RunStaticPodStep step;
  const Json* pod = fields.find("pod");
  if (pod != nullptr && pod->is_object()) {
    step.manifest = pod->dump(2, ' ', true, Json::error_handler_t::replace);
  } else {
    step.file = fields.required_text("pod");
  }
  return step;
}

StepAction read_remove_static_pod(FieldReader& fields) {
  return RemoveStaticPodStep{fields.required_text("pod")};
}

StepAction read_wait_pod(FieldReader& fields) {
  using Until = WaitPodStep::Until;
  WaitPodStep step;
  step.pod = fields.required_text("pod");
  step.until = fields.choice<Until>(
      "until",
      {{"running", Until::kRunning}, {"rejected", Until::kRejected}, {"removed", Until::kRemoved}});
  step.reason = fields.text("reason", "");
  step.message = fields.text("message", "");
  return step;
}

bool needs_kubelet(const StepAction& action) {
  return std::holds_alternative<KubeletStep>(action) ||
         std::holds_alternative<WaitKubeletStep>(action) ||
         std::holds_alternative<RunStaticPodStep>(action) ||
         std::holds_alternative<RemoveStaticPodStep>(action) ||
         std::holds_alternative<WaitPodStep>(action);
}

std::optional<Complaint> check_kubelet_steps(const Scenario& scenario) {
  const bool has_kubelet = !scenario.machine.kubelet.empty();
  if (has_kubelet && scenario.runtime.empty()) {
    return Complaint{{"machine", "kubelet"},
                     "expected a container runtime with it, such as runtime: containerd-2.1"};
  }
  KubeletOrder order;
  for (const ScenarioStep& step : scenario.steps) {
    if (needs_kubelet(step.action) && !has_kubelet) {
      return Complaint{step.path, "expected a machine with a kubelet"};
    }
    std::string wrong = has_kubelet ? order.follow(step) : "";
    if (!wrong.empty()) return Complaint{step.path, std::move(wrong)};
  }
  return std::nullopt;
}

Result<void> find_kubelets(Scenario& scenario) {
  std::vector<std::string*> programs = {&scenario.machine.kubelet};
  for (ScenarioStep& step : scenario.steps) {
    if (auto* kubelet = std::get_if<KubeletStep>(&step.action))
      programs.push_back(&kubelet->binary);
  }
  for (std::string* program : programs) {
    PINFOLD_LET(const bool is_set, resolve(*program, scenario));
    if (!is_set) return {};
  }
  return {};
}

}  // namespace pinfold::harness
