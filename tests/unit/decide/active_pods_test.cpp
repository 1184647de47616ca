#include "pinfold/decide/active_pods.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "node_fixture.hpp"
#include "pinfold/decide/stale.hpp"

namespace pinfold {
namespace {

std::string names_of(const ActivePods& pods) {
  std::string names;
  for (const ActivePod& pod : pods) names += pod.spec.uid.value + " ";
  return names;
}

PodSpec with_uid(const char* uid, const test::Amounts& amounts) { return test::pod(uid, amounts); }

TEST(ActivePods, KeepTheirOrderAndFindEachPod) {
  ActivePods pods;
  for (const char* const uid : {"c", "a", "d", "b"}) pods.push_back({with_uid(uid, {}), {}});
  EXPECT_EQ(names_of(pods), "c a d b ");
  pods.erase(pods.find(PodUid("a")));
  EXPECT_EQ(names_of(pods), "c d b ");
  for (const char* const uid : {"c", "d", "b"}) {
    const auto found = pods.find(PodUid(uid));
    ASSERT_NE(found, pods.end()) << uid;
    EXPECT_EQ(found->spec.uid.value, uid);
  }
  for (const char* const uid : {"a", "", "e"}) EXPECT_EQ(pods.find(PodUid(uid)), pods.end()) << uid;
}

TEST(ActivePods, AddUpWhatAllButOneRequest) {
  const FeatureGates gates;
  ActivePods pods = {{with_uid("a", {{"cpu", "1500m"}, {"memory", "1Gi"}}), {}},
                     {with_uid("b", {{"cpu", "2"}, {"hugepages-2Mi", "4Mi"}, {"gpu", "1"}}), {}}};
  const auto sum = [&](const char* resource, const char* left_out) {
    return pods.requested(gates, resource, PodUid(left_out));
  };
  EXPECT_EQ(sum("cpu", ""), 3500);
  EXPECT_EQ(sum("cpu", "a"), 2000);
  EXPECT_EQ(sum("memory", "b"), std::int64_t{1} << 30U);
  EXPECT_EQ(sum("hugepages-2Mi", ""), std::int64_t{4} << 20U);
  EXPECT_EQ(sum("gpu", ""), 0);
  pods.replace_spec(pods.find(PodUid("a")), with_uid("a", {{"cpu", "3"}}));
  EXPECT_EQ(sum("cpu", ""), 5000);
  EXPECT_EQ(sum("memory", ""), 0);
  pods.erase(pods.begin());
  EXPECT_EQ(sum("cpu", ""), 2000);
}

TEST(ActivePods, CapTheSum) {
  ActivePods pods;
  for (const char* const uid : {"a", "b"}) pods.push_back({with_uid(uid, {{"memory", "8Ei"}}), {}});
  EXPECT_EQ(pods.requested({}, "memory", PodUid()), std::numeric_limits<std::int64_t>::max());
  pods.erase(pods.begin());
  pods.erase(pods.begin());
  EXPECT_EQ(pods.requested({}, "memory", PodUid()), 0);
}

TEST(ActivePods, AddUpPodLevelRequestsIfTheGateIsOn) {
  PodSpec spec = with_uid("a", {{"cpu", "1"}});
  spec.resources = Resources{};
  spec.resources->requests = {{"cpu", Quantity::parse("3").value()}};
  const ActivePods pods = {{spec, {}}};
  FeatureGates gates;
  EXPECT_EQ(pods.requested(gates, "cpu", PodUid()), 3000);
  gates.pod_level_resources = false;
  EXPECT_EQ(pods.requested(gates, "cpu", PodUid()), 1000);
}

TEST(ActivePods, ListTheChangesFromAnotherState) {
  const ActivePods before = {
      {with_uid("b", {}), {}}, {with_uid("a", {}), {}}, {with_uid("c", {}), {}}};
  ActivePods after = before;
  after.edit_started(after.find(PodUid("c"))).insert("main");
  after.erase(after.find(PodUid("b")));
  after.push_back({with_uid("aa", {}), {}});
  std::string text;
  ActivePods::for_each_change(before, after, [&](const ActivePod* old, const ActivePod* now) {
    text += (old == nullptr   ? "+"
             : now == nullptr ? "-"
                              : "") +
            (old == nullptr ? now : old)->spec.uid.value + " ";
  });
  EXPECT_EQ(text, "+aa -b c ");
}

/// A check of only what has changed since the last check finds the same as a full one.
TEST(ReleaseStale, FindsTheSameWithoutItsLastCheck) {
  std::mt19937 random(7);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same in every run
  const auto draw = [&](int most) { return std::uniform_int_distribution(0, most)(random); };
  for (const Profile profile : {Profile::kFixed, Profile::kKubelet136}) {
    Config config = test::with_memory_manager(test::aligning_config("best-effort"));
    config.profile = profile;
    const Node node = Node::make(test::machine_of({}), config).value();
    NodeState state = empty_state(node);
    for (int step = 0; step < 300; ++step) {
      const PodUid uid("p" + std::to_string(draw(5)));
      const int kind = draw(4);
      if (kind <= 1) {
        auto decision =
            decide(node, state, test::pod(uid.value, {{"cpu", "1"}, {"memory", "1Gi"}}));
        const auto* const admitted = std::get_if<Admitted>(&decision);
        state = admitted != nullptr ? admitted->next : std::get<Rejected>(decision).next;
      } else if (kind == 2) {
        state = remove_pod(node, state, uid);
      } else if (kind == 3 && state.find(uid) != nullptr) {
        state.pods.erase(state.pods.find(uid));  // as if removed by another program
        if (draw(1) == 0) state.held.insert(uid);
      } else {
        state.held.erase(uid);
      }
      NodeState unchecked = state;
      unchecked.checked = {};
      ASSERT_EQ(release_stale(node, state), release_stale(node, unchecked)) << step;
    }
  }
}

}  // namespace
}  // namespace pinfold
