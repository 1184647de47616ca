#include "steps/step_kubelet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "judge/kubelet_pods.hpp"
#include "judge/state_file.hpp"
#include "pinfold/harness/kubelet.hpp"
#include "scenario/cgroup_paths.hpp"
#include "steps/step_result.hpp"

namespace pinfold::harness {
namespace {

/// Time between two queries of the kubelet's pods.
constexpr Milliseconds kBetweenQuestions(500);

/// The verdict about a pod that is waited for.
enum class PodVerdict { kWait, kOk, kWrong };

VmResult<KubeletAnswer> control(StepContext& context, std::vector<std::string> arguments) {
  return control_kubelet(context.session.vm, std::move(arguments), context.time_limit);
}

std::string state_path(const std::string& file) {
  return fmt::format("{}/{}", kKubeletFolder, file);
}

/// Returns the last error in the log; the kubelet's own lines begin with a letter and the date.
VmResult<std::string> last_error(StepContext& context) {
  const std::string command = fmt::format("grep '^E[0-9]' {} | tail -n 1", kKubeletLog);
  PINFOLD_LET(const auto reply, context.ask({{"op", "exec"}, {"argv", {"sh", "-c", command}}}));
  std::string line = reply.value("stdout", "");
  while (line.ends_with('\n')) line.pop_back();
  return line.empty() ? "its log has no error" : line;
}

/// Compares the outcome of a start with the expected one.
VmResult<StepResult> judge_start(StepContext& context, const KubeletStep& step, bool refused) {
  const bool expects_refusal = step.answer == KubeletStep::Answer::kRefused;
  if (refused && !expects_refusal) {
    PINFOLD_LET(const auto error, last_error(context));
    return failure("the kubelet exited instead of starting: " + error);
  }
  if (!refused && expects_refusal) {
    return failure("expected the kubelet to refuse its state files, but it started");
  }
  if (step.message.empty()) return success();
  PINFOLD_LET(const bool says_so, context.has_line(kKubeletLog, step.message));
  if (says_so) return success();
  PINFOLD_LET(const auto error, last_error(context));
  return failure(fmt::format("expected '{}' in the kubelet's log, its last error is: {}",
                             step.message, error));
}

/// Returns the arguments of kubelet.sh for a start, with the point at which the kubelet is killed.
std::vector<std::string> start_arguments(StepContext& context) {
  std::vector<std::string> arguments = {
      "start", kubelet_in_guest(context.scenario.kubelets, context.kubelet.program)};
  const auto kill = std::exchange(context.kill_at, std::nullopt);
  if (!kill) return arguments;
  const auto or_any = [](const std::string& word) { return word.empty() ? "any" : word; };
  for (std::string word : {or_any(kill->call), or_any(kill->file), std::to_string(kill->number)}) {
    arguments.push_back(std::move(word));
  }
  return arguments;
}

VmResult<StepResult> start(StepContext& context, const KubeletStep& step) {
  StartedKubelet& kubelet = context.kubelet;
  if (!step.binary.empty()) kubelet.program = step.binary;
  kubelet.config.merge_patch(step.config.config);
  PINFOLD_TRY(context.put(
      fmt::format("{}/config.yaml", kKubeletFolder),
      kubelet_config(kubelet.config).dump(2, ' ', true, Json::error_handler_t::replace)));
  const bool is_killed = context.kill_at.has_value();
  PINFOLD_LET(const auto answer, control(context, start_arguments(context)));
  if (is_killed && answer.has_ended) return success();  // `waitKubelet` checks how it ended
  if (!answer.error.empty()) {
    return failure(fmt::format("the kubelet has not started its managers: {}", answer.error));
  }
  return judge_start(context, step, answer.has_ended);
}

/// Returns true once the pod is gone: the kubelet does not list it, and its cgroup is removed.
VmResult<bool> is_gone(StepContext& context, const std::string& name, bool is_listed) {
  const auto known = context.kubelet.pods.find(name);
  if (is_listed || known == context.kubelet.pods.end()) return !is_listed;
  const std::string group = cpuset_mount(context.cgroup_mode()) + known->second.cgroup;
  PINFOLD_LET(const auto processes, context.read_one(group + "/cgroup.procs"));
  return processes == "(ENOENT)" || processes == "(ENODEV)";
}

/// Checks status.reason and status.message of a rejected pod.
PodVerdict judge_rejection(const WaitPodStep& step, const KubeletPod& pod) {
  const bool as_expected = pod.reason.find(step.reason) != std::string::npos &&
                           pod.message.find(step.message) != std::string::npos;
  return as_expected ? PodVerdict::kOk : PodVerdict::kWrong;
}

VmResult<PodVerdict> judge_pod(StepContext& context, const WaitPodStep& step,
                               const std::optional<KubeletPod>& pod) {
  using Until = WaitPodStep::Until;
  if (step.until == Until::kRemoved) {
    PINFOLD_LET(const bool gone, is_gone(context, step.pod, pod.has_value()));
    if (gone) context.kubelet.pods.erase(step.pod);
    return gone ? PodVerdict::kOk : PodVerdict::kWait;
  }
  if (!pod) return PodVerdict::kWait;
  const bool is_rejected = pod->phase == "Failed";
  if (step.until == Until::kRejected) {
    if (is_rejected) return judge_rejection(step, *pod);
    return pod->is_running ? PodVerdict::kWrong : PodVerdict::kWait;
  }
  if (is_rejected) return PodVerdict::kWrong;
  if (pod->is_running) {
    context.kubelet.pods[step.pod] = {pod->uid, pod->cgroup, pod->containers};
    context.kubelet.uids[step.pod] = pod->uid;
  }
  return pod->is_running ? PodVerdict::kOk : PodVerdict::kWait;
}

std::string expected_of(const WaitPodStep& step) {
  static constexpr const char* kStates[] = {"running", "rejected", "removed"};
  std::string text = kStates[static_cast<int>(step.until)];
  if (!step.reason.empty()) text += fmt::format(", with the reason '{}'", step.reason);
  if (!step.message.empty()) text += fmt::format(", with '{}' in the message", step.message);
  return text;
}

}  // namespace

VmResult<StepResult> act(StepContext& context, const KubeletStep& step) {
  using Do = KubeletStep::Do;
  if (step.what == Do::kStart) return start(context, step);
  PINFOLD_LET(const auto stopped, control(context, {"stop", step.signal}));
  if (!stopped.error.empty()) return failure(stopped.error);
  if (step.what == Do::kRestart) return start(context, step);
  return stopped.has_ended ? failure("the kubelet had ended before") : success();
}

VmResult<StepResult> act(StepContext& context, const WaitKubeletStep&) {
  PINFOLD_LET(const auto answer, control(context, {"wait"}));
  if (!answer.error.empty()) {
    return failure("the kubelet was not killed: it has not reached its killAt");
  }
  if (answer.has_ended) return success();
  PINFOLD_LET(const auto error, last_error(context));
  return failure("the kubelet exited before it reached its killAt: " + error);
}

VmResult<StepResult> act(StepContext& context, const RunStaticPodStep& step) {
  const auto manifest = static_pod(step.manifest);
  if (!manifest) return failure(manifest.error().message);
  // A kubelet skips names that begin with a dot, so it never reads half a manifest.
  const std::string draft = fmt::format("{}/.{}.json", kManifests, step.pod);
  PINFOLD_TRY(context.put(draft, manifest->dump(2, ' ', true, Json::error_handler_t::replace)));
  PINFOLD_LET(
      const auto moved,
      context.ask({{"op", "exec"},
                   {"argv", {"mv", draft, fmt::format("{}/{}.json", kManifests, step.pod)}}}));
  if (moved.value("status", -1) == 0) return success();
  return failure(moved.value("error", "") + moved.value("stderr", ""));
}

VmResult<StepResult> act(StepContext& context, const RemoveStaticPodStep& step) {
  const std::string file = fmt::format("{}/{}.json", kManifests, step.pod);
  PINFOLD_LET(const auto removed, context.ask({{"op", "exec"}, {"argv", {"rm", file}}}));
  if (removed.value("status", -1) == 0) return success();
  return failure(removed.value("error", "") + removed.value("stderr", ""));
}

VmResult<StepResult> act(StepContext& context, const WaitPodStep& step) {
  const Clock::time_point deadline = Clock::now() + context.time_limit;
  std::string observed = "the kubelet does not answer";
  while (true) {
    PINFOLD_LET(const auto answer, control(context, {"pods"}));
    if (answer.has_ended) {
      PINFOLD_LET(const auto error, last_error(context));
      return failure("the kubelet exited: " + error);
    }
    const Json list = Json::parse(answer.output, nullptr, false);
    if (list.is_object()) {
      const auto pod = find_static_pod(list, step.pod);
      PINFOLD_LET(const auto verdict, judge_pod(context, step, pod));
      if (verdict == PodVerdict::kOk) return success();
      observed = pod ? describe(*pod) : "unknown to the kubelet";
      if (verdict == PodVerdict::kWrong) break;
    }
    if (Clock::now() >= deadline) {
      observed += " after " + context.limit_text();
      break;
    }
    std::this_thread::sleep_for(kBetweenQuestions);
  }
  return failure(
      fmt::format("pod '{}': expected {}, it is {}", step.pod, expected_of(step), observed));
}

std::map<std::string, std::string> kubelet_cgroups(const StepContext& context) {
  std::map<std::string, std::string> groups;
  for (const auto& [name, pod] : context.kubelet.pods) {
    for (const auto& [container, id] : pod.containers) {
      groups[fmt::format("{}/{}", name, container)] =
          fmt::format("{}{}/{}", cpuset_mount(context.cgroup_mode()), pod.cgroup, id);
    }
  }
  return groups;
}

VmResult<std::vector<DesiredContainer>> desired_of_kubelet(StepContext& context,
                                                           std::string& problem) {
  PINFOLD_LET(const auto cpus, context.read_one(state_path("cpu_manager_state")));
  PINFOLD_LET(const auto memory, context.read_one(state_path("memory_manager_state")));
  std::vector<DesiredContainer> containers;
  for (const auto& [name, cgroup] : kubelet_cgroups(context)) {
    auto assigned = assigned_by_files(cpus, memory, name, context.kubelet.uids);
    if (!assigned) {
      problem = assigned.error().message;
      return std::vector<DesiredContainer>{};
    }
    assigned->cgroup = cgroup;
    containers.push_back(std::move(*assigned));
  }
  return containers;
}

VmResult<void> expect_state_file(StepContext& context, const Expectation& expectation,
                                 StepResult& result) {
  PINFOLD_LET(const auto text, context.read_one(state_path(expectation.subject)));
  for (const auto& [name, expected_value] : expectation.values) {
    // All but the policy are lists, which compare as sets.
    const char* const kind = name == "policyName" ? "policyName" : "cpuset.cpus";
    result.checks.push_back(check_expected(fmt::format("{} {}", expectation.subject, name), kind,
                                           expected_value,
                                           state_value(text, name, context.kubelet.uids)));
    result.checks.back().owner = "the file";
  }
  return {};
}

}  // namespace pinfold::harness
