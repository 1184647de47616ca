#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "draw.hpp"
#include "kubelet_messages.hpp"
#include "node_fixture.hpp"
#include "pinfold/api/pod_level.hpp"
#include "pinfold/api/validation.hpp"
#include "pinfold/decide/keep.hpp"
#include "pinfold/nri_pods/recover.hpp"

namespace pinfold::nri {
namespace {

using pinfold::test::draw;
using test::Kubelet;

constexpr std::int64_t kMi = std::int64_t{1} << 20U;

Quantity draw_cpu() {
  static constexpr std::array<int, 14> kMilli = {1,    2,    3,    9,       10,      11,      500,
                                                 1000, 1001, 4000, 255'999, 256'000, 300'000, 2000};
  if (draw(0, 1) == 0) return Quantity::milli(kMilli.at(static_cast<std::size_t>(draw(0, 13))));
  return Quantity::milli(draw(1, 70'000));
}

Quantity draw_memory() { return Quantity::bytes(kMi * draw(1, 40'000) + draw(0, 1)); }

/// Requests and limits; often a Guaranteed container's.
Resources draw_resources() {
  Resources resources;
  const bool is_guaranteed = draw(0, 2) > 0;
  for (const char* const name : {"cpu", "memory"}) {
    const auto amount = [&] {
      return std::string_view(name) == "cpu" ? draw_cpu() : draw_memory();
    };
    if (is_guaranteed || draw(0, 1) == 0) resources.limits[name] = amount();
    if (!is_guaranteed && draw(0, 1) == 0) resources.requests[name] = amount();
  }
  if (draw(0, 5) == 0) resources.limits["hugepages-2Mi"] = Quantity::bytes(2 * kMi * draw(0, 9));
  if (draw(0, 9) == 0) return {};
  return resources;
}

/// Returns a Pod that an API server accepts, with its defaults.
PodSpec draw_pod(const FeatureGates& gates, bool can_have_pod_level) {
  PodSpec pod;
  pod.uid = PodUid("0a1b-2c");
  pod.name = "pod";
  pod.namespace_name = "space";
  const int init = draw(0, 3) == 0 ? draw(1, 2) : 0;
  const int all = init + draw(1, 3);
  for (int i = 0; i < all; ++i) {
    const auto kind = i >= init         ? ContainerKind::kApp
                      : draw(0, 1) == 0 ? ContainerKind::kInit
                                        : ContainerKind::kSidecar;
    pod.containers.push_back({fmt::format("c{}", i), kind, draw_resources()});
  }
  if (gates.pod_level_resources && can_have_pod_level) pod.resources = draw_resources();
  apply_defaults(pod);
  RC_PRE(find_violations(pod).empty());
  return pod;
}

struct Drawn {
  Kubelet kubelet;
  Premises premises;
  PodSpec pod;
};

/// Returns any pod on any node for which the premises hold.
Drawn draw_all(bool is_annotated) {
  Drawn drawn;
  drawn.kubelet.gates.pod_level_resources = draw(0, 3) > 0;
  drawn.kubelet.gates.pod_level_resource_managers = draw(0, 1) > 0;
  drawn.kubelet.gates.pod_level_resources_fix_kubelet_qos_class = draw(0, 1) > 0;
  drawn.kubelet.cfs_quota = draw(0, 3) > 0;
  static constexpr std::array<int, 5> kPeriods = {100'000, 1'000, 1'000'000, 10'000, 3'333};
  drawn.kubelet.period_us = kPeriods.at(static_cast<std::size_t>(draw(0, 4)));
  drawn.kubelet.systemd = draw(0, 1) > 0;
  if (draw(0, 1) > 0) drawn.kubelet.page_sizes = {"2Mi", "1Gi"};
  drawn.premises.gates = drawn.kubelet.gates;
  drawn.premises.pod_level = draw(0, 1) > 0 ? PodLevelUse::kAnyPod : PodLevelUse::kAnnotatedPods;
  drawn.premises.pod_scope = draw(0, 1) > 0;
  drawn.premises.memory = static_cast<std::uint64_t>(drawn.kubelet.memory);
  const bool can_have_pod_level = is_annotated || drawn.premises.pod_level == PodLevelUse::kAnyPod;
  drawn.pod = draw_pod(drawn.kubelet.gates, can_have_pod_level && draw(0, 1) > 0);
  return drawn;
}

/// Checks that exact amounts are those of the Pod, as the kubelet rounds them.
void check_amounts(const ShownAmounts& amounts, const ResourceList& of_pod,
                   std::string_view where) {
  for (const auto& [name, amount] : amounts) {
    if (!amount.is_exact) continue;
    const Quantity expected = amount_of(of_pod, name);
    const bool same = name == "cpu" ? amount.value.milli_value() == expected.milli_value()
                                    : amount.value.value() == expected.value();
    if (!same) {
      RC_FAIL(fmt::format("{} {}: {} by {}, not {}", where, name, amount.value.to_string(),
                          to_string(amount.origin), expected.to_string()));
    }
  }
}

void check_container(const RecoveredContainer& seen, const Container& container) {
  check_amounts(seen.requests, container.resources.requests, "request of " + seen.name);
  check_amounts(seen.limits, container.resources.limits, "limit of " + seen.name);
  if (seen.kind_is_exact) RC_ASSERT(seen.kind == container.kind);
  if (!seen.has_all_huge_pages) return;
  for (const auto& [name, quantity] : container.resources.limits) {
    if (is_huge_page_resource(name) && !quantity.is_zero()) RC_ASSERT(seen.limits.contains(name));
  }
}

void check_pod(const RecoveredPod& seen, const Drawn& drawn) {
  RC_ASSERT(seen.qos == qos_class(drawn.pod, drawn.kubelet.gates));
  RC_ASSERT(seen.unannounced.empty());
  for (const RecoveredContainer& container : seen.containers) {
    check_container(container, *drawn.pod.find(container.name));
  }
  if (seen.resources_are_exact) RC_ASSERT(seen.resources == drawn.pod.resources);
}

/// Returns the containers to which the kubelet's static CPU manager gives exclusive CPUs.
std::set<std::string> exclusive_in_kubelet(const Drawn& drawn) {
  std::set<std::string> names;
  const FeatureGates& gates = drawn.kubelet.gates;
  if (qos_class(drawn.pod, gates) != QosClass::kGuaranteed) return names;
  if (!is_manageable(gates, drawn.pod)) return names;
  for (const Container& container : drawn.pod.containers) {
    const auto milli = amount_of(container.resources.requests, "cpu").milli_value();
    if (is_managed_as_pod(gates, drawn.pod) && !is_guaranteed(container)) continue;
    if (milli > 0 && milli % 1000 == 0) names.insert(container.name);
  }
  return names;
}

void check_exclusive(const Demand& admitted, const Drawn& drawn) {
  const std::set<std::string> allowed = exclusive_in_kubelet(drawn);
  for (const std::string& name : admitted.exclusive) RC_ASSERT(allowed.contains(name));
  RC_ASSERT(admitted.exclusive.empty() == !admitted.why_shared.empty());
  if (!admitted.exclusive.empty()) return;
  // A pod that is not decided as recovered is never Guaranteed.
  const QosClass qos = qos_class(admitted.pod, drawn.premises.gates);
  if (qos == QosClass::kGuaranteed) {
    RC_ASSERT(qos_class(drawn.pod, drawn.premises.gates) == QosClass::kGuaranteed);
  }
}

/// Returns some of the containers: those that a runtime can have at the same time.
std::vector<api::Container> draw_shown(const Drawn& drawn) {
  std::vector<api::Container> shown;
  for (const Container& container : drawn.pod.containers) {
    if (draw(0, 3) > 0) shown.push_back(test::container_of(drawn.pod, container, drawn.kubelet));
  }
  return shown;
}

RC_GTEST_PROP(NriPodsProperty, ExactIsEqualAndWhatDiffersIsEstimated, ()) {
  const Drawn drawn = draw_all(false);
  const auto seen =
      recover(test::sandbox_of(drawn.pod, drawn.kubelet), draw_shown(drawn), drawn.premises);
  RC_ASSERT(seen.has_value());
  check_pod(*seen, drawn);
  check_exclusive(demand(*seen, drawn.premises), drawn);
  RC_TAG(std::string(to_string(*seen->qos)));
}

RC_GTEST_PROP(NriPodsProperty, AGuaranteedPodWithoutPodLevelResourcesIsRecoveredWhole, ()) {
  Drawn drawn = draw_all(false);
  drawn.pod.resources.reset();
  drawn.premises.pod_level = PodLevelUse::kAnnotatedPods;
  drawn.premises.huge_pages = false;
  drawn.kubelet.page_sizes = {"2Mi"};
  drawn.kubelet.cfs_quota = true;
  for (Container& container : drawn.pod.containers) {
    container.kind = ContainerKind::kApp;
    container.resources.limits["cpu"] = Quantity::milli(draw(3, 300'000));
    container.resources.limits["memory"] = draw_memory();
    container.resources.requests.clear();
  }
  apply_defaults(drawn.pod);
  RC_PRE(find_violations(drawn.pod).empty());
  for (Container& container : drawn.pod.containers) {  // zero counts as absent
    std::erase_if(container.resources.limits, [](const auto& e) { return e.second.is_zero(); });
    std::erase_if(container.resources.requests, [](const auto& e) { return e.second.is_zero(); });
  }
  const auto seen = recover(test::sandbox_of(drawn.pod, drawn.kubelet),
                            test::containers_of(drawn.pod, drawn.kubelet), drawn.premises);
  RC_ASSERT(seen.has_value());
  RC_ASSERT(seen->has_all_containers);
  const Demand admitted = demand(*seen, drawn.premises);
  RC_ASSERT(admitted.pod == drawn.pod);
  const auto exclusive = exclusive_in_kubelet(drawn);
  RC_ASSERT(std::set<std::string>(admitted.exclusive.begin(), admitted.exclusive.end()) ==
            exclusive);
}

RC_GTEST_PROP(NriPodsProperty, APodIsKnownWholeOnlyIfNoContainerIsMissing, ()) {
  const Drawn drawn = draw_all(false);
  const auto shown = draw_shown(drawn);
  const auto seen = recover(test::sandbox_of(drawn.pod, drawn.kubelet), shown, drawn.premises);
  RC_ASSERT(seen.has_value());
  if (!seen->has_all_containers) return;
  // Except init containers, which end before the others start.
  std::set<std::string> names;
  for (const RecoveredContainer& container : seen->containers) names.insert(container.name);
  bool shows_init = false;
  for (const Container& container : drawn.pod.containers) {
    shows_init |= container.kind == ContainerKind::kInit && names.contains(container.name);
  }
  for (const Container& container : drawn.pod.containers) {
    if (container.kind != ContainerKind::kInit && !shows_init) {
      RC_ASSERT(names.contains(container.name));
    }
  }
}

RC_GTEST_PROP(NriPodsProperty, AnAnnotatedPodIsRecoveredWhole, ()) {
  const Drawn drawn = draw_all(true);
  api::PodSandbox sandbox = test::sandbox_of(drawn.pod, drawn.kubelet);
  (*sandbox.mutable_annotations())[std::string(kResourcesAnnotation)] =
      test::annotation_of(drawn.pod);
  const auto seen = recover(sandbox, draw_shown(drawn), drawn.premises);
  RC_ASSERT(seen.has_value());
  if (seen->refused_annotation) RC_FAIL(seen->refused_annotation->message);
  check_pod(*seen, drawn);
  const Demand admitted = demand(*seen, drawn.premises);
  RC_ASSERT(qos_class(admitted.pod, drawn.kubelet.gates) == seen->qos);
  const std::set<std::string> exclusive(admitted.exclusive.begin(), admitted.exclusive.end());
  RC_ASSERT(exclusive == exclusive_in_kubelet(drawn));
}

RC_GTEST_PROP(NriPodsProperty, AnAnnotationNeverGivesMoreThanTheKubeletCounted, ()) {
  const Drawn drawn = draw_all(true);
  // For 256 CPUs or more, the kubelet's values say nothing without a CFS quota.
  RC_PRE(drawn.kubelet.cfs_quota);
  PodSpec other = drawn.pod;
  Container& changed = other.containers[static_cast<std::size_t>(
      draw(0, static_cast<int>(other.containers.size()) - 1))];
  if (draw(0, 1) > 0)
    changed.resources.limits["cpu"] = Quantity::milli(std::int64_t{1000} * draw(1, 64));
  if (draw(0, 1) > 0) changed.resources.requests = changed.resources.limits;
  if (draw(0, 2) == 0 && changed.kind != ContainerKind::kApp) {
    changed.kind =
        changed.kind == ContainerKind::kInit ? ContainerKind::kSidecar : ContainerKind::kInit;
  }
  if (draw(0, 2) == 0) other.containers.push_back({"more", ContainerKind::kApp, changed.resources});
  if (draw(0, 2) == 0) other.resources = draw_resources();
  apply_defaults(other);
  api::PodSandbox sandbox = test::sandbox_of(drawn.pod, drawn.kubelet);
  (*sandbox.mutable_annotations())[std::string(kResourcesAnnotation)] = test::annotation_of(other);
  const auto seen = recover(sandbox, draw_shown(drawn), drawn.premises);
  RC_ASSERT(seen.has_value());
  std::int64_t milli = 0;
  const Demand admitted = demand(*seen, drawn.premises);
  for (const std::string& name : admitted.exclusive) {
    const Container& container = *admitted.pod.find(name);
    if (container.kind == ContainerKind::kInit) continue;
    milli += amount_of(container.resources.requests, "cpu").milli_value();
  }
  RC_CLASSIFY(milli > 0);
  if (milli == 0) return;
  const auto limit = sandbox.linux().pod_resources().cpu().quota().value();
  RC_ASSERT(milli * drawn.kubelet.period_us / 1000 <= limit);
}

/// The author of a pod can give it pod-level resources and omit the annotation.
RC_GTEST_PROP(NriPodsProperty, APodWithoutAnnotationGetsNoMoreThanTheKubeletCounted, ()) {
  Drawn drawn = draw_all(true);
  drawn.premises.pod_level = PodLevelUse::kAnnotatedPods;
  RC_PRE(drawn.kubelet.cfs_quota);
  const api::PodSandbox sandbox = test::sandbox_of(drawn.pod, drawn.kubelet);
  const auto seen = recover(sandbox, draw_shown(drawn), drawn.premises);
  RC_ASSERT(seen.has_value());
  const Demand wanted = demand(*seen, drawn.premises);
  std::int64_t milli = 0;
  for (const std::string& name : wanted.exclusive) {
    milli += amount_of(wanted.pod.find(name)->resources.requests, "cpu").milli_value();
  }
  RC_CLASSIFY(milli > 0);
  if (milli == 0) return;
  const auto limit = sandbox.linux().pod_resources().cpu().quota().value();
  RC_ASSERT(milli * drawn.kubelet.period_us / 1000 <= limit);
}

/// libtopo's values are a kubelet's; the conformance vectors contain them.
RC_GTEST_PROP(NriPodsProperty, TheMessagesOfTheseTestsHaveTheValuesOfLibtopo, ()) {
  const Node node = Node::make(pinfold::test::machine_of({}), Config{}).value();
  const Kubelet kubelet{.gates = node.gates()};
  const PodSpec pod = draw_pod(kubelet.gates, draw(0, 1) > 0);
  const auto state = std::get<Admitted>(decide(node, empty_state(node), pod)).next;
  for (const Container& container : pod.containers) {
    const auto expected =
        container_resources(node, state, {pod.uid, container.name}).value().linux_resources;
    const api::Container message = test::container_of(pod, container, kubelet);
    const api::LinuxResources& shown = message.linux().resources();
    RC_ASSERT(shown.cpu().shares().value() == expected.cpu_shares);
    RC_ASSERT(shown.cpu().quota().value() == expected.cpu_quota.value_or(0));
    RC_ASSERT(shown.cpu().period().value() == expected.cpu_period.value_or(0));
    RC_ASSERT(shown.memory().limit().value() == expected.memory_limit.value_or(0));
  }
}

Node draw_node() {
  static constexpr std::array<const char*, 4> kPolicies = {"none", "best-effort", "restricted",
                                                           "single-numa-node"};
  Config config = pinfold::test::aligning_config(kPolicies.at(static_cast<std::size_t>(draw(0, 3))),
                                                 draw(0, 3) > 0 ? "container" : "pod");
  if (draw(0, 1) > 0) config = pinfold::test::with_memory_manager(std::move(config));
  if (draw(0, 3) == 0) config.cpu_manager_policy_options["distribute-cpus-across-numa"] = "true";
  return Node::make(pinfold::test::machine_of({.numa = draw(1, 3)}), std::move(config)).value();
}

/// Returns a Guaranteed pod as NRI shows it, without an annotation.
PodSpec draw_guaranteed(const std::string& uid) {
  PodSpec pod;
  pod.uid = PodUid(uid);
  pod.name = uid;
  pod.namespace_name = "space";
  const int count = draw(1, 4);
  for (int i = 0; i < count; ++i) {
    Container container{fmt::format("c{}", i), ContainerKind::kApp, {}};
    container.resources.limits["cpu"] = Quantity::milli(std::int64_t{500} * draw(1, 16));
    container.resources.limits["memory"] = Quantity::bytes(512 * kMi * draw(1, 24));
    pod.containers.push_back(std::move(container));
  }
  apply_defaults(pod);
  return pod;
}

/// The state after a pod, or nullopt if it is rejected.
std::optional<NodeState> admitted(const Node& node, const NodeState& state, const PodSpec& pod) {
  Decision decision = decide(node, state, pod);
  auto* const yes = std::get_if<Admitted>(&decision);
  return yes == nullptr ? std::nullopt : std::optional(std::move(yes->next));
}

std::optional<NodeState> grown(const Node& node, NodeState state, const PodSpec& pod) {
  const Premises premises = make_premises(node, PodLevelUse::kAnnotatedPods);
  std::vector<api::Container> shown;
  for (const Container& container : pod.containers) {
    shown.push_back(test::container_of(pod, container));
    const auto seen = recover(test::sandbox_of(pod), shown, premises);
    auto next = admitted(node, state, demand(seen.value(), premises).pod);
    if (!next) return std::nullopt;
    state = *std::move(next);
  }
  return state;
}

RC_GTEST_PROP(NriPodsProperty, APodThatGrowsIsDecidedAsAWhole, ()) {
  const Node node = draw_node();
  NodeState before = empty_state(node);
  if (const auto other = admitted(node, before, draw_guaranteed("other"))) before = *other;
  const PodSpec pod = draw_guaranteed("pod");
  const auto whole = admitted(node, before, pod);
  const auto by_container = grown(node, before, pod);
  RC_CLASSIFY(whole.has_value());
  RC_ASSERT(whole.has_value() == by_container.has_value());
  if (!whole) return;
  RC_ASSERT(whole->cpu == by_container->cpu);
  RC_ASSERT(whole->memory == by_container->memory);
  RC_ASSERT(whole->pods == by_container->pods);
}

/// A service may find in any order what a kubelet has admitted in sequence.
RC_GTEST_PROP(NriPodsProperty, WhatRunsOnANodeCanStayThere, ()) {
  const Node node = draw_node();
  std::vector<std::pair<PodSpec, Places>> running;
  NodeState by_kubelet = empty_state(node);
  for (int i = 0, pods = draw(1, 4); i < pods; ++i) {
    const PodSpec pod = draw_guaranteed(fmt::format("pod{}", i));
    auto next = admitted(node, by_kubelet, pod);
    if (!next) continue;
    by_kubelet = *std::move(next);
    Places places;
    for (const Container& container : pod.containers) {
      const ContainerId id{pod.uid, container.name};
      const auto resources = container_resources(node, by_kubelet, id).value();
      if (!resources.exclusive_cpus.empty()) places[container.name].cpus = resources.exclusive_cpus;
    }
    running.emplace_back(pod, std::move(places));
  }
  // With scope pod a pod's CPUs can be divided differently, and the first pod takes the memory.
  const bool is_exact =
      node.topology().scope() == TopologyScope::kContainer && !node.memory().is_static();
  NodeState found = empty_state(node);
  while (!running.empty()) {
    const auto one = running.begin() + draw(0, static_cast<int>(running.size()) - 1);
    const auto& [pod, places] = *one;
    Decision decision = decide_keeping(node, found, pod, places);
    if (auto* const kept = std::get_if<Admitted>(&decision)) {
      found = std::move(kept->next);
      for (const auto& [name, place] : places) {
        const CpuSet* const cpus = found.cpu.assignments.find({pod.uid, name});
        RC_ASSERT(cpus != nullptr);
        RC_ASSERT(!is_exact || *cpus == place.cpus);
      }
      CpuState cpu = found.cpu;
      MemoryState memory = found.memory;
      RC_ASSERT(node.cpu().start(cpu).has_value());
      RC_ASSERT(node.memory().start(memory).has_value());
    } else {
      RC_ASSERT(!is_exact);
    }
    running.erase(one);
  }
}

}  // namespace
}  // namespace pinfold::nri
