#include "scenario/scenario_runtime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "scenario/scenario_fields.hpp"

/// Reads the container runtime of a scenario and the steps that use it.
namespace pinfold::harness {
namespace {

std::string read_container_name(FieldReader& fields) {
  std::string name = fields.required_text("container");
  const std::size_t slash = name.find('/');
  if (!fields.failed() && (slash == 0 || slash == std::string::npos || slash + 1 == name.size())) {
    fields.complain("container", fmt::format("'{}': expected POD/CONTAINER", name));
  }
  return name;
}

ContainerStep read_container(FieldReader& fields, ContainerStep::Do what) {
  return {what, read_container_name(fields), 0, fields.text("error", "")};
}

PodStep read_pod(FieldReader& fields, PodStep::Do what) {
  return {what, fields.required_text("pod"), fields.text("error", "")};
}

/// Follows the pods and containers through the steps.
class RuntimeOrder {
 public:
  /// Returns what is wrong with the next step at its position; "" if nothing is.
  [[nodiscard]] std::string follow(const StepAction& action) {
    return std::visit([this](const auto& step) { return this->check(step); }, action);
  }

 private:
  enum class State { kUnknown, kCreated, kStarted, kStopped };

  template <class Other>
  [[nodiscard]] static std::string check(const Other&) {
    return "";
  }

  [[nodiscard]] std::string check(const RunPodStep& step) {
    if (std::string wrong = needs_up(step.error); !wrong.empty()) return wrong;
    if (pods_.contains(step.pod)) return fmt::format("pod '{}' is already running", step.pod);
    if (step.error.empty()) pods_[step.pod] = step.containers;
    return "";
  }

  [[nodiscard]] std::string check(const PodStep& step) {
    if (std::string wrong = needs_up(step.error); !wrong.empty()) return wrong;
    const auto pod = pods_.find(step.pod);
    if (pod == pods_.end()) return fmt::format("pod '{}' does not run", step.pod);
    if (!step.error.empty()) return "";
    for (const std::string& name : pod->second) {
      State& state = state_of(step.pod + "/" + name);
      if (step.what == PodStep::Do::kRemove) {
        state = State::kUnknown;
      } else if (state != State::kUnknown) {
        state = State::kStopped;
      }
    }
    if (step.what == PodStep::Do::kRemove) pods_.erase(pod);
    return "";
  }

  [[nodiscard]] std::string check(const ContainerStep& step) {
    if (std::string wrong = needs_up(step.error); !wrong.empty()) return wrong;
    State& state = state_of(step.container);
    using Do = ContainerStep::Do;
    if (step.what == Do::kCreate) {
      if (std::string wrong = needs_pod(step.container); !wrong.empty()) return wrong;
      if (state != State::kUnknown) return is_not(step.container, "removed");
      if (step.error.empty()) state = State::kCreated;
      return "";
    }
    if (state == State::kUnknown) return is_not(step.container, "created");
    if (!step.error.empty()) return "";
    if (step.what == Do::kStart && state != State::kCreated) {
      return fmt::format("container '{}' was already started", step.container);
    }
    state = step.what == Do::kStart  ? State::kStarted
            : step.what == Do::kStop ? State::kStopped
                                     : State::kUnknown;
    return "";
  }

  [[nodiscard]] std::string check(const ExecContainerStep& step) {
    if (std::string wrong = needs_up(""); !wrong.empty()) return wrong;
    const bool runs = state_of(step.container) == State::kStarted;
    return runs ? "" : is_not(step.container, "started");
  }

  [[nodiscard]] std::string check(const RuntimeStep& step) {
    const bool kills = step.what == RuntimeStep::Do::kKill;
    std::string wrong = kills ? needs_up("") : "";
    up_ = !kills;
    return wrong;
  }

  /// A step that expects an error may call a runtime that is down.
  [[nodiscard]] std::string needs_up(const std::string& error) const {
    return up_ || !error.empty() ? "" : "the runtime was killed: expected restartRuntime before";
  }

  [[nodiscard]] std::string needs_pod(const std::string& container) const {
    const std::size_t slash = container.find('/');
    const auto pod = pods_.find(container.substr(0, slash));
    if (pod == pods_.end()) {
      return fmt::format("pod '{}' does not run: expected runPod before",
                         container.substr(0, slash));
    }
    const auto& names = pod->second;
    if (std::find(names.begin(), names.end(), container.substr(slash + 1)) != names.end()) {
      return "";
    }
    return fmt::format("pod '{}' has no container '{}'", pod->first, container.substr(slash + 1));
  }

  [[nodiscard]] static std::string is_not(const std::string& container, const char* done) {
    return fmt::format("container '{}' is not {} by an earlier step", container, done);
  }

  [[nodiscard]] State& state_of(const std::string& container) { return containers_[container]; }

  bool up_ = true;
  std::map<std::string, std::vector<std::string>> pods_;  ///< with the names of their containers
  std::map<std::string, State> containers_;
};

}  // namespace

StepAction read_run_pod(FieldReader& fields) {
  RunPodStep step;
  const nlohmann::json* pod = fields.find("pod");
  if (pod != nullptr && pod->is_object()) {
    step.manifest = pod->dump(2, ' ', true, nlohmann::json::error_handler_t::replace);
  } else {
    step.file = fields.required_text("pod");
  }
  step.error = fields.text("error", "");
  return step;
}

StepAction read_stop_pod(FieldReader& fields) { return read_pod(fields, PodStep::Do::kStop); }
StepAction read_remove_pod(FieldReader& fields) { return read_pod(fields, PodStep::Do::kRemove); }

StepAction read_create_container(FieldReader& fields) {
  return read_container(fields, ContainerStep::Do::kCreate);
}
StepAction read_start_container(FieldReader& fields) {
  return read_container(fields, ContainerStep::Do::kStart);
}
StepAction read_stop_container(FieldReader& fields) {
  ContainerStep step = read_container(fields, ContainerStep::Do::kStop);
  step.grace_s = fields.integer("grace", 0, 0, 600);
  return step;
}
StepAction read_remove_container(FieldReader& fields) {
  return read_container(fields, ContainerStep::Do::kRemove);
}

StepAction read_exec_container(FieldReader& fields) {
  return ExecContainerStep{read_container_name(fields), read_command(fields), read_status(fields),
                           fields.text("output", "")};
}

StepAction read_kill_runtime(FieldReader& /*fields*/) {
  return RuntimeStep{RuntimeStep::Do::kKill};
}
StepAction read_restart_runtime(FieldReader& /*fields*/) {
  return RuntimeStep{RuntimeStep::Do::kRestart};
}

std::string read_runtime(FieldReader& fields, const VmMachine& machine) {
  if (fields.find("runtime") == nullptr) return "";
  const std::size_t index = fields.chosen("runtime", {std::begin(kRuntimes), std::end(kRuntimes)});
  if (fields.failed()) return "";
  if (machine.platform.cgroup != CgroupMode::kV2) {
    fields.complain("runtime", fmt::format("expected only platforms with v2, not {}",
                                           to_string(machine.platform)));
  } else if (machine.platform.arch != Arch::kAmd64) {
    fields.complain("runtime", fmt::format("expected only platforms of amd64, not {}",
                                           to_string(machine.platform)));
  } else if (machine.memory() < kRuntimeMemory) {
    fields.complain("runtime", fmt::format("expected a machine with {}Mi of memory or more",
                                           kRuntimeMemory / kMiB));
  }
  return std::string(kRuntimes[index]);
}

bool needs_runtime(const StepAction& action) {
  return std::holds_alternative<RunPodStep>(action) || std::holds_alternative<PodStep>(action) ||
         std::holds_alternative<ContainerStep>(action) ||
         std::holds_alternative<ExecContainerStep>(action) ||
         std::holds_alternative<RuntimeStep>(action);
}

std::optional<Complaint> check_runtime_steps(const Scenario& scenario) {
  RuntimeOrder order;
  for (const ScenarioStep& step : scenario.steps) {
    if (!needs_runtime(step.action)) continue;
    if (scenario.runtime.empty()) return Complaint{step.path, "expected a scenario with a runtime"};
    if (std::string wrong = order.follow(step.action); !wrong.empty()) {
      return Complaint{step.path, std::move(wrong)};
    }
  }
  return std::nullopt;
}

}  // namespace pinfold::harness
