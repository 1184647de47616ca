#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "node_samples.hpp"
#include "pinfold/decide/container_resources.hpp"
#include "pinfold/decide/decide.hpp"

/// memory.min, memory.low and memory.high of MemoryQoS: the formula and cases of the kubelet's
/// tests (1.36), and of kubernetes#137685 (1.37).
namespace pinfold {
namespace {

using test::pod;
using testing::HasSubstr;

constexpr std::int64_t kMebi = std::int64_t{1} << 20U;

Config configured(Profile profile, std::optional<double> factor, const std::string& policy = "") {
  Config config;
  config.profile = profile;
  config.memory_throttling_factor = factor;
  config.memory_reservation_policy = policy;
  if (profile == Profile::kKubelet136) config.feature_gates["MemoryQoS"] = true;
  return config;
}

/// A container with this memory request and limit; "": none.
Container memory(const std::string& request, const std::string& limit) {
  Container container;
  container.name = "c";
  container.resources.requests["cpu"] = Quantity::milli(100);
  if (!request.empty()) container.resources.requests["memory"] = Quantity::parse(request).value();
  if (!limit.empty()) container.resources.limits["memory"] = Quantity::parse(limit).value();
  return container;
}

struct Qos {
  std::optional<MemoryQos> of_container;
  std::optional<MemoryQos> of_pod;
};

Qos qos_of(const Config& config, const PodSpec& spec) {
  const Node node = Node::make(test::two_sockets(), config).value();
  NodeState state = empty_state(node);
  auto admitted = decide(node, std::move(state), spec);
  const NodeState next = std::get<Admitted>(std::move(admitted)).next;
  return {container_resources(node, next, {spec.uid, "c"}).value().linux_resources.memory_qos,
          pod_resources(node, next, spec.uid).value().memory_qos};
}
std::optional<MemoryQos> container_qos(const Config& config, const std::string& request,
                                       const std::string& limit) {
  return qos_of(config, pod("p", {memory(request, limit)})).of_container;
}

MemoryQos high(std::int64_t bytes) { return {0, 0, bytes}; }

TEST(MemoryQosTest, IsWrittenOnlyIfItIsConfigured) {
  EXPECT_EQ(container_qos({}, "100Mi", "200Mi"), std::nullopt);
  Config old;
  old.profile = Profile::kKubelet136;
  old.memory_throttling_factor = 0.5;
  EXPECT_EQ(container_qos(old, "100Mi", "200Mi"), std::nullopt) << "the gate is off in 1.36";
  Config off = configured(Profile::kKubelet137, 0.5);
  off.feature_gates["MemoryQoS"] = false;
  EXPECT_EQ(container_qos(off, "100Mi", "200Mi"), std::nullopt);
}

TEST(MemoryQosTest, ThrottlesBetweenRequestAndLimit) {
  const auto floor_to_page = [](double bytes) {
    return static_cast<std::int64_t>(bytes) / 4096 * 4096;
  };
  for (const Profile profile : {Profile::kKubelet136, Profile::kKubelet137, Profile::kFixed}) {
    const Config config = configured(profile, 0.9);
    EXPECT_EQ(container_qos(config, "100Mi", "200Mi"), high(floor_to_page(190.0 * kMebi)));
    EXPECT_EQ(container_qos(config, "1000", "1000Mi"), high(floor_to_page(900.0 * kMebi + 100)));
    EXPECT_EQ(container_qos(config, "200Mi", "200Mi"), MemoryQos()) << "equal amounts";
    EXPECT_EQ(container_qos(config, "4097", "8191"), MemoryQos()) << "not above the request";
  }
}

/// Without a limit the node's allocatable memory counts, including the eviction thresholds.
TEST(MemoryQosTest, TakesTheNodeWithoutALimit) {
  Config config = configured(Profile::kKubelet137, 0.5);
  config.kube_reserved["memory"] = "1Gi";
  config.system_reserved["memory"] = "1Gi";
  const auto all = static_cast<std::int64_t>(test::two_sockets().memory()) - 2048 * kMebi;
  EXPECT_EQ(container_qos(config, "256Mi", ""), high(256 * kMebi + (all - 256 * kMebi) / 2));
}

TEST(MemoryQosTest, AContainerWithoutAmountsIsThrottledSince137) {
  EXPECT_EQ(container_qos(configured(Profile::kKubelet136, 0.5), "", ""), MemoryQos());
  const auto all = static_cast<std::int64_t>(test::two_sockets().memory());
  EXPECT_EQ(container_qos(configured(Profile::kKubelet137, 0.5), "", ""), high(all / 2));
}

TEST(MemoryQosTest, HasAFactorByDefaultOnlyIn136) {
  EXPECT_TRUE(container_qos(configured(Profile::kKubelet136, std::nullopt), "1Mi", "2Mi")->high);
  EXPECT_EQ(container_qos(configured(Profile::kKubelet137, std::nullopt, "None"), "1Mi", "2Mi"),
            MemoryQos());
}

TEST(MemoryQosTest, ProtectsRequestsInTiers) {
  const Config config = configured(Profile::kKubelet137, std::nullopt, "TieredReservation");
  const Qos burstable = qos_of(config, pod("p", {memory("100Mi", "200Mi")}));
  EXPECT_EQ(burstable.of_container, (MemoryQos{0, 100 * kMebi, std::nullopt}));
  EXPECT_EQ(burstable.of_pod, (MemoryQos{0, 100 * kMebi, std::nullopt}));
  const PodSpec spec = pod("g", {test::guaranteed("c", 1)});
  const auto bytes = amount_of(spec.containers[0].resources.requests, "memory").value();
  const Qos guaranteed = qos_of(config, spec);
  EXPECT_EQ(guaranteed.of_container, (MemoryQos{bytes, 0, std::nullopt}));
  EXPECT_EQ(guaranteed.of_pod, (MemoryQos{bytes, 0, std::nullopt}));
  EXPECT_EQ(container_qos(config, "", ""), MemoryQos());
}

TEST(MemoryQosTest, APodWithPodLevelMemoryIsThrottledAsAWholeSince137) {
  PodSpec spec = pod("p", {memory("100Mi", "")});
  spec.resources.emplace();
  spec.resources->requests["memory"] = Quantity::parse("128Mi").value();
  spec.resources->limits["memory"] = Quantity::parse("256Mi").value();
  const auto expected =
      static_cast<std::int64_t>(128.0 * kMebi + 128.0 * kMebi * 0.9) / 4096 * 4096;
  EXPECT_EQ(qos_of(configured(Profile::kKubelet137, 0.9), spec).of_pod, high(expected));
  EXPECT_EQ(qos_of(configured(Profile::kKubelet136, 0.9), spec).of_pod, MemoryQos());
  spec.resources->limits.erase("memory");
  spec.resources->limits["cpu"] = Quantity::milli(2000);
  EXPECT_EQ(qos_of(configured(Profile::kKubelet137, 0.9), spec).of_pod, MemoryQos())
      << "a limit of CPU alone";
}

TEST(MemoryQosTest, BadValuesPreventTheStart) {
  const auto error = [](const Config& config) {
    const auto node = Node::make(test::two_sockets(), config);
    return node ? "started" : node.error().error;
  };
  for (const double factor : {0.0, -1.0, 1.5}) {
    EXPECT_THAT(error(configured(Profile::kKubelet137, factor)),
                HasSubstr("must be greater than 0 and less than or equal to 1.0"));
  }
  EXPECT_EQ(
      error(configured(Profile::kKubelet137, 1.5)),
      "invalid configuration: memoryThrottlingFactor 1.5 must be greater than 0 and less than "
      "or equal to 1.0");
  EXPECT_EQ(error(configured(Profile::kKubelet137, std::nullopt, "Hard")),
            R"(invalid configuration: option "Hard" specified for memoryReservationPolicy. )"
            R"(Valid options are "None" or "TieredReservation")");
  Config without_gate = configured(Profile::kKubelet136, std::nullopt, "TieredReservation");
  without_gate.feature_gates.clear();
  EXPECT_EQ(error(without_gate),
            R"(invalid configuration: memoryReservationPolicy "TieredReservation" requires )"
            R"(MemoryQoS feature gate to be enabled)");
}

}  // namespace
}  // namespace pinfold
