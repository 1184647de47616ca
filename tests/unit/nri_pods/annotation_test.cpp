#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixture.hpp"

namespace pinfold::nri {
namespace {

using test::annotated_only;
using test::annotation_of;
using test::exact;
using test::Kubelet;
using test::limited;
using test::pod;
using test::pod_with;
using test::recovered_with;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

RecoveredPod announced(const PodSpec& spec, const Kubelet& kubelet = {},
                       const Premises& premises = annotated_only()) {
  return recovered_with(spec, kResourcesAnnotation, annotation_of(spec), kubelet, premises);
}

/// Returns why the annotation of a pod is rejected.
std::string refusal(const PodSpec& spec, const std::string& annotation,
                    std::string_view name = kResourcesAnnotation) {
  const RecoveredPod seen = recovered_with(spec, name, annotation);
  EXPECT_THAT(demand(seen, annotated_only()).exclusive, IsEmpty());
  return seen.refused_annotation ? seen.refused_annotation->message : "accepted";
}

TEST(NriAnnotation, SaysAllBeforeTheFirstContainer) {
  const PodSpec spec = pod(fmt::format("{{initContainers: [{}, {}], containers: [{}, {}]}}",
                                       limited("i", "2", "1Gi"),
                                       limited("s", "1m", "1Gi", ", restartPolicy: Always"),
                                       limited("a", "4", "1Gi"), limited("b", "300", "1Gi")));
  api::PodSandbox sandbox = test::sandbox_of(spec);
  (*sandbox.mutable_annotations())[std::string(kResourcesAnnotation)] = annotation_of(spec);
  Premises premises = annotated_only();
  premises.pod_scope = true;
  premises.huge_pages = true;
  premises.pod_level = PodLevelUse::kAnyPod;
  const RecoveredPod seen = recover(sandbox, {}, premises).value();
  EXPECT_EQ(seen.refused_annotation, std::nullopt);
  EXPECT_EQ(seen.containers.at(1).kind, ContainerKind::kSidecar);
  EXPECT_TRUE(seen.containers.at(1).kind_is_exact);
  EXPECT_EQ(seen.containers.at(1).requests.at("cpu"), exact("1m", ValueOrigin::kAnnotation));
  EXPECT_EQ(demand(seen, premises).pod, spec);
  EXPECT_THAT(demand(seen, premises).exclusive, ElementsAre("i", "a", "b"));
  // Nothing changes when the containers arrive.
  EXPECT_EQ(announced(spec, {}, premises), seen);
}

TEST(NriAnnotation, SaysHowQuietItsCpusAre) {
  api::PodSandbox sandbox = test::sandbox_of(pod_with({limited("a", "2", "1Gi")}));
  EXPECT_EQ(recover(sandbox, {}, annotated_only())->quiet, std::nullopt);
  std::string& annotation = (*sandbox.mutable_annotations())[std::string(kQuietAnnotation)];
  annotation = "system";
  EXPECT_EQ(recover(sandbox, {}, annotated_only())->quiet, quiet::QuietLevel::kSystem);
  annotation = "loud";
  const RecoveredPod seen = recover(sandbox, {}, annotated_only()).value();
  EXPECT_EQ(seen.quiet, std::nullopt);
  ASSERT_TRUE(seen.refused_quiet);
  EXPECT_THAT(seen.refused_quiet->message,
              HasSubstr("annotation pinfold.io/quiet: 'loud': expected off, interrupts"));
}

TEST(NriAnnotation, PodLevelResourcesAreExact) {
  const PodSpec spec =
      pod(fmt::format("{{resources: {{requests: {{cpu: 6, memory: 4Gi}}, limits: {{cpu: 6, memory: "
                      "4Gi}}}}, containers: [{}, {{name: b}}]}}",
                      limited("a", "4", "1Gi")));
  Premises premises = annotated_only();
  const RecoveredPod seen = announced(spec);
  EXPECT_EQ(seen.refused_annotation, std::nullopt);
  EXPECT_EQ(demand(seen, premises).pod, spec);
  EXPECT_THAT(demand(seen, premises).exclusive, IsEmpty());
  EXPECT_EQ(demand(seen, premises).why_shared,
            "it has pod-level resources, and PodLevelResourceManagers is off");
  premises.gates.pod_level_resource_managers = true;
  EXPECT_THAT(demand(seen, premises).exclusive, ElementsAre("a"));
}

TEST(NriAnnotation, DevicesAreThoseOfTheAnnotation) {
  const PodSpec spec = pod(
      "containers: [{name: a, resources: {limits: {cpu: 2, memory: 1Gi, example.com/gpu: 1}}}]");
  EXPECT_EQ(demand(announced(spec), annotated_only()).pod, spec);
  EXPECT_FALSE(test::recovered(spec).containers.at(0).limits.contains("example.com/gpu"));
}

TEST(NriAnnotation, DefaultsAndYamlAreAccepted) {
  const PodSpec spec = pod_with({limited("a", "2", "1Gi")});
  EXPECT_EQ(refusal(spec, "containers: [{name: a, image: x, resources: {limits: {cpu: 3}}}]"),
            refusal(spec, R"({"containers":[{"name":"a","resources":{"limits":{"cpu":"3"}}}]})"));
  const auto seen =
      recovered_with(spec, kResourcesAnnotation,
                     "containers: [{name: a, resources: {limits: {cpu: 2000m, memory: 1Gi}}}]");
  EXPECT_EQ(demand(seen, annotated_only()).pod, spec);
}

TEST(NriAnnotation, AnErrorNamesPodFieldValueAndExpectation) {
  const PodSpec spec = pod_with({limited("a", "2", "1Gi")});
  struct Case {
    const char* annotation;
    const char* error;
  };
  for (const auto& [annotation, error] : {
           Case{"", "0 documents: expected one"},
           Case{"[]", "value: a list: expected an object"},
           Case{"{", "line 1, column 1: the text ends too early"},
           Case{"{}", "spec.containers: missing: expected at least one container"},
           Case{"containers: [{name: a, resources: {limits: {cpu: x}}}]",
                "spec.containers[0].resources.limits.cpu: 'x': expected CPUs such as 2"},
           Case{"containers: [{name: a, resources: {limit: {cpu: 2}}}]",
                "unknown field 'spec.containers[0].resources.limit', did you mean 'limits'?"},
           Case{"containers: [{name: a, resources: {requests: {cpu: 3}, limits: {cpu: 2}}}]",
                "must be less than or equal to cpu limit of 2"},
           Case{"containers: [{name: a}, {name: a}]",
                "spec.containers[1].name: 'a': expected a unique name"},
       }) {
    const std::string message = refusal(spec, annotation);
    EXPECT_THAT(message, StartsWith("pod 'default/web': annotation pinfold.io/resources: "));
    EXPECT_THAT(message, HasSubstr(error));
  }
}

TEST(NriAnnotation, NothingElseThanTheKubeletCounted) {
  const PodSpec spec = pod_with({limited("a", "2", "1Gi"), limited("b", "2", "1Gi")});
  struct Case {
    std::string containers;
    const char* error;
  };
  for (const auto& [containers, error] : {
           Case{limited("a", "4", "1Gi") + ", " + limited("b", "2", "1Gi"),
                "the whole pod: requests.cpu: '6': gives CPU shares of 6144, but the "
                "kubelet has set 4096"},
           Case{limited("a", "3", "1Gi") + ", " + limited("b", "1", "1Gi"),
                "container 'a': requests.cpu: '3': gives CPU shares of 3072, but the "
                "kubelet has set 2048"},
           Case{limited("a", "2", "2Gi") + ", " + limited("b", "2", "1Gi"),
                "the whole pod: limits.memory: '3Gi': gives a limit in bytes of 3221225472, "
                "but the kubelet has set 2147483648"},
           Case{limited("a", "2", "1536Mi") + ", " + limited("b", "2", "512Mi"),
                "container 'a': limits.memory: '1536Mi'"},
           Case{limited("a", "2", "1Gi") + ", {name: b}",
                "QoS class: 'Burstable': expected Guaranteed, the class of its cgroup"},
       }) {
    EXPECT_THAT(refusal(spec, "containers: [" + containers + "]"), HasSubstr(error));
  }
  const PodSpec burstable = pod(
      "containers: [{name: a, resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 2}}}]");
  EXPECT_THAT(
      refusal(burstable,
              "containers: [{name: a, resources: {requests: {cpu: 1, memory: "
              "1Gi}, limits: {cpu: 4}}}]"),
      HasSubstr("limits.cpu: '4': gives a CFS quota in us of 400000, but the kubelet has set "
                "200000"));
}

TEST(NriAnnotation, HugePagesAreComparedIfTheRuntimeShowsThem) {
  const PodSpec spec = pod(
      "containers: [{name: a, resources: {limits: {cpu: 2, memory: 1Gi, hugepages-2Mi: 64Mi}}}]");
  const std::string more =
      "containers: [{name: a, resources: {limits: {cpu: 2, memory: 1Gi, hugepages-2Mi: 128Mi}}}]";
  const auto error = [&](const Kubelet& kubelet) {
    const auto seen = recovered_with(spec, kResourcesAnnotation, more, kubelet);
    return seen.refused_annotation ? seen.refused_annotation->message : "accepted";
  };
  EXPECT_THAT(error({.page_sizes = {"2Mi"}}),
              HasSubstr("limits.hugepages-2Mi: '128Mi': gives a limit in bytes of 134217728, "
                        "but the kubelet has set 67108864"));
  EXPECT_EQ(error({}), "accepted");
}

TEST(NriAnnotation, NeedsTheKubeletsCgroupAndPodResources) {
  const PodSpec spec = pod_with({limited("a", "2", "1Gi")});
  const auto error = [&](const api::PodSandbox& sandbox) {
    const auto seen = recover(sandbox, test::containers_of(spec), annotated_only()).value();
    return seen.refused_annotation ? seen.refused_annotation->message : "accepted";
  };
  api::PodSandbox sandbox = test::sandbox_of(spec);
  (*sandbox.mutable_annotations())[std::string(kResourcesAnnotation)] = annotation_of(spec);
  EXPECT_EQ(error(sandbox), "accepted");
  api::PodSandbox bare = sandbox;
  bare.mutable_linux()->clear_pod_resources();
  EXPECT_THAT(error(bare), HasSubstr("the runtime shows no pod_resources"));
  sandbox.mutable_linux()->set_cgroup_parent("/pods/1");
  EXPECT_THAT(error(sandbox), HasSubstr("cgroup parent: '/pods/1': expected the cgroup"));
}

TEST(NriAnnotation, ARefusedOneLeavesAmountsEstimated) {
  const PodSpec spec = pod_with({limited("a", "2", "1Gi")});
  const RecoveredPod seen = recovered_with(spec, kResourcesAnnotation, "{}");
  EXPECT_EQ(seen.containers.at(0).limits.at("cpu"), test::estimated("2", ValueOrigin::kQuota));
  EXPECT_FALSE(seen.resources_are_exact);
  EXPECT_EQ(qos_class(demand(seen, annotated_only()).pod, {}), QosClass::kBurstable);
}

TEST(NriAnnotation, AnUnannouncedContainerRunsInTheSharedPool) {
  const PodSpec spec = pod_with({limited("a", "2", "1Gi")});
  api::PodSandbox sandbox = test::sandbox_of(spec);
  (*sandbox.mutable_annotations())[std::string(kResourcesAnnotation)] = annotation_of(spec);
  auto containers = test::containers_of(spec);
  containers.push_back(containers[0]);
  containers.back().set_name("injected");
  const auto seen = recover(sandbox, containers, annotated_only()).value();
  EXPECT_EQ(seen.refused_annotation, std::nullopt);
  EXPECT_EQ(demand(seen, annotated_only()).pod, spec);
  EXPECT_THAT(seen.unannounced, ElementsAre("injected"));
}

TEST(NriAnnotation, ALargeOneIsRefused) {
  EXPECT_THAT(refusal(pod_with({limited("a", "2", "1Gi")}), std::string(300'000, ' ')),
              HasSubstr("300000 bytes: expected at most 262144"));
}

TEST(NriAnnotator, GivesAmountsByContainer) {
  const PodSpec spec = pod(fmt::format("{{initContainers: [{}], containers: [{}]}}",
                                       limited("i", "1m", "1Gi", ", restartPolicy: Always"),
                                       limited("a", "300", "1Gi")));
  const std::string value = R"({"initContainers":{"i":{"limits":{"cpu":"1m","memory":"1Gi"}}},)"
                            R"("containers":{"a":{"limits":{"cpu":"300","memory":"1Gi"}}}})";
  const auto seen = recovered_with(spec, kAnnotatorAnnotation, value, {.cfs_quota = false});
  EXPECT_EQ(seen.refused_annotation, std::nullopt);
  EXPECT_EQ(seen.containers.at(0).requests.at("cpu"), exact("1m", ValueOrigin::kAnnotation));
  EXPECT_FALSE(seen.containers.at(0).kind_is_exact);
  EXPECT_EQ(seen.containers.at(1).limits.at("cpu"), exact("300", ValueOrigin::kAnnotation));
  EXPECT_TRUE(seen.containers.at(1).kind_is_exact);
  EXPECT_THAT(demand(seen, annotated_only()).exclusive, ElementsAre("a"));
}

TEST(NriAnnotator, WhatItLacksComesFromNri) {
  const PodSpec spec = pod_with({limited("a", "2", "1Gi"), limited("b", "2", "1Gi")});
  const auto seen = recovered_with(spec, kAnnotatorAnnotation, R"({"containers":{"b":{}}})");
  EXPECT_THAT(seen.refused_annotation->message,
              HasSubstr("noderesource.dev/resources: container 'b': requests.cpu: '0': "
                        "gives CPU shares of 2, but the kubelet has set 2048"));
  const auto partial = recovered_with(spec, kAnnotatorAnnotation, R"({"containers":{}})");
  EXPECT_EQ(partial, test::recovered(spec));
}

TEST(NriAnnotator, AnErrorNamesPodFieldValueAndExpectation) {
  const PodSpec spec = pod_with({limited("a", "2", "1Gi")});
  struct Case {
    const char* annotation;
    const char* error;
  };
  for (const auto& [annotation, error] : {
           Case{"1", "value: 1: expected an object"},
           Case{R"({"container":{}})", "container: an object: expected 'containers' or"},
           Case{R"({"containers":[]})", "containers: a list: expected an object"},
           Case{R"({"containers":{"a":1}})", "containers.a: spec.containers[0].resources: 1"},
           Case{R"({"containers":{"a":{"limits":{"cpu":"x"}}}})", "limits.cpu: 'x': expected CPUs"},
           Case{R"({"containers":{"a":{}},"initContainers":{"a":{}}})",
                "initContainers.a: 'a': expected a unique name"},
       }) {
    const std::string message = refusal(spec, annotation, kAnnotatorAnnotation);
    EXPECT_THAT(message, StartsWith("pod 'default/web': annotation noderesource.dev/resources: "));
    EXPECT_THAT(message, HasSubstr(error));
  }
}

TEST(NriAnnotator, CountsOnlyWithoutTheOther) {
  const PodSpec spec = pod_with({limited("a", "2", "1Gi")});
  api::PodSandbox sandbox = test::sandbox_of(spec);
  (*sandbox.mutable_annotations())[std::string(kResourcesAnnotation)] = annotation_of(spec);
  (*sandbox.mutable_annotations())[std::string(kAnnotatorAnnotation)] = "wrong";
  const auto seen = recover(sandbox, test::containers_of(spec), annotated_only()).value();
  EXPECT_TRUE(seen.is_announced);
}

}  // namespace
}  // namespace pinfold::nri
