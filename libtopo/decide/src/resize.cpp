#include "pinfold/decide/resize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "admission.hpp"
#include "pinfold/decide/allocatable.hpp"
#include "pinfold/decide/decide.hpp"
#include "pinfold/decide/stale.hpp"

namespace pinfold {
namespace {

constexpr const char* kCpuResource = "cpu";
constexpr const char* kRequestFewer = "request fewer CPUs";
constexpr const char* kOthersInTheWay = "other pods are in the way";

NotResized infeasible(Rejection why, std::string advice = "") {
  return {ResizeReason::kInfeasible, std::move(why), std::move(advice)};
}

NotResized not_resized(ResizeReason reason, std::string message, std::string advice) {
  return {reason, Rejection{std::string(to_string(reason)), std::move(message)}, std::move(advice)};
}

NotResized infeasible(std::string message, std::string advice) {
  return not_resized(ResizeReason::kInfeasible, std::move(message), std::move(advice));
}

/// The kubelet's error for a container that would get into the shared pool, or out of it.
NotResized inconsistent(const Container& container, const Quantity& cpu, bool is_shared,
                        std::string advice) {
  return infeasible(
      Rejection{"inconsistentCPUAllocationError",
                fmt::format("inconsistentCPUAllocation Error: Not allowed to move a container from "
                            "{} (requested CPUs = {}, allocated CPUs = {})",
                            is_shared ? "shared pool to exclusively allocated pool,"
                                      : " exclusively allocated pool to shared pool, not allowed",
                            cpu.to_string(),
                            amount_of(container.resources.requests, kCpuResource).to_string())},
      std::move(advice));
}

NotResized below_baseline(const Container& container, const Quantity& cpu, const CpuSet& baseline) {
  return infeasible(
      Rejection{"prohibitedCPUAllocationError",
                fmt::format("prohibitedCPUAllocation Error: Skip resize, Not allowed to reduce "
                            "container exclusively allocated pool below promised, (requested CPUs "
                            "= {}, allocated CPUs = {}, promised CPUs = {}, guaranteed CPUs = {})",
                            cpu.to_string(),
                            amount_of(container.resources.requests, kCpuResource).to_string(),
                            baseline.size(), cpu.value())},
      fmt::format("container '{}' keeps the CPUs of its admission, {}: request at least {}",
                  container.name, baseline.to_string(), baseline.size()));
}

/// Returns why a container of a Guaranteed pod cannot be resized to any amount.
std::optional<NotResized> find_obstacle(const Node& node, const ActivePod& pod,
                                        const Container& container, bool is_shared,
                                        const Quantity& cpu) {
  const Config& config = node.config();
  if (!resizes_exclusive_cpus(config)) {
    if (node.gates().in_place_pod_vertical_scaling_exclusive_cpus) {
      return infeasible(
          fmt::format("{} does not resize exclusive CPUs", to_string(config.profile)),
          "its feature gate InPlacePodVerticalScalingExclusiveCPUs admits the resize, and the "
          "container keeps its CPUs");
    }
    return infeasible(
        "Resize is infeasible for Guaranteed Pods alongside CPU Manager policy \"static\"",
        config.profile < Profile::kKubelet138
            ? fmt::format("{} does not resize exclusive CPUs", to_string(config.profile))
            : "the feature gate InPlacePodVerticalScalingExclusiveCPUs is off");
  }
  if (is_shared) {
    return inconsistent(container, cpu, true,
                        fmt::format("container '{}' has no exclusive CPUs: {}", container.name,
                                    node.cpu().why_shared(PodView(pod.spec), container)));
  }
  if (container.kind == ContainerKind::kInit) {
    return infeasible("Resize is infeasible for init containers that end before others start",
                      fmt::format("container '{}' is an init container: resize a sidecar or an app "
                                  "container",
                                  container.name));
  }
  if (pod.spec.has_pod_level_resources()) {
    return infeasible("Resize is infeasible for containers of a pod with pod-level resources",
                      fmt::format("pod '{}' has pod-level resources: its containers divide the "
                                  "CPUs that it got as a whole",
                                  pod.spec.name));
  }
  return std::nullopt;
}

/// Returns whether the CPU manager judges a resize of a container without exclusive CPUs: if it
/// would get some, or if the manager of this kubelet refuses every resize of such a pod.
bool concerns_manager(const Node& node, const ActivePod& pod, const Quantity& cpu) {
  return node.cpu().is_static() && qos_class(pod.spec, node.gates()) == QosClass::kGuaranteed &&
         (cpu.is_whole() || !resizes_exclusive_cpus(node.config()));
}

/// Returns why no state of the node has room for the pod.
std::optional<NotResized> find_lack(const Node& node, const PodSpec& pod) {
  const auto milli = [](const ResourceList& list) {
    return amount_of(list, kCpuResource).milli_value();
  };
  const std::int64_t requested = milli(total_requests(node.gates(), pod));
  const std::int64_t capacity = milli(allocatable(node));
  if (requested <= capacity) return std::nullopt;
  return infeasible(
      fmt::format("Node didn't have enough capacity: cpu, requested: {}, capacity: {}", requested,
                  capacity),
      "");
}

/// Returns why a kubelet that starts from `before` would not start from `after`. No kubelet has
/// been observed after such a resize, so that there is nothing to follow.
std::optional<std::string> find_start_error(const Node& node, CpuState before, CpuState after) {
  const auto started = node.cpu().start(after);
  if (started || !node.cpu().start(before)) return std::nullopt;
  return "the kubelet would not start again: " + started.error().message;
}

/// Returns the state without other pods.
NodeState with_pod_alone(const Node& node, NodeState state, const PodUid& uid) {
  const ActivePods pods = state.pods;
  for (const ActivePod& pod : pods) {
    if (pod.spec.uid != uid) state = remove_pod(node, std::move(state), pod.spec.uid);
  }
  state.held.clear();
  return release_stale(node, std::move(state));
}

/// Judges a resize that the managers refused. `state`, `spec`: with the request.
NotResized judge_refusal(const Node& node, const CpuState& before, NodeState state,
                         const PodSpec& spec, const std::string& name, Rejection why) {
  NodeState alone = with_pod_alone(node, std::move(state), spec.uid);
  AdmissionInProgress admission(node, alone, spec, nullptr, nullptr, CpuRequestKind::kResize);
  if (!admission.resize(name)) return infeasible(std::move(why));
  if (auto error = find_start_error(node, before, alone.cpu)) {
    return infeasible(*std::move(error), kRequestFewer);
  }
  return {ResizeReason::kDeferred, std::move(why), kOthersInTheWay};
}

}  // namespace

std::string_view to_string(ResizeReason reason) {
  return reason == ResizeReason::kDeferred ? "Deferred" : "Infeasible";
}

std::string describe(const NotResized& refused) {
  return fmt::format("{}: {}{}{}", to_string(refused.reason), refused.why.message,
                     refused.advice.empty() ? "" : "; ", refused.advice);
}

bool resizes_exclusive_cpus(const Config& config) {
  if (config.profile == Profile::kKubelet138) {
    return config.gates().in_place_pod_vertical_scaling_exclusive_cpus;
  }
  return config.profile == Profile::kFixed &&
         config.set_gate("InPlacePodVerticalScalingExclusiveCPUs", false).value_or(true);
}

Result<ResizeDecision> resize(const Node& node, NodeState state, const ResizeRequest& request,
                              Trace* trace, AdmissionChecks checks) {
  const ContainerId& id = request.container;
  const auto pod = state.pods.find(id.pod);
  const Container* const container = pod == state.pods.end() ? nullptr : pod->spec.find(id.name);
  if (container == nullptr) {
    return fail(ErrorCode::kNotFound,
                fmt::format("no active pod '{}' with a container '{}'", id.pod, id.name));
  }
  if (request.cpu.sign() <= 0) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("container '{}': {} CPUs: expected 1 or more", id.name,
                            request.cpu.to_string()));
  }
  const auto decided = [&](NotResized refused) {
    if (trace != nullptr) {
      trace->add(
          "decision", "pod",
          fmt::format("not resized, {}: {}", to_string(refused.reason), refused.why.message));
    }
    return ResizeDecision(std::move(refused));
  };
  const CpuSet* const has = state.cpu.assignments.find(id);
  // A kubelet compares amounts first.
  const bool is_same = amount_of(container->resources.requests, kCpuResource) == request.cpu;
  if (has != nullptr && is_same) {
    const CpuSet same = *has;
    return ResizeDecision(Resized{std::move(state), same, same});
  }
  const PodView view(pod->spec);
  const bool is_shared = has == nullptr || node.cpu().guaranteed_cpus(view, *container) == 0;
  if (is_shared && !concerns_manager(node, *pod, request.cpu)) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("container '{}' has no exclusive CPUs ({}): expected one that has some, "
                    "because no other resize changes CPUs",
                    id.name, node.cpu().why_shared(view, *container)));
  }
  if (auto obstacle = find_obstacle(node, *pod, *container, is_shared, request.cpu)) {
    return decided(*std::move(obstacle));
  }
  if (!request.cpu.is_whole()) {
    return decided(inconsistent(
        *container, request.cpu, false,
        fmt::format("container '{}' has exclusive CPUs, which require a whole number", id.name)));
  }
  const CpuSet before = *has;
  const CpuState state_before = state.cpu;
  if (const CpuSet& baseline = *baseline_of(state.cpu, id);
      request.cpu.value() < static_cast<std::int64_t>(baseline.size())) {
    return decided(below_baseline(*container, request.cpu, baseline));
  }
  PodSpec spec = pod->spec;
  for (Container& one : spec.containers) {
    if (one.name != id.name) continue;
    one.resources.requests[kCpuResource] = one.resources.limits[kCpuResource] = request.cpu;
  }
  state.pods.replace_spec(pod, spec);
  if (auto lack = find_lack(node, spec)) return decided(*std::move(lack));
  auto shortage = checks == AdmissionChecks::kManagersAndRequests
                      ? find_shortage(node, state.pods, spec, others_held(state, id.pod))
                      : std::nullopt;
  // Like a kubelet, asks the managers first.
  AdmissionInProgress admission(node, state, spec, trace, nullptr, CpuRequestKind::kResize);
  if (auto done = admission.resize(id.name); !done) {
    return decided(judge_refusal(node, state_before, std::move(state), spec, id.name,
                                 std::move(done).error()));
  }
  if (shortage) return decided({ResizeReason::kDeferred, *std::move(shortage), ""});
  if (auto error = find_start_error(node, state_before, state.cpu)) {
    const NodeState alone = with_pod_alone(node, std::move(state), id.pod);
    return decided(find_start_error(node, state_before, alone.cpu)
                       ? infeasible(*std::move(error), kRequestFewer)
                       : not_resized(ResizeReason::kDeferred, *std::move(error), kOthersInTheWay));
  }
  const CpuSet after = *state.cpu.assignments.find(id);
  return ResizeDecision(Resized{std::move(state), before, after});
}

std::optional<std::int64_t> nearest_resize(const Node& node, const NodeState& state,
                                           const ResizeRequest& refused) {
  constexpr std::int64_t kMostTries = 64;
  const CpuSet* const has = state.cpu.assignments.find(refused.container);
  if (has == nullptr || !refused.cpu.is_whole()) return std::nullopt;
  const auto now = static_cast<std::int64_t>(has->size());
  const std::int64_t requested = refused.cpu.value();
  const auto cpus = static_cast<std::int64_t>(node.machine().all_cpus().size());
  const std::int64_t most = std::min(requested, cpus + 1);
  const auto is_possible = [&](std::int64_t count) {
    const Quantity cpu = Quantity::of(count, Quantity::Format::kDecimalSi);
    const auto decision = resize(node, state, {refused.container, cpu}, nullptr,
                                 AdmissionChecks::kManagersAndRequests);
    return decision && std::holds_alternative<Resized>(*decision);
  };
  const std::int64_t towards = most > now ? -1 : 1;
  for (const std::int64_t step : {towards, -towards}) {
    std::int64_t count = most + step;
    for (std::int64_t tries = 0; tries < kMostTries && count > 0 && count != now; ++tries) {
      if (is_possible(count)) return count;
      count += step;
    }
  }
  return std::nullopt;
}

void advise_nearest(const Node& node, const NodeState& state, const ResizeRequest& request,
                    NotResized& refused) {
  if (!refused.advice.empty() && refused.reason != ResizeReason::kDeferred) return;
  const auto count = nearest_resize(node, state, request);
  if (!count) return;
  refused.advice +=
      fmt::format("{}container '{}' can have {} CPUs now", refused.advice.empty() ? "" : ", but ",
                  request.container.name, *count);
}

}  // namespace pinfold
