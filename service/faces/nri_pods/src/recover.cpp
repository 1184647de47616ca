#include "pinfold/nri_pods/recover.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "announced.hpp"
#include "inverse.hpp"
#include "pinfold/api/pod_level.hpp"
#include "pinfold/decide/linux_resources.hpp"
#include "pinfold/nri_pods/qos_of_cgroup.hpp"
#include "pinfold/text/field.hpp"
#include "verify.hpp"

// How it works
//
// NRI does not show the Pod, only the values that the kubelet computed from it: CPU shares, CFS
// quota, memory limit, OOM score and huge page limits. recover() inverts these computations:
// 1. With kResourcesAnnotation the amounts are those of the annotation, after verify.cpp has
//    checked that they give exactly the shown values.
// 2. With kAnnotatorAnnotation the same applies per container that the annotation names.
// 3. Otherwise each amount is derived from the shown values (inverse.cpp). The QoS class, which the
//    name of the cgroup gives, fills gaps: in a Guaranteed pod requests equal limits.
// A wrong annotation falls back to 3 and is reported in refused_annotation.
//
// Invariants:
// - An amount is marked as exact only if no other Pod gives the same messages. Where containers may
//   show amounts of their pod (pod-level resources), no derived amount is exact.
// - Containers of a Guaranteed pod that together exceed the pod are a contradiction. Each amount
//   may have been rounded up by less than 1m, so the test uses the least possible sum.
// - Nothing is exclusive because of an estimate: demand.cpp admits such a pod without limits.
//
// Cost: linear in the containers and the size of the annotations.

namespace pinfold::nri {
namespace {

constexpr int kBestEffortOomScoreAdj = 1000;

/// Facts common to all containers of a pod without kResourcesAnnotation.
struct PodFacts {
  std::optional<QosClass> qos;
  /// Containers may show their pod's amounts instead of their own.
  bool may_inherit = true;
  /// The pod as a whole has no huge pages.
  bool has_no_huge_pages = false;
  const Premises& premises;
};

Amount no_amount(ValueOrigin origin, bool is_exact) { return {{}, origin, is_exact}; }

Amount request_of_shares(const api::LinuxCPU& cpu) {
  const MilliCpu milli = milli_cpu_of_shares(cpu.shares().value());
  return {Quantity::milli(milli.value), ValueOrigin::kShares, milli.is_only};
}

Amount limit_of_quota(const api::LinuxCPU& cpu) {
  const std::int64_t quota = cpu.quota().value();
  // Without a period the kubelet enforces no limits; a negative quota means that CPUs are
  // exclusive.
  if (cpu.period().value() == 0 || quota < 0) return no_amount(ValueOrigin::kQuota, false);
  if (quota == 0) return no_amount(ValueOrigin::kQuota, true);
  const MilliCpu milli = milli_cpu_of_quota(quota, cpu.period().value());
  return {Quantity::milli(milli.value), ValueOrigin::kQuota, milli.is_only};
}

Amount limit_of_memory(const api::LinuxMemory& memory) {
  const std::int64_t bytes = memory.limit().value();
  if (bytes < 0) return no_amount(ValueOrigin::kMemoryLimit, false);
  return {Quantity::bytes(bytes), ValueOrigin::kMemoryLimit, true};
}

/// Estimates the memory request: the kubelet scores a Burstable container by its share of memory.
Amount request_of_oom_score(const api::LinuxContainer& shown, std::uint64_t memory) {
  const auto adj = shown.oom_score_adj().value();
  if (!shown.has_oom_score_adj() || adj <= 0 || adj >= kBestEffortOomScoreAdj) {
    return no_amount(ValueOrigin::kOomScoreAdj, false);
  }
  const auto thousandth = static_cast<std::int64_t>(memory / kBestEffortOomScoreAdj);
  return {Quantity::bytes((kBestEffortOomScoreAdj - adj) * thousandth), ValueOrigin::kOomScoreAdj,
          false};
}

/// In a Guaranteed pod each request equals its limit, so the exact one replaces the other.
void equalize(Amount& request, Amount& limit) {
  if (!request.is_exact && limit.is_exact && !limit.value.is_zero()) {
    request = {limit.value, ValueOrigin::kQosClass, true};
  } else if (!limit.is_exact) {
    limit = {request.value, ValueOrigin::kQosClass, request.is_exact};
  }
}

void recover_huge_pages(const api::LinuxResources& shown, const PodFacts& pod,
                        RecoveredContainer& container) {
  // Runtimes can leave out all limits; the kubelet sends one per size of the machine.
  container.has_all_huge_pages = pod.has_no_huge_pages || !shown.hugepage_limits().empty();
  for (const api::HugepageLimit& page : shown.hugepage_limits()) {
    if (page.limit() == 0) continue;
    const auto name = huge_page_resource(page.page_size());
    if (!name || page.limit() > std::numeric_limits<std::int64_t>::max()) {
      container.has_all_huge_pages = false;
      continue;
    }
    const Amount amount{Quantity::bytes(static_cast<std::int64_t>(page.limit())),
                        ValueOrigin::kHugePageLimits, true};
    container.limits[*name] = amount;
    container.requests[*name] = amount;
  }
}

void mark_estimated(RecoveredContainer& container) {
  for (auto& [name, amount] : container.requests) amount.is_exact = false;
  for (auto& [name, amount] : container.limits) amount.is_exact = false;
  container.has_all_huge_pages = false;
}

RecoveredContainer recover_container(const api::Container& shown, const PodFacts& pod) {
  RecoveredContainer container;
  container.name = shown.name();
  const api::LinuxResources& resources = shown.linux().resources();
  Amount request = request_of_shares(resources.cpu());
  Amount limit = limit_of_quota(resources.cpu());
  Amount memory_limit = limit_of_memory(resources.memory());
  Amount memory_request = request_of_oom_score(shown.linux(), pod.premises.memory);
  if (pod.qos == QosClass::kGuaranteed) {
    equalize(request, limit);
    memory_request = {memory_limit.value, ValueOrigin::kQosClass, memory_limit.is_exact};
  } else if (pod.qos == QosClass::kBestEffort) {
    request = limit = memory_request = memory_limit = {{}, ValueOrigin::kQosClass, true};
  }
  container.requests = {{"cpu", request}, {"memory", memory_request}};
  container.limits = {{"cpu", limit}, {"memory", memory_limit}};
  recover_huge_pages(resources, pod, container);
  if (pod.may_inherit) mark_estimated(container);
  return container;
}

ShownAmounts announced_amounts(const ResourceList& list) {
  ShownAmounts amounts;
  for (const char* const name : {"cpu", "memory"}) {
    amounts[name] = no_amount(ValueOrigin::kAnnotation, true);
  }
  for (const auto& [name, quantity] : list)
    amounts[name] = {quantity, ValueOrigin::kAnnotation, true};
  return amounts;
}

RecoveredContainer announced_container(const Container& container) {
  return {container.name,
          container.kind,
          true,
          announced_amounts(container.resources.requests),
          announced_amounts(container.resources.limits),
          true};
}

/// Takes the whole pod from its annotation. Errors: kInvalidArgument if NRI shows something else.
Result<void> take_announced(const PodSpec& announced, const api::PodSandbox& sandbox,
                            std::span<const api::Container> containers, const Premises& premises,
                            RecoveredPod& pod) {
  PINFOLD_TRY(verify_pod(announced, sandbox, premises));
  const bool inherits = uses_pod_level_resources(premises.gates, announced);
  for (const api::Container& shown : containers) {
    const Container* const container = announced.find(shown.name());
    if (container == nullptr) {
      pod.unannounced.push_back(shown.name());
      continue;
    }
    PINFOLD_TRY(verify_container(*container, inherits ? &*announced.resources : nullptr, shown,
                                 fmt::format("container '{}'", container->name)));
  }
  for (const Container& container : announced.containers) {
    pod.containers.push_back(announced_container(container));
  }
  pod.is_announced = true;
  pod.has_all_containers = true;
  pod.resources = announced.resources;
  pod.resources_are_exact = true;
  return {};
}

/// Returns whether the containers have all memory of the pod. Then no other one runs, since every
/// container of a Guaranteed pod has some.
bool have_all_memory(const RecoveredPod& pod, const api::PodSandbox& sandbox) {
  if (pod.qos != QosClass::kGuaranteed || pod.containers.empty()) return false;
  Quantity total;
  for (const RecoveredContainer& container : pod.containers) {
    const Amount& memory = container.limits.at("memory");
    if (!memory.is_exact) return false;
    total += memory.value;
  }
  return total == Quantity::bytes(sandbox.linux().pod_resources().memory().limit().value());
}

/// Returns whether, by the limits of the whole pod, none of its containers has huge pages.
bool has_no_huge_pages(const api::PodSandbox& sandbox, const Premises& premises) {
  if (!premises.huge_pages) return true;
  const auto& limits = sandbox.linux().pod_resources().hugepage_limits();
  if (limits.empty()) {
    return premises.has_no_huge_pages &&
           premises.has_no_huge_pages(sandbox.linux().cgroup_parent());
  }
  return std::all_of(limits.begin(), limits.end(),
                     [](const auto& page) { return page.limit() == 0; });
}

std::int64_t milli_cpu_of(const std::vector<RecoveredContainer>& containers) {
  Quantity total;
  for (const RecoveredContainer& container : containers) {
    total += container.requests.at("cpu").value;
  }
  return total.milli_value();
}

/// Returns RecoveredPod::contradiction. Compares the sum of the containers with the amounts of the
/// pod that the scheduler has counted. In a pod with pod-level resources, a container without
/// limits shows those of the pod.
std::string find_contradiction(const RecoveredPod& pod, const api::PodSandbox& sandbox) {
  if (pod.qos != QosClass::kGuaranteed || pod.containers.empty()) return "";
  const api::LinuxResources& whole = sandbox.linux().pod_resources();
  const std::int64_t milli = milli_cpu_of(pod.containers);
  // Each amount may be rounded up by less than 1m.
  const std::int64_t least =
      std::max<std::int64_t>(0, milli - static_cast<std::int64_t>(pod.containers.size()) + 1);
  const api::LinuxCPU& cpu = whole.cpu();
  const std::uint64_t period = cpu.period().value();
  const bool has_quota =
      cpu.quota().value() > 0 && period >= kMinPeriodUs && period <= kMaxPeriodUs;
  const auto exceeds = [&](std::string_view what, std::int64_t has, std::string_view of_pod,
                           std::int64_t limit) {
    return fmt::format(
        "its containers together have {} {}, but the pod has {} {}: pod-level resources need the "
        "annotation {}",
        what, has, of_pod, limit, kResourcesAnnotation);
  };
  if (has_quota && cpu_quota(least, period) > cpu.quota().value()) {
    return exceeds("a CFS quota in us of", cpu_quota(milli, period), "one of", cpu.quota().value());
  }
  if (cpu.shares().value() > 0 && cpu_shares(least) > cpu.shares().value()) {
    return exceeds("CPU shares of", static_cast<std::int64_t>(cpu_shares(milli)), "some of",
                   static_cast<std::int64_t>(cpu.shares().value()));
  }
  Quantity memory;
  for (const RecoveredContainer& container : pod.containers) {
    memory += container.limits.at("memory").value;
  }
  const std::int64_t limit = whole.memory().limit().value();
  if (limit <= 0 || memory.value() <= limit) return "";
  return exceeds("a memory limit in bytes of", memory.value(), "one of", limit);
}

Result<void> take_shown(const AnnotatedContainers& annotated, const api::PodSandbox& sandbox,
                        std::span<const api::Container> containers, const PodFacts& of_pod,
                        RecoveredPod& pod) {
  for (const api::Container& shown : containers) {
    const auto found = annotated.find(shown.name());
    if (found != annotated.end()) {
      PINFOLD_TRY(verify_container(found->second, nullptr, shown,
                                   fmt::format("container '{}'", shown.name())));
      pod.containers.push_back(announced_container(found->second));
      pod.containers.back().kind_is_exact = found->second.kind == ContainerKind::kApp;
      pod.containers.back().kind = ContainerKind::kApp;
      continue;
    }
    auto container = recover_container(shown, of_pod);
    const Amount& memory = container.limits.at("memory");
    if (of_pod.qos == QosClass::kGuaranteed && memory.is_exact && memory.value.is_zero()) {
      pod.unannounced.push_back(shown.name());
    } else {
      pod.containers.push_back(std::move(container));
    }
  }
  pod.resources_are_exact = !of_pod.may_inherit;
  pod.has_all_containers = have_all_memory(pod, sandbox);
  pod.contradiction = find_contradiction(pod, sandbox);
  return {};
}

RecoveredPod without_containers(const PodSpec& pod, const api::PodSandbox& sandbox) {
  RecoveredPod recovered;
  recovered.uid = pod.uid;
  recovered.name = pod.name;
  recovered.namespace_name = pod.namespace_name;
  recovered.qos = qos_of_cgroup(sandbox.linux().cgroup_parent(), pod.uid);
  return recovered;
}

std::string intent(std::string_view annotation) { return fmt::format("annotation {}", annotation); }

/// Errors: kInvalidArgument for a wrong annotation.
Result<RecoveredPod> by_annotations(const RecoveredPod& empty, const api::PodSandbox& sandbox,
                                    std::span<const api::Container> containers,
                                    const Premises& premises) {
  RecoveredPod pod = empty;
  PINFOLD_LET_WRAP(const auto announced, announced_pod(sandbox), intent(kResourcesAnnotation));
  if (announced) {
    PINFOLD_TRY_WRAP(take_announced(*announced, sandbox, containers, premises, pod),
                     intent(kResourcesAnnotation));
    return pod;
  }
  PINFOLD_LET_WRAP(const auto annotated, annotated_containers(sandbox),
                   intent(kAnnotatorAnnotation));
  const bool may_inherit =
      premises.gates.pod_level_resources && premises.pod_level == PodLevelUse::kAnyPod;
  PINFOLD_TRY_WRAP(
      take_shown(annotated, sandbox, containers,
                 {pod.qos, may_inherit, has_no_huge_pages(sandbox, premises), premises}, pod),
      intent(kAnnotatorAnnotation));
  return pod;
}

/// Reads kQuietAnnotation. A wrong one changes nothing else.
void read_quiet(const api::PodSandbox& sandbox, RecoveredPod& pod) {
  const auto found = sandbox.annotations().find(std::string(kQuietAnnotation));
  if (found == sandbox.annotations().end()) return;
  auto level = quiet::parse_quiet_level(printable(found->second));
  if (level) {
    pod.quiet = *level;
  } else {
    pod.refused_quiet = std::move(level).error().wrap(
        fmt::format("pod '{}/{}': annotation {}", pod.namespace_name, pod.name, kQuietAnnotation));
  }
}

}  // namespace

Result<RecoveredPod> recover(const api::PodSandbox& sandbox,
                             std::span<const api::Container> containers, const Premises& premises) {
  PINFOLD_LET(const auto named, pod_of(sandbox, containers));
  RecoveredPod empty = without_containers(named, sandbox);
  read_quiet(sandbox, empty);
  auto pod = by_annotations(empty, sandbox, containers, premises);
  if (pod) return *std::move(pod);
  RecoveredPod shown = empty;
  // It may have pod-level resources; the annotation would have said so.
  const PodFacts of_pod{shown.qos, premises.gates.pod_level_resources,
                        has_no_huge_pages(sandbox, premises), premises};
  PINFOLD_TRY(take_shown({}, sandbox, containers, of_pod, shown));
  shown.refused_annotation =
      std::move(pod).error().wrap(fmt::format("pod '{}/{}'", named.namespace_name, named.name));
  return shown;
}

}  // namespace pinfold::nri
