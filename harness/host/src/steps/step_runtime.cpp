#include "steps/step_runtime.hpp"

#include <fmt/format.h>

#include <utility>

#include "judge/difference.hpp"
#include "pinfold/harness/runtime.hpp"
#include "pinfold/text/base64.hpp"
#include "scenario/cgroup_paths.hpp"
#include "steps/step_result.hpp"

namespace pinfold::harness {
namespace {

/// Judges an answer: success, or the error that the step expects.
StepResult judge_answer(const CriAnswer& answer, const std::string& expected_error) {
  if (answer.error.empty()) {
    if (expected_error.empty()) return success();
    return failure(fmt::format("expected the error '{}', the runtime succeeded", expected_error));
  }
  if (!expected_error.empty() && answer.error.find(expected_error) != std::string::npos) {
    return success();
  }
  return failure(expected_error.empty()
                     ? answer.error
                     : fmt::format("expected the error '{}', the runtime's is: {}", expected_error,
                                   answer.error));
}

std::string pod_of(const std::string& container) {
  return container.substr(0, container.find('/'));
}

/// Calls the container runtime, within the step's limit.
VmResult<CriAnswer> call(StepContext& context, const std::string& method, const Json& request) {
  return call_runtime(context.session.vm, method, request, context.time_limit);
}

}  // namespace

VmResult<StepResult> act(StepContext& context, const RunPodStep& step) {
  auto requests = kubelet_requests(context.scenario.machine, step.manifest);
  if (!requests) return failure(requests.error().message);
  PINFOLD_LET(const auto answer, call(context, "RunPodSandbox", {{"config", requests->sandbox}}));
  if (answer.error.empty()) {
    context.runtime_pods[step.pod] = {
        std::move(*requests), answer.reply.value("pod_sandbox_id", ""), {}};
  }
  return judge_answer(answer, step.error);
}

VmResult<StepResult> act(StepContext& context, const PodStep& step) {
  const bool stops = step.what == PodStep::Do::kStop;
  PINFOLD_LET(const auto answer, call(context, stops ? "StopPodSandbox" : "RemovePodSandbox",
                                      {{"pod_sandbox_id", context.runtime_pods[step.pod].id}}));
  if (!stops && answer.error.empty()) context.runtime_pods.erase(step.pod);
  return judge_answer(answer, step.error);
}

VmResult<StepResult> act(StepContext& context, const ContainerStep& step) {
  RuntimePod& pod = context.runtime_pods[pod_of(step.container)];
  const std::string name = step.container.substr(step.container.find('/') + 1);
  if (step.what == ContainerStep::Do::kCreate) {
    PINFOLD_LET(const auto answer, call(context, "CreateContainer",
                                        {{"pod_sandbox_id", pod.id},
                                         {"config", pod.requests.containers[name]},
                                         {"sandbox_config", pod.requests.sandbox}}));
    if (answer.error.empty()) pod.containers[name] = answer.reply.value("container_id", "");
    return judge_answer(answer, step.error);
  }
  Json request = {{"container_id", pod.containers[name]}};
  const char* method = "StartContainer";
  if (step.what == ContainerStep::Do::kStop) {
    method = "StopContainer";
    request["timeout"] = step.grace_s;
  } else if (step.what == ContainerStep::Do::kRemove) {
    method = "RemoveContainer";
  }
  PINFOLD_LET(const auto answer, call(context, method, request));
  if (step.what == ContainerStep::Do::kRemove && answer.error.empty()) pod.containers.erase(name);
  return judge_answer(answer, step.error);
}

VmResult<StepResult> act(StepContext& context, const ExecContainerStep& step) {
  const RuntimePod& pod = context.runtime_pods[pod_of(step.container)];
  const auto id = pod.containers.find(step.container.substr(step.container.find('/') + 1));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(context.time_limit);
  PINFOLD_LET(const auto answer,
              call(context, "ExecSync",
                   {{"container_id", id == pod.containers.end() ? "" : id->second},
                    {"cmd", step.command},
                    {"timeout", seconds.count()}}));
  if (!answer.error.empty()) return failure(answer.error);
  const std::string out = decode_base64(answer.reply.value("stdout", ""));
  const std::string said = excerpt(out + decode_base64(answer.reply.value("stderr", "")));
  const int status = answer.reply.value("exit_code", -1);
  if (step.status && status != *step.status) {
    return failure(
        fmt::format("expected status {}, it ended with {}: {}", *step.status, status, said));
  }
  if (out.find(step.output) == std::string::npos) {
    return failure(missing_text(step.output, out));
  }
  return success();
}

VmResult<StepResult> act(StepContext& context, const RuntimeStep& step) {
  const auto verb =
      step.what == RuntimeStep::Do::kKill ? RuntimeVerb::kKill : RuntimeVerb::kRestart;
  PINFOLD_LET(const auto answer, control_runtime(context.session.vm, verb, context.time_limit));
  return judge_answer(answer, "");
}

std::map<std::string, std::string> runtime_cgroups(const StepContext& context) {
  std::map<std::string, std::string> groups;
  for (const auto& [name, pod] : context.runtime_pods) {
    const std::string parent = cpuset_mount(context.cgroup_mode()) + pod.requests.cgroup_parent;
    for (const auto& [container, id] : pod.containers) {
      groups[fmt::format("{}/{}", name, container)] = fmt::format("{}/{}", parent, id);
    }
  }
  return groups;
}

}  // namespace pinfold::harness
