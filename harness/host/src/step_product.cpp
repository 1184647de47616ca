#include <fmt/format.h>

#include <algorithm>

#include "cgroup_paths.hpp"
#include "difference.hpp"
#include "step_result.hpp"
#include "step_runner.hpp"

/// Steps that call the product in the guest, and processes in its containers.
namespace pinfold::harness {
namespace {

constexpr const char* kProduct = "/usr/bin/pinfold";
constexpr const char* kStateFolder = "/var/lib/pinfold";
constexpr const char* kConfigFile = "/etc/pinfold/config.yaml";
/// Returns true if the program is the container or, if none is named, one of the pod's containers.
bool belongs_to(const std::string& program, const std::string& pod, const std::string& container) {
  return container.empty() ? program.starts_with(pod + "/") : program == pod + "/" + container;
}

}  // namespace

VmResult<void> StepRunner::prepare() {
  if (!scenario_.modules.empty()) {
    PINFOLD_LET(const auto loaded, ask({{"op", "modules"}, {"names", scenario_.modules}}));
    if (!loaded.value("ok", false)) {
      return tl::unexpected(VmFailure{Trouble::kHost, "modules: " + loaded.value("error", "")});
    }
  }
  if (scenario_.machine.disk) {
    PINFOLD_TRY(make_disk());
  }
  PINFOLD_TRY(put_files());
  return mark_disk();
}

VmResult<void> StepRunner::put_files() {
  for (const GuestFile& file : scenario_.files) {
    PINFOLD_TRY(put(file.guest_path, file.text));
  }
  if (!needs_product(scenario_)) return {};
  PINFOLD_TRY(ask({{"op", "mkdir"}, {"path", product_root(cgroup_mode())}}));
  PINFOLD_TRY(ask({{"op", "mkdir"}, {"path", kStateFolder}}));
  return put_config(scenario_.kubelet);
}

VmResult<void> StepRunner::put_config(const KubeletSource& kubelet) {
  return put(kConfigFile, kubelet.config.dump(2, ' ', true, Json::error_handler_t::replace));
}

VmResult<Json> StepRunner::run_product(std::vector<std::string> arguments) {
  std::vector<std::string> argv = {kProduct};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  const std::string root = product_root(cgroup_mode());
  argv.insert(argv.end(), {"--state-dir", kStateFolder, "--cgroup-root", root, "--config",
                           kConfigFile, "--output", "json"});
  return run_command(std::move(argv), "");
}

VmResult<StepResult> StepRunner::act(const AdmitStep& step) {
  const std::string file =
      fmt::format("/etc/pinfold/pods/{}.yaml", step.pod.empty() ? "pod" : step.pod);
  PINFOLD_TRY(put(file, step.manifest));
  std::vector<std::string> arguments = {"admit", file};
  if (step.start) arguments.emplace_back("--start");
  PINFOLD_LET(const auto reply, run_product(std::move(arguments)));
  if (auto killed = end_of_killed(reply)) {
    pods_[step.pod] = {step.uid, step.containers, step.start};  // perhaps admitted already
    return std::move(*killed);
  }
  static constexpr const char* kAnswers[] = {"admitted", "rejected", "error"};
  const int status = reply.value("status", -1);
  const std::string answer = status >= 0 && status <= 2 ? kAnswers[status] : describe_end(reply);
  const std::string said = reply.value("stdout", "") + reply.value("stderr", "");
  const std::string expected = kAnswers[static_cast<int>(step.answer)];
  if (answer != expected) {
    return failure(
        fmt::format("expected '{}', the answer is '{}'{}", expected, answer, reasons_in(reply)));
  }
  if (said.find(step.message) == std::string::npos) {
    return failure(fmt::format("expected '{}' in the answer{}", step.message, reasons_in(reply)));
  }
  if (status == 0) pods_[step.pod] = {step.uid, step.containers, step.start};
  return success();
}

VmResult<std::vector<DesiredContainer>> StepRunner::desired(std::string& problem) {
  if (desired_) return *desired_;
  // Without the service: it knows nothing more, and a scenario may have stopped its process.
  PINFOLD_LET(const auto reply, run_product({"status", "--socket", "/dev/null"}));
  const std::string out = reply.value("stdout", "");
  const Json status = Json::parse(out, nullptr, false);
  // Status 1 means that the product itself found drift. The judge decides.
  const int exit_status = reply.value("status", -1);
  if ((exit_status != 0 && exit_status != 1) || status.is_discarded()) {
    problem =
        fmt::format("'pinfold status' ended with {}{}", describe_end(reply), reasons_in(reply));
    return std::vector<DesiredContainer>{};
  }
  auto containers = desired_containers(status);
  if (!containers) {
    problem = containers.error().message;
    return std::vector<DesiredContainer>{};
  }
  desired_ = *containers;
  return std::move(*containers);
}

VmResult<StepResult> StepRunner::start_one(const StartStep& step, const std::string& name,
                                           const std::string& cgroup) {
  Json request = {{"op", "start"}, {"name", name}, {"cgroup", cgroup}};
  if (step.command.empty()) {
    request["payloadBytes"] = step.memory;
    request["pageSize"] = step.page_size;
  } else {
    request["argv"] = step.command;
  }
  PINFOLD_LET(const auto reply, ask(std::move(request)));
  if (reply.value("ok", false)) {
    running_[name] = cgroup;
    return step.error.empty() ? success() : failure(fmt::format("{} came up", name));
  }
  const std::string said = fmt::format("{} ({})", reply.value("error", ""), describe_end(reply));
  if (!step.error.empty() && said.find(step.error) != std::string::npos) return success();
  return failure(fmt::format("{}: {}", name, said));
}

VmResult<StepResult> StepRunner::start_in_product(const Pod& pod, const std::string& container) {
  for (const std::string& name : pod.containers) {
    if (!container.empty() && name != container) continue;
    PINFOLD_LET(const auto reply, run_product({"start", "--pod", pod.uid, "--container", name}));
    if (auto killed = end_of_killed(reply)) return std::move(*killed);
    if (reply.value("status", -1) != 0) {
      return failure(fmt::format("'pinfold start' of '{}' ended with {}{}", name,
                                 describe_end(reply), reasons_in(reply)));
    }
  }
  return success();
}

VmResult<StepResult> StepRunner::act(const StartStep& step) {
  if (!step.program.empty()) return start_one(step, step.program, step.cgroup);
  const auto pod = pods_.find(step.pod);
  if (pod == pods_.end()) return failure(fmt::format("pod '{}' was not admitted", step.pod));
  if (!pod->second.counts_as_started) {
    const bool to_be_killed = kill_at_.has_value();
    auto told = start_in_product(pod->second, step.container);
    desired_.reset();
    if (!told || !told->ok || to_be_killed) return told;
  }
  std::string problem;
  PINFOLD_LET(const auto containers, desired(problem));
  if (!problem.empty()) return failure(problem);
  int started = 0;
  for (const DesiredContainer& container : containers) {
    if (!belongs_to(container.name, step.pod, step.container)) continue;
    auto one = start_one(step, container.name, container.cgroup);
    if (!one || !one->ok) return one;
    ++started;
  }
  return started > 0
             ? success()
             : failure(fmt::format("pod '{}' has no container {}", step.pod, step.container));
}

VmResult<StepResult> StepRunner::act(const RemoveStep& step) {
  const auto pod = pods_.find(step.pod);
  if (pod == pods_.end()) return failure(fmt::format("pod '{}' was not admitted", step.pod));
  std::vector<std::string> programs;
  for (const auto& [program, cgroup] : running_) {
    if (belongs_to(program, step.pod, step.container)) programs.push_back(program);
  }
  for (const std::string& program : programs) {
    auto stopped = act(StopStep{program});
    if (!stopped || !stopped->ok) return stopped;
  }
  std::vector<std::string> arguments = {"remove", "--pod", pod->second.uid};
  if (!step.container.empty()) {
    arguments.insert(arguments.end(), {"--container", step.container});
  }
  PINFOLD_LET(const auto reply, run_product(std::move(arguments)));
  if (auto killed = end_of_killed(reply)) return std::move(*killed);
  if (reply.value("status", -1) != 0) {
    return failure(
        fmt::format("'pinfold remove' ended with {}{}", describe_end(reply), reasons_in(reply)));
  }
  if (step.container.empty()) pods_.erase(pod);
  return success();
}

VmResult<StepResult> StepRunner::act(const RestartStep& step) {
  if (step.kubelet) {
    PINFOLD_TRY(put_config(*step.kubelet));
  }
  // `reconcile` does what the product does first after a restart: loads its state and reconciles.
  PINFOLD_LET(const auto reply, run_product({"reconcile"}));
  if (auto killed = end_of_killed(reply)) return std::move(*killed);
  const std::string said = reply.value("stdout", "") + reply.value("stderr", "");
  const int status = reply.value("status", -1);
  const int expected = step.answer == RestartStep::Answer::kOk ? 0 : 2;
  if (status != expected) {
    return failure(fmt::format("expected status {}, 'pinfold reconcile' ended with {}{}", expected,
                               describe_end(reply), reasons_in(reply)));
  }
  if (said.find(step.message) == std::string::npos) {
    return failure(fmt::format("expected '{}' in the answer{}", step.message, reasons_in(reply)));
  }
  return success();
}

VmResult<std::string> StepRunner::cgroup_of(const std::string& container, StepResult& result) {
  const auto of_runtime = runtime_cgroups();
  if (const auto group = of_runtime.find(container); group != of_runtime.end()) {
    return group->second;
  }
  if (!scenario_.runtime.empty() && !needs_product(scenario_)) {
    result.message = fmt::format("there is no container '{}'", container);
    return std::string{};
  }
  PINFOLD_LET(const auto containers, desired(result.message));
  const auto found = std::find_if(containers.begin(), containers.end(),
                                  [&](const auto& one) { return one.name == container; });
  if (found != containers.end()) return found->cgroup;
  if (result.message.empty()) result.message = fmt::format("there is no container '{}'", container);
  return std::string{};
}

}  // namespace pinfold::harness
