#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixture.hpp"

namespace pinfold::nri {
namespace {

using test::annotated_only;
using test::estimated;
using test::exact;
using test::Kubelet;
using test::limited;
using test::pod;
using test::pod_with;
using test::recovered;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Demand demanded(const PodSpec& spec, const Kubelet& kubelet = {}) {
  return demand(recovered(spec, kubelet), annotated_only());
}

TEST(NriPods, WholeCpusOfAGuaranteedPodAreExact) {
  const PodSpec spec = pod_with({limited("a", "4", "1Gi"), limited("b", "500m", "1Gi")});
  const RecoveredPod seen = recovered(spec);
  EXPECT_EQ(seen.qos, QosClass::kGuaranteed);
  const RecoveredContainer& a = seen.containers.at(0);
  EXPECT_EQ(a.requests.at("cpu"), exact("4", ValueOrigin::kShares));
  EXPECT_EQ(a.limits.at("cpu"), exact("4", ValueOrigin::kQuota));
  EXPECT_EQ(a.limits.at("memory"), exact("1Gi", ValueOrigin::kMemoryLimit));
  EXPECT_EQ(a.requests.at("memory"), exact("1Gi", ValueOrigin::kQosClass));
  EXPECT_EQ(seen.containers.at(1).requests.at("cpu"), exact("500m", ValueOrigin::kShares));
  EXPECT_EQ(demanded(spec).pod, spec);
  EXPECT_THAT(demanded(spec).exclusive, ElementsAre("a"));
}

TEST(NriPods, WithoutWholeCpusNothingIsExclusive) {
  const PodSpec spec = pod_with({limited("a", "1500m", "1Gi")});
  EXPECT_EQ(demanded(spec).pod, spec);
  EXPECT_THAT(demanded(spec).exclusive, IsEmpty());
  EXPECT_EQ(demanded(spec).why_shared, "no container requests a whole number of CPUs");
}

TEST(NriPods, EveryMilliCpuFrom3mOnIsExact) {
  for (int milli = 3; milli < 256'000; milli += milli < 3000 ? 1 : 997) {
    const PodSpec spec = pod_with({limited("a", fmt::format("{}m", milli), "1Gi")});
    const Amount amount = recovered(spec, {.cfs_quota = false}).containers.at(0).requests.at("cpu");
    ASSERT_EQ(amount, exact(fmt::format("{}m", milli), ValueOrigin::kShares));
  }
}

TEST(NriPods, LessThan3mIsEstimated) {
  const PodSpec spec = pod_with({limited("a", "2m", "1Gi"), limited("b", "1", "1Gi")});
  EXPECT_EQ(recovered(spec).containers.at(0).requests.at("cpu"),
            estimated("0", ValueOrigin::kShares));
  EXPECT_THAT(demanded(spec).exclusive, IsEmpty());
  EXPECT_EQ(demanded(spec).why_shared,
            "the cpu request of container 'a' is estimated from its CPU shares");
  // With a long period the quota distinguishes 1m from 2m.
  EXPECT_EQ(demanded(spec, {.period_us = 1'000'000}).pod, spec);
}

TEST(NriPods, From256CpusOnOnlyTheQuotaIsExact) {
  const PodSpec spec = pod_with({limited("a", "300", "1Gi")});
  EXPECT_EQ(recovered(spec).containers.at(0).requests.at("cpu"),
            exact("300", ValueOrigin::kQosClass));
  EXPECT_THAT(demanded(spec).exclusive, ElementsAre("a"));
  const Kubelet without{.cfs_quota = false};
  EXPECT_EQ(recovered(spec, without).containers.at(0).requests.at("cpu"),
            estimated("256", ValueOrigin::kShares));
  EXPECT_THAT(demanded(spec, without).exclusive, IsEmpty());
}

TEST(NriPods, WithoutCfsQuotaTheSharesOfAGuaranteedPodAreEnough) {
  const PodSpec spec = pod_with({limited("a", "4", "1Gi")});
  const Kubelet without{.cfs_quota = false};
  EXPECT_EQ(recovered(spec, without).containers.at(0).limits.at("cpu"),
            exact("4", ValueOrigin::kQosClass));
  EXPECT_EQ(demanded(spec, without).pod, spec);
}

TEST(NriPods, QuotasUpTo1000MicrosecondsAreEstimated) {
  const PodSpec spec = pod(
      "containers: [{name: a, resources: {requests: {cpu: 5m, memory: 1Gi}, limits: {cpu: 10m}}}]");
  EXPECT_EQ(recovered(spec).containers.at(0).limits.at("cpu"),
            estimated("10m", ValueOrigin::kQuota));
  EXPECT_EQ(recovered(spec, {.period_us = 1'000'000}).containers.at(0).limits.at("cpu"),
            exact("10m", ValueOrigin::kQuota));
}

TEST(NriPods, OfABurstablePodOnlyTheMemoryRequestIsEstimated) {
  const PodSpec spec =
      pod("containers: [{name: a, resources: {requests: {cpu: 2, memory: 8Gi}, limits: {cpu: 4, "
          "memory: 16Gi}}}, {name: b, resources: {requests: {cpu: 1}}}]");
  const RecoveredPod seen = recovered(spec);
  EXPECT_EQ(seen.qos, QosClass::kBurstable);
  const RecoveredContainer& a = seen.containers.at(0);
  EXPECT_EQ(a.requests.at("cpu"), exact("2", ValueOrigin::kShares));
  EXPECT_EQ(a.limits.at("cpu"), exact("4", ValueOrigin::kQuota));
  EXPECT_EQ(a.limits.at("memory"), exact("16Gi", ValueOrigin::kMemoryLimit));
  EXPECT_EQ(a.requests.at("memory").origin, ValueOrigin::kOomScoreAdj);
  EXPECT_FALSE(a.requests.at("memory").is_exact);
  // 1/1000 of the machine's 64 GiB is one step of the score.
  EXPECT_NEAR(static_cast<double>(a.requests.at("memory").value.value()), 8.0 * (1U << 30U),
              65.0 * (1U << 20U));
  const RecoveredContainer& b = seen.containers.at(1);
  EXPECT_EQ(b.limits.at("cpu"), exact("0", ValueOrigin::kQuota));
  EXPECT_EQ(b.limits.at("memory"), exact("0", ValueOrigin::kMemoryLimit));
  EXPECT_EQ(demanded(spec).why_shared, "it is Burstable, not Guaranteed");
  EXPECT_EQ(qos_class(demanded(spec).pod, {}), QosClass::kBurstable);
}

TEST(NriPods, WithoutCfsQuotaTheLimitsOfABurstablePodAreUnknown) {
  const PodSpec spec = pod("containers: [{name: a, resources: {requests: {cpu: 2}}}]");
  EXPECT_EQ(recovered(spec, {.cfs_quota = false}).containers.at(0).limits.at("cpu"),
            estimated("0", ValueOrigin::kQuota));
}

TEST(NriPods, AContainerThatLooksGuaranteedInABurstablePodIsShared) {
  const PodSpec spec = pod_with({limited("a", "4", "1Gi"), "{name: b}"});
  // The first container arrives alone.
  const std::vector<api::Container> first{test::containers_of(spec).front()};
  const auto seen = recover(test::sandbox_of(spec), first, annotated_only());
  const Demand admitted = demand(seen.value(), annotated_only());
  EXPECT_THAT(admitted.exclusive, IsEmpty());
  EXPECT_EQ(qos_class(admitted.pod, {}), QosClass::kBurstable);
}

TEST(NriPods, OfABestEffortPodAllIsExact) {
  const PodSpec spec = pod_with({"{name: a}"});
  const RecoveredContainer a = recovered(spec).containers.at(0);
  EXPECT_EQ(a.requests.at("cpu"), exact("0", ValueOrigin::kQosClass));
  EXPECT_EQ(a.limits.at("memory"), exact("0", ValueOrigin::kQosClass));
  EXPECT_EQ(demanded(spec).pod, spec);
}

TEST(NriPods, HugePagesAreExactIfTheRuntimeShowsThem) {
  const PodSpec spec = pod(
      "containers: [{name: a, resources: {limits: {cpu: 2, memory: 1Gi, hugepages-2Mi: 64Mi}}}]");
  Premises premises = annotated_only();
  premises.huge_pages = true;
  const Kubelet shows{.page_sizes = {"2Mi", "1Gi"}};
  const RecoveredContainer a = recovered(spec, shows, premises).containers.at(0);
  EXPECT_EQ(a.limits.at("hugepages-2Mi"), exact("64Mi", ValueOrigin::kHugePageLimits));
  EXPECT_FALSE(a.limits.contains("hugepages-1Gi"));
  EXPECT_EQ(demand(recovered(spec, shows, premises), premises).pod, spec);

  const Demand hidden = demand(recovered(spec, {}, premises), premises);
  EXPECT_THAT(hidden.exclusive, IsEmpty());
  EXPECT_EQ(hidden.why_shared,
            "the node has huge pages, but the runtime does not show those of container 'a': "
            "containerd needs 'disable_hugetlb_controller = false'");
}

/// containerd shows no huge pages by default; it is enough to know that the whole pod has none.
TEST(NriPods, WithoutHugePagesOfThePodAContainerHasNone) {
  const PodSpec spec = pod_with({limited("a", "2", "1Gi")});
  Premises premises = annotated_only();
  premises.huge_pages = true;
  const auto exclusive_of = [&](const api::PodSandbox& sandbox) {
    return demand(recover(sandbox, test::containers_of(spec), premises).value(), premises)
        .exclusive;
  };
  api::PodSandbox sandbox = test::sandbox_of(spec);
  EXPECT_THAT(exclusive_of(sandbox), IsEmpty());
  auto& whole = *sandbox.mutable_linux()->mutable_pod_resources();
  auto* const page = whole.add_hugepage_limits();
  page->set_page_size("2MB");
  EXPECT_THAT(exclusive_of(sandbox), ElementsAre("a")) << "by the limits that the runtime shows";
  page->set_limit(2U << 20);
  EXPECT_THAT(exclusive_of(sandbox), IsEmpty());
  whole.clear_hugepage_limits();
  std::string asked;
  premises.has_no_huge_pages = [&](const std::string& cgroup_parent) {
    asked = cgroup_parent;
    return true;
  };
  EXPECT_THAT(exclusive_of(sandbox), ElementsAre("a")) << "by the limits of its group";
  EXPECT_EQ(asked, sandbox.linux().cgroup_parent());
}

/// Any user can give a pod pod-level resources and omit the annotation.
TEST(NriPods, ContainersGetNoMoreThanTheirPodHas) {
  struct Case {
    const char* name;
    std::vector<std::string> containers;
    const char* cpu;  ///< as counted by the scheduler
    const char* memory;
    Kubelet kubelet;
    const char* why;  ///< part of the reason; "": they get it
  };
  const Case cases[] = {
      {"as much", {limited("a", "1", "1Gi"), limited("b", "1", "1Gi")}, "2", "2Gi", {}, ""},
      {"less", {limited("a", "1", "1Gi")}, "2", "2Gi", {}, ""},
      {"fractions",
       {limited("a", "1", "1Gi"), limited("b", "250m", "1Gi")},
       "1250m",
       "2Gi",
       {},
       ""},
      {"more than 256", {limited("a", "300", "1Gi")}, "300", "1Gi", {}, ""},
      {"CPUs",
       {limited("a", "1", "1Gi"), limited("b", "2", "2Gi")},
       "2",
       "8Gi",
       {},
       "together have a CFS quota in us of 300000, but the pod has one of 200000"},
      {"CPUs without quotas",
       {limited("a", "1", "1Gi"), limited("b", "2", "2Gi")},
       "2",
       "8Gi",
       {.cfs_quota = false},
       "together have CPU shares of 3072, but the pod has some of 2048"},
      {"memory",
       {limited("a", "1", "1Gi"), limited("b", "1", "2Gi")},
       "2",
       "2Gi",
       {},
       "together have a memory limit in bytes of 3221225472, but the pod has one of 2147483648"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    const PodSpec spec = pod_with(one.containers);
    const PodSpec counted = pod_with({limited("all", one.cpu, one.memory)});
    const auto containers = test::containers_of(spec, one.kubelet);
    const auto seen =
        recover(test::sandbox_of(counted, one.kubelet), containers, annotated_only()).value();
    const Demand wanted = demand(seen, annotated_only());
    EXPECT_EQ(wanted.exclusive.empty(), *one.why != '\0');
    if (*one.why == '\0') {
      EXPECT_EQ(wanted.why_shared, "");
    } else {
      EXPECT_THAT(wanted.why_shared, HasSubstr(one.why));
      EXPECT_THAT(wanted.why_shared, HasSubstr(kResourcesAnnotation));
    }
  }
}

TEST(NriPods, WithoutPodResourcesNothingIsCompared) {
  const PodSpec spec = pod_with({limited("a", "1", "1Gi"), limited("b", "2", "1Gi")});
  api::PodSandbox sandbox = test::sandbox_of(spec);
  sandbox.mutable_linux()->clear_pod_resources();
  const auto seen = recover(sandbox, test::containers_of(spec), annotated_only()).value();
  EXPECT_THAT(demand(seen, annotated_only()).exclusive, ElementsAre("a", "b"));
}

TEST(NriPods, PodLevelResourcesThatAnyPodCanHaveMakeAmountsEstimates) {
  // Both containers show the pod's 4 CPUs.
  const PodSpec spec =
      pod("{resources: {limits: {cpu: 4, memory: 4Gi}}, containers: [{name: a}, {name: b}]}");
  Premises any = annotated_only();
  any.pod_level = PodLevelUse::kAnyPod;
  const RecoveredPod seen = recovered(spec, {}, any);
  EXPECT_EQ(seen.containers.at(0).limits.at("cpu"), estimated("4", ValueOrigin::kQuota));
  EXPECT_FALSE(seen.resources_are_exact);
  EXPECT_THAT(demand(seen, any).exclusive, IsEmpty());
  EXPECT_THAT(demand(seen, any).why_shared, HasSubstr("it may have pod-level resources"));

  Premises off = any;
  off.gates.pod_level_resources = false;
  const PodSpec own = pod_with({limited("a", "4", "1Gi")});
  EXPECT_THAT(demand(recovered(own, {.gates = off.gates}, off), off).exclusive, ElementsAre("a"));
}

TEST(NriPods, InitContainersAndSidecarsLookLikeAppContainers) {
  const std::string sidecar = "{restartPolicy: Always, " + limited("s", "2", "1Gi").substr(1);
  const PodSpec spec =
      pod(fmt::format("{{initContainers: [{}, {}], containers: [{}]}}", limited("i", "2", "1Gi"),
                      sidecar, limited("a", "2", "1Gi")));
  ASSERT_EQ(spec.containers.at(1).kind, ContainerKind::kSidecar);
  for (const std::size_t position : {0U, 1U}) {
    const RecoveredContainer seen = recovered(spec).containers.at(position);
    EXPECT_EQ(seen.kind, ContainerKind::kApp);
    EXPECT_FALSE(seen.kind_is_exact);
    EXPECT_EQ(seen.limits.at("cpu"), exact("2", ValueOrigin::kQuota));
  }
}

TEST(NriPods, AContainerWithoutLimitsInAGuaranteedPodIsUnannounced) {
  const PodSpec spec = pod_with({limited("a", "4", "1Gi")});
  auto containers = test::containers_of(spec);
  containers.push_back(test::container_of(spec, {"debugger", ContainerKind::kApp, {}}));
  const auto seen = recover(test::sandbox_of(spec), containers, annotated_only()).value();
  EXPECT_THAT(seen.unannounced, ElementsAre("debugger"));
  const Demand admitted = demand(seen, annotated_only());
  EXPECT_EQ(admitted.pod, spec);
  ASSERT_EQ(admitted.unannounced.size(), 1U);
  EXPECT_EQ(admitted.unannounced[0].uid.value, fmt::format("{}.debugger", test::kUid));
  EXPECT_EQ(qos_class(admitted.unannounced[0], {}), QosClass::kBestEffort);
}

TEST(NriPods, ANewIdWithAKnownNameIsTheSameContainer) {
  const PodSpec spec = pod_with({limited("a", "4", "1Gi")});
  auto again = test::containers_of(spec);
  again[0].set_id("another");
  EXPECT_EQ(recover(test::sandbox_of(spec), again, annotated_only()).value(), recovered(spec));
}

TEST(NriPods, RejectsNamesThatKubernetesWouldNotAccept) {
  const PodSpec spec = pod_with({limited("a", "4", "1Gi")});
  const auto error = [&](const api::PodSandbox& sandbox,
                         const std::vector<api::Container>& containers) {
    const auto seen = recover(sandbox, containers, annotated_only());
    return seen ? "accepted" : seen.error().message;
  };
  auto sandbox = test::sandbox_of(spec);
  auto containers = test::containers_of(spec);
  sandbox.set_uid("../x");
  EXPECT_THAT(error(sandbox, containers), HasSubstr("metadata.uid: '../x': expected"));
  sandbox.set_uid("");
  EXPECT_THAT(error(sandbox, containers), HasSubstr("metadata.uid: '': expected"));
  sandbox.set_uid(std::string(253, 'u'));
  EXPECT_THAT(error(sandbox, containers), HasSubstr("expected a shorter UID"));
  sandbox = test::sandbox_of(spec);
  containers.push_back(containers[0]);
  EXPECT_THAT(error(sandbox, containers), HasSubstr("'a': expected a unique name"));
  containers[1].set_name("b/c");
  EXPECT_THAT(error(sandbox, containers), HasSubstr("spec.containers[1].name: 'b/c': expected"));
}

TEST(NriPods, ASandboxWithoutContainersHasNone) {
  const PodSpec spec = pod_with({limited("a", "4", "1Gi")});
  const auto seen = recover(test::sandbox_of(spec), {}, annotated_only()).value();
  EXPECT_THAT(seen.containers, IsEmpty());
  EXPECT_THAT(demand(seen, annotated_only()).exclusive, IsEmpty());
}

}  // namespace
}  // namespace pinfold::nri
