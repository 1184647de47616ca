#include "pinfold/api/hint_provider.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "node_fixture.hpp"

namespace pinfold::test {
namespace {

constexpr const char* kSeat = "example.com/seat";

/// A single seat on NUMA node 1. The state is the container that holds it: "uid/container".
class OneSeat : public HintProvider {
 public:
  explicit OneSeat(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] ResourceHints container_hints(const std::string& state, const PodSpec& pod,
                                              const Container& container) const override {
    if (!wants(container)) return {};
    if (!is_free(state, pod, container)) return {{kSeat, std::vector<TopologyHint>{}}};
    return {{kSeat, std::vector<TopologyHint>{{NumaMask::of(1), true}}}};
  }
  [[nodiscard]] ResourceHints pod_hints(const std::string& state,
                                        const PodSpec& pod) const override {
    return container_hints(state, pod, pod.containers.front());
  }
  [[nodiscard]] Admission allocate(std::string& state, const PodSpec& pod,
                                   const Container& container,
                                   const TopologyHint& affinity) const override {
    if (!wants(container)) return {};
    if (!is_free(state, pod, container)) {
      return tl::unexpected(Rejection::unexpected("no seat is left"));
    }
    if (affinity.numa && !affinity.numa->contains(1)) {
      return tl::unexpected(Rejection::unexpected("the seat is elsewhere"));
    }
    state = to_string(ContainerId{pod.uid, container.name});
    return {};
  }
  void release(std::string& state, const ContainerId& container) const override {
    if (state == to_string(container)) state.clear();
  }

 private:
  static bool wants(const Container& container) {
    return container.resources.limits.contains(kSeat);
  }
  static bool is_free(const std::string& state, const PodSpec& pod, const Container& container) {
    return state.empty() || state == to_string(ContainerId{pod.uid, container.name});
  }

  std::string name_;
};

Node::Providers providers(const std::vector<std::string>& names) {
  Node::Providers made;
  for (const std::string& name : names) made.push_back(std::make_unique<OneSeat>(name));
  return made;
}

class HintProviderTest : public testing::TestWithParam<Profile> {
 protected:
  static Node node_of(const std::string& policy, const std::string& scope = "container") {
    Config config = aligning_config(policy, scope);
    config.profile = GetParam();
    return Node::make(machine_of({}), config, providers({"seats"})).value();
  }
  static const PodSpec& seated() {
    static const PodSpec kPod = pod("a", {{"cpu", "2"}, {"memory", "1Gi"}, {kSeat, "1"}});
    return kPod;
  }
};

TEST_P(HintProviderTest, SteersThePodToItsNodes) {
  for (const char* scope : {"container", "pod"}) {
    const Node node = node_of("single-numa-node", scope);
    const Decision decision = decide(node, empty_state(node), seated());
    const auto& admitted = std::get<Admitted>(decision);
    EXPECT_EQ(admitted.next.cpu.assignments.find({PodUid("a"), "c"})->to_string(), "8-9") << scope;
    EXPECT_EQ(admitted.next.providers.at("seats"), "a/c") << scope;
    EXPECT_TRUE(admitted.hints.begin()->second.contains(kSeat)) << scope;
  }
}

TEST_P(HintProviderTest, RejectsByItsHints) {
  const Node node = node_of("restricted");
  const Decision first = decide(node, empty_state(node), seated());
  PodSpec second = seated();
  second.uid = PodUid("b");
  const Decision decision = decide(node, std::get<Admitted>(first).next, second);
  EXPECT_EQ(std::get<Rejected>(decision).why.reason, kAffinityError);
  EXPECT_EQ(std::get<Rejected>(decision).next.providers.at("seats"), "a/c");
}

TEST_P(HintProviderTest, RejectsWhenItCannotAllocate) {
  const Node node = node_of("none");
  const Decision first = decide(node, empty_state(node), seated());
  PodSpec second = seated();
  second.uid = PodUid("b");
  const Decision decision = decide(node, std::get<Admitted>(first).next, second);
  EXPECT_EQ(std::get<Rejected>(decision).why.message,
            "Allocate failed due to no seat is left, which is unexpected");
}

TEST_P(HintProviderTest, ReleasesWithContainerPodOrRejection) {
  const Node node = node_of("none");
  const NodeState admitted = std::get<Admitted>(decide(node, empty_state(node), seated())).next;
  EXPECT_TRUE(remove_container(node, admitted, {PodUid("a"), "c"}).providers.empty());
  EXPECT_TRUE(remove_pod(node, admitted, PodUid("a")).providers.empty());
  PodSpec too_large = seated();
  too_large.containers.push_back(container("d", {{"cpu", "99"}, {"memory", "1Gi"}}));
  const Decision decision = decide(node, empty_state(node), too_large);
  EXPECT_TRUE(std::get<Rejected>(decision).next.providers.empty());
}

INSTANTIATE_TEST_SUITE_P(Profiles, HintProviderTest,
                         testing::Values(Profile::kFixed, Profile::kKubelet136),
                         [](const auto& tested) {
                           return tested.param == Profile::kFixed ? "Fixed" : "Kubelet";
                         });

TEST(NodeMake, RequiresUniqueNamesOfHintProviders) {
  for (const auto& names : std::vector<std::vector<std::string>>{{"a", "a"}, {""}, {"a/b"}}) {
    const auto node = Node::make(machine_of({}), aligning_config("none"), providers(names));
    ASSERT_FALSE(node);
    EXPECT_EQ(node.error().stage, StartStage::kConfiguration);
    EXPECT_EQ(node.error().error, "hint provider '" + names.back() +
                                      "': expected a unique name of letters, digits, "
                                      "'.', '_' and '-'");
  }
}

}  // namespace
}  // namespace pinfold::test
