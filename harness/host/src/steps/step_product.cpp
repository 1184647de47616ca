#include "steps/step_product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "judge/difference.hpp"
#include "scenario/cgroup_paths.hpp"
#include "steps/step_kubelet.hpp"
#include "steps/step_result.hpp"
#include "steps/step_runtime.hpp"
#include "steps/steps.hpp"

namespace pinfold::harness {
namespace {

constexpr const char* kProduct = "/usr/bin/pinfold";
constexpr const char* kStateFolder = "/var/lib/pinfold";
constexpr const char* kConfigFile = "/etc/pinfold/config.yaml";

/// Returns true if the program is the container or, if none is named, one of the pod's containers.
bool belongs_to(const std::string& program, const std::string& pod, const std::string& container) {
  return container.empty() ? program.starts_with(pod + "/") : program == pod + "/" + container;
}

VmResult<void> put_config(StepContext& context, const KubeletSource& kubelet) {
  return context.put(kConfigFile,
                     kubelet.config.dump(2, ' ', true, Json::error_handler_t::replace));
}

VmResult<Json> run_product(StepContext& context, std::vector<std::string> arguments) {
  std::vector<std::string> argv = {kProduct};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  const std::string root = product_root(context.cgroup_mode());
  argv.insert(argv.end(), {"--state-dir", kStateFolder, "--cgroup-root", root, "--config",
                           kConfigFile, "--output", "json"});
  return context.run_command(std::move(argv), "");
}

VmResult<StepResult> start_one(StepContext& context, const StartStep& step, const std::string& name,
                               const std::string& cgroup) {
  Json request = {{"op", "start"}, {"name", name}, {"cgroup", cgroup}};
  if (step.command.empty()) {
    request["payloadBytes"] = step.memory;
    request["pageSize"] = step.page_size;
  } else {
    request["argv"] = step.command;
  }
  PINFOLD_LET(const auto reply, context.ask(std::move(request)));
  if (reply.value("ok", false)) {
    context.running[name] = cgroup;
    return step.error.empty() ? success() : failure(fmt::format("{} started", name));
  }
  const std::string said = fmt::format("{} ({})", reply.value("error", ""), describe_end(reply));
  if (!step.error.empty() && said.find(step.error) != std::string::npos) return success();
  return failure(fmt::format("{}: {}", name, said));
}

/// Calls `pinfold start` for a container, or for all of a pod in order.
VmResult<StepResult> start_in_product(StepContext& context, const ScenarioPod& pod,
                                      const std::string& container) {
  for (const std::string& name : pod.containers) {
    if (!container.empty() && name != container) continue;
    PINFOLD_LET(const auto reply,
                run_product(context, {"start", "--pod", pod.uid, "--container", name}));
    if (auto killed = context.end_of_killed(reply)) return std::move(*killed);
    if (reply.value("status", -1) != 0) {
      return failure(fmt::format("'pinfold start' of '{}' ended with {}{}", name,
                                 describe_end(reply), reasons_in(reply)));
    }
  }
  return success();
}

}  // namespace

VmResult<void> put_files(StepContext& context) {
  for (const GuestFile& file : context.scenario.files) {
    PINFOLD_TRY(context.put(file.guest_path, file.text));
  }
  if (!needs_product(context.scenario)) return {};
  PINFOLD_TRY(context.ask({{"op", "mkdir"}, {"path", product_root(context.cgroup_mode())}}));
  PINFOLD_TRY(context.ask({{"op", "mkdir"}, {"path", kStateFolder}}));
  return put_config(context, context.scenario.kubelet);
}

VmResult<StepResult> act(StepContext& context, const AdmitStep& step) {
  const std::string file =
      fmt::format("/etc/pinfold/pods/{}.yaml", step.pod.empty() ? "pod" : step.pod);
  PINFOLD_TRY(context.put(file, step.manifest));
  std::vector<std::string> arguments = {"admit", file};
  if (step.start) arguments.emplace_back("--start");
  PINFOLD_LET(const auto reply, run_product(context, std::move(arguments)));
  if (auto killed = context.end_of_killed(reply)) {
    context.pods[step.pod] = {step.uid, step.containers, step.start};  // perhaps admitted already
    return std::move(*killed);
  }
  static constexpr const char* kAnswers[] = {"admitted", "rejected", "error"};
  const int status = reply.value("status", -1);
  const std::string known = admit_answer(status, reply.value("stdout", ""));
  const std::string answer = known.empty() ? describe_end(reply) : known;
  const std::string said = reply.value("stdout", "") + reply.value("stderr", "");
  const std::string expected = kAnswers[static_cast<int>(step.answer)];
  if (answer != expected) {
    return failure(
        fmt::format("expected '{}', the answer is '{}'{}", expected, answer, reasons_in(reply)));
  }
  if (said.find(step.message) == std::string::npos) {
    return failure(fmt::format("expected '{}' in the answer{}", step.message, reasons_in(reply)));
  }
  if (status == 0) context.pods[step.pod] = {step.uid, step.containers, step.start};
  return success();
}

VmResult<std::vector<DesiredContainer>> desired(StepContext& context, std::string& problem) {
  if (context.desired) return *context.desired;
  if (!context.scenario.machine.kubelet.empty()) {
    PINFOLD_LET(auto of_kubelet, desired_of_kubelet(context, problem));
    if (problem.empty()) context.desired = of_kubelet;
    return of_kubelet;
  }
  // Not through the service: it knows nothing more, and a scenario may have stopped it.
  PINFOLD_LET(const auto reply, run_product(context, {"status", "--socket", "/dev/null"}));
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
  context.desired = *containers;
  return std::move(*containers);
}

VmResult<StepResult> act(StepContext& context, const StartStep& step) {
  if (!step.program.empty()) return start_one(context, step, step.program, step.cgroup);
  const auto pod = context.pods.find(step.pod);
  if (pod == context.pods.end()) return failure(fmt::format("pod '{}' was not admitted", step.pod));
  if (!pod->second.counts_as_started) {
    const bool to_be_killed = context.kill_at.has_value();
    auto told = start_in_product(context, pod->second, step.container);
    context.desired.reset();
    if (!told || !told->ok || to_be_killed) return told;
  }
  std::string problem;
  PINFOLD_LET(const auto containers, desired(context, problem));
  if (!problem.empty()) return failure(problem);
  int started = 0;
  for (const DesiredContainer& container : containers) {
    if (!belongs_to(container.name, step.pod, step.container)) continue;
    auto one = start_one(context, step, container.name, container.cgroup);
    if (!one || !one->ok) return one;
    ++started;
  }
  return started > 0
             ? success()
             : failure(fmt::format("pod '{}' has no container {}", step.pod, step.container));
}

VmResult<StepResult> act(StepContext& context, const RemoveStep& step) {
  const auto pod = context.pods.find(step.pod);
  if (pod == context.pods.end()) return failure(fmt::format("pod '{}' was not admitted", step.pod));
  std::vector<std::string> programs;
  for (const auto& [program, cgroup] : context.running) {
    if (belongs_to(program, step.pod, step.container)) programs.push_back(program);
  }
  for (const std::string& program : programs) {
    auto stopped = act(context, StopStep{program});
    if (!stopped || !stopped->ok) return stopped;
  }
  std::vector<std::string> arguments = {"remove", "--pod", pod->second.uid};
  if (!step.container.empty()) {
    arguments.insert(arguments.end(), {"--container", step.container});
  }
  PINFOLD_LET(const auto reply, run_product(context, std::move(arguments)));
  if (auto killed = context.end_of_killed(reply)) return std::move(*killed);
  if (reply.value("status", -1) != 0) {
    return failure(
        fmt::format("'pinfold remove' ended with {}{}", describe_end(reply), reasons_in(reply)));
  }
  if (step.container.empty()) context.pods.erase(pod);
  return success();
}

VmResult<StepResult> act(StepContext& context, const RestartStep& step) {
  if (step.kubelet) {
    PINFOLD_TRY(put_config(context, *step.kubelet));
  }
  // `reconcile` does what the product does first after a restart: loads its state and reconciles.
  PINFOLD_LET(const auto reply, run_product(context, {"reconcile"}));
  if (auto killed = context.end_of_killed(reply)) return std::move(*killed);
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

VmResult<std::string> cgroup_of(StepContext& context, const std::string& container,
                                StepResult& result) {
  auto others = runtime_cgroups(context);
  others.merge(kubelet_cgroups(context));
  if (const auto group = others.find(container); group != others.end()) return group->second;
  if (!context.scenario.runtime.empty() && !needs_product(context.scenario)) {
    result.message = fmt::format("there is no container '{}'{}", container,
                                 context.scenario.machine.kubelet.empty()
                                     ? ""
                                     : ": expected a waitPod before that has seen its pod run");
    return std::string{};
  }
  PINFOLD_LET(const auto containers, desired(context, result.message));
  const auto found = std::find_if(containers.begin(), containers.end(),
                                  [&](const auto& one) { return one.name == container; });
  if (found != containers.end()) return found->cgroup;
  if (result.message.empty()) result.message = fmt::format("there is no container '{}'", container);
  return std::string{};
}

}  // namespace pinfold::harness
