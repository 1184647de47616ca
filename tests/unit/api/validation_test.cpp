#include "pinfold/api/validation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pinfold {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// The violations of a pod with this spec, after defaulting.
std::vector<std::string> violations_of(const std::string& spec) {
  auto pod = parse_pod("metadata: {name: p}\nspec: " + spec);
  EXPECT_TRUE(pod) << spec << '\n' << (pod ? "" : pod.error().message);
  if (!pod) return {};
  apply_defaults(*pod);
  return find_violations(*pod);
}

/// The violations of a pod whose only container has these resources.
std::vector<std::string> violations_of_container(const std::string& resources) {
  return violations_of("{containers: [{name: c, resources: " + resources + "}]}");
}

TEST(PodValidation, AcceptsWhatTheApiServerAccepts) {
  EXPECT_THAT(violations_of_container("{}"), IsEmpty());
  EXPECT_THAT(violations_of_container("{requests: {cpu: 1500m}, limits: {cpu: 2, memory: 1Gi}}"),
              IsEmpty());
  EXPECT_THAT(violations_of_container("{limits: {cpu: 1, hugepages-2Mi: 4Mi, example.com/gpu: 2, "
                                      "ephemeral-storage: 1Gi}}"),
              IsEmpty());
  EXPECT_THAT(violations_of("{resources: {limits: {cpu: 4, memory: 1Gi}}, containers: "
                            "[{name: a, resources: {requests: {cpu: 3}}}, {name: b}]}"),
              IsEmpty());
}

TEST(PodValidation, RequestsAreAtMostLimits) {
  EXPECT_THAT(
      violations_of_container("{requests: {cpu: 2, memory: 2Gi}, limits: {cpu: 1, memory: 1Gi}}"),
      ElementsAre("spec.containers[0].resources.requests: Invalid value: \"2\": must be less than "
                  "or equal to cpu limit of 1",
                  "spec.containers[0].resources.requests: Invalid value: \"2Gi\": must be less "
                  "than or equal to memory limit of 1Gi"));
}

TEST(PodValidation, HugePagesAndDevicesAreNotOvercommitted) {
  EXPECT_THAT(violations_of_container(
                  "{requests: {cpu: 1, hugepages-2Mi: 2Mi}, limits: {hugepages-2Mi: 4Mi}}"),
              ElementsAre("spec.containers[0].resources.requests: Invalid value: \"2Mi\": must be "
                          "equal to hugepages-2Mi limit of 4Mi"));
  EXPECT_THAT(violations_of_container("{requests: {example.com/gpu: 1}}"),
              ElementsAre("spec.containers[0].resources.limits: Required value: Limit must be set "
                          "for non overcommitable resources"));
}

TEST(PodValidation, DevicesAreWholeNumbers) {
  EXPECT_THAT(violations_of_container("{limits: {example.com/gpu: 500m}}"),
              ElementsAre("spec.containers[0].resources.limits[example.com/gpu]: Invalid value: "
                          "\"500m\": must be an integer",
                          "spec.containers[0].resources.requests[example.com/gpu]: Invalid value: "
                          "\"500m\": must be an integer"));
}

TEST(PodValidation, HugePagesAreMultiplesOfThePageAndNeedCpuOrMemory) {
  EXPECT_THAT(violations_of_container("{limits: {cpu: 1, hugepages-2Mi: 3Mi}}"),
              ElementsAre("spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value: "
                          "\"3Mi\": 3Mi is not positive integer multiple of hugepages-2Mi",
                          "spec.containers[0].resources.requests[hugepages-2Mi]: Invalid value: "
                          "\"3Mi\": 3Mi is not positive integer multiple of hugepages-2Mi"));
  EXPECT_THAT(
      violations_of_container("{limits: {hugepages-2Mi: 2Mi}}"),
      ElementsAre("spec.containers[0].resources: Forbidden: HugePages require cpu or memory"));
}

TEST(PodValidation, ResourceNamesAreStandardOrQualified) {
  EXPECT_THAT(
      violations_of_container("{requests: {cpus: 1}}"),
      ElementsAre("spec.containers[0].resources.requests[cpus]: Invalid value: \"cpus\": must be a "
                  "standard resource type or fully qualified",
                  "spec.containers[0].resources.requests[cpus]: Invalid value: \"cpus\": must be a "
                  "standard resource for containers"));
  EXPECT_THAT(violations_of_container("{requests: {pods: 1}}"),
              ElementsAre("spec.containers[0].resources.requests[pods]: Invalid value: \"pods\": "
                          "must be a standard resource for containers"));
  EXPECT_THAT(violations_of_container("{limits: {requests.example.com/gpu: 1}}").front(),
              "spec.containers[0].resources.limits[requests.example.com/gpu]: Invalid value: "
              "\"requests.example.com/gpu\": doesn't follow extended resource name standard");
}

TEST(PodValidation, PodLevelResourcesAreCpuMemoryAndHugePages) {
  EXPECT_THAT(violations_of("{resources: {requests: {ephemeral-storage: 1Gi, cpu: 1}}, "
                            "containers: [{name: c}]}"),
              ElementsAre("spec.resources.requests[ephemeral-storage]: Unsupported value: "
                          "\"ephemeral-storage\": supported values: \"cpu\", \"hugepages-\", "
                          "\"memory\""));
}

TEST(PodValidation, PodLevelRequestsCoverTheContainers) {
  // Two containers run at the same time: the sidecar and, during the start, the init container.
  EXPECT_THAT(violations_of("{resources: {requests: {cpu: 4}}, "
                            "initContainers: [{name: s, restartPolicy: Always, "
                            "resources: {limits: {cpu: 2}}}, "
                            "{name: i, resources: {limits: {cpu: 3}}}], containers: [{name: c}]}"),
              ElementsAre("spec.resources.requests[cpu]: Invalid value: \"4\": must be greater "
                          "than or equal to aggregate container requests of 5"));
  EXPECT_THAT(violations_of("{resources: {limits: {cpu: 1}}, "
                            "containers: [{name: c, resources: {requests: {cpu: 2}}}]}"),
              ElementsAre("spec.resources.requests: Invalid value: \"2\": must be less than or "
                          "equal to cpu limit of 1"));
}

TEST(PodValidation, LimitsOfContainersAreAtMostThePods) {
  EXPECT_THAT(
      violations_of("{resources: {requests: {cpu: 1}, limits: {cpu: 2}}, containers: [{name: a}, "
                    "{name: b, resources: {requests: {cpu: 1}, limits: {cpu: 3}}}]}"),
      ElementsAre("spec.resources.containers[1][cpu].limits: Invalid value: \"3\": must be less "
                  "than or equal to pod limits of 2"));
  EXPECT_THAT(
      violations_of("{resources: {limits: {cpu: 2, hugepages-2Mi: 2Mi}}, containers: "
                    "[{name: a, resources: {limits: {cpu: 1, hugepages-2Mi: 2Mi}}}, "
                    "{name: b, resources: {limits: {cpu: 1, hugepages-2Mi: 2Mi}}}]}"),
      ElementsAre("spec.resources.requests[hugepages-2Mi]: Invalid value: \"2Mi\": must be greater "
                  "than or equal to aggregate container requests of 4Mi",
                  "spec.resources.limits[hugepages-2Mi]: Invalid value: \"2Mi\": must be greater "
                  "than or equal to aggregate container limits of 4Mi"));
}

TEST(PodValidation, ListsContainersThenInitContainersThenThePod) {
  const std::string bad = "resources: {requests: {cpu: 2}, limits: {cpu: 1}}";
  EXPECT_THAT(violations_of("{" + bad + ", initContainers: [{name: i, " + bad +
                            "}], containers: [{name: a}, {name: b, " + bad + "}]}"),
              ElementsAre(testing::StartsWith("spec.containers[1].resources.requests: "),
                          testing::StartsWith("spec.initContainers[0].resources.requests: "),
                          testing::StartsWith("spec.resources.requests: ")));
}

TEST(PodValidation, TheErrorListsEachViolationOnce) {
  const auto error_of = [](const std::string& requests) {
    const auto pod = parse_pod(
        "metadata: {name: p}\nspec: {containers: [{name: c, resources: "
        "{requests: {" +
        requests + "}}}]}");
    return validate(pod.value()).error();
  };
  EXPECT_EQ(error_of("a.com/x: 1, b.com/y: 1").message,
            "Pod \"p\" is invalid: spec.containers[0].resources.limits: Required value: Limit must "
            "be set for non overcommitable resources");
  EXPECT_EQ(error_of("a.com/x: 1, b.com/y: 1").code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of("pods: 1, a.com/x: 1").message,
            "Pod \"p\" is invalid: [spec.containers[0].resources.limits: Required value: Limit "
            "must be set for non overcommitable resources, spec.containers[0].resources."
            "requests[pods]: Invalid value: \"pods\": must be a standard resource for containers]");
}

}  // namespace
}  // namespace pinfold
