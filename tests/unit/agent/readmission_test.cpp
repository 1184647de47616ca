#include "pinfold/agent/readmission.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "agent_world.hpp"
#include "pinfold/agent/followed_runtime.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "pinfold/enforce/foreign.hpp"
#include "pinfold/fields/json.hpp"
#include "pinfold/verbs/execute.hpp"
#include "pinfold/verbs/fields.hpp"

/// Admitting a pod again under the UID of an active one.
namespace pinfold::agent {
namespace {

using test::best_effort;
using test::guaranteed;
using test::must_admit;
using test::pod;
using test::World;
using testing::HasSubstr;

PodSpec named(PodSpec spec, const std::string& name) {
  spec.name = name;
  return spec;
}

/// Returns the active pod `x` with the containers `a` (two exclusive CPUs) and `s` (shared).
PodSpec active() { return pod("x", {guaranteed("a", 2), test::half_a_cpu("s")}); }

struct Row {
  const char* name;
  PodSpec again;
  const char* refusal;            ///< while its containers run; "": admitted
  const char* without_processes;  ///< not enforced: nothing shows what runs; "": admitted
};

std::vector<Row> rows() {
  return {
      {"the same", active(), "", ""},
      {"a container more",
       pod("x", {guaranteed("a", 2), test::half_a_cpu("s"), guaranteed("b", 1)}), "", ""},
      {"without the exclusive one", pod("x", {test::half_a_cpu("s"), guaranteed("b", 2)}),
       "container 'a' is not in the new spec, and has CPUs 1-2 exclusively",
       "container 'a' is not in the new spec, and has CPUs 1-2 exclusively"},
      {"without the shared one", pod("x", {guaranteed("a", 2)}),
       "container 's' is not in the new spec", ""},
      {"other requests", pod("x", {guaranteed("a", 3), test::half_a_cpu("s")}),
       "container 'a' has CPUs 1-2 exclusively for its request of 2, and would request 3",
       "container 'a' has CPUs 1-2 exclusively for its request of 2, and would request 3"},
      {"another name", named(active(), "y"), "container 'a' would belong to pod 'default/y'",
       "container 'a' would belong to pod 'default/y'"},
      {"rejected", pod("x", {guaranteed("a", 2), guaranteed("b", 20)}), "", ""},
  };
}

TEST(Readmission, OfAPodThatRunsKeepsWhatRuns) {
  for (const Row& row : rows()) {
    World world;
    NodeAgent agent = world.open();
    must_admit(agent, active());
    test::run_processes(world.kernel, agent.desired().layout);
    const AgentState before = agent.state();
    const auto outcome = agent.admit(row.again);
    const std::string refusal = row.refusal;
    EXPECT_EQ(outcome.has_value(), refusal.empty())
        << row.name << ": " << (outcome ? "" : outcome.error().message);
    if (outcome) continue;
    EXPECT_EQ(outcome.error().code, ErrorCode::kBusy) << row.name;
    EXPECT_THAT(outcome.error().message, HasSubstr(refusal)) << row.name;
    EXPECT_THAT(outcome.error().message, HasSubstr("remove that pod or container first"));
    EXPECT_EQ(agent.state(), before) << row.name;
    EXPECT_EQ(world.cpus("podx/a"), "1-2") << row.name;
  }
}

TEST(Readmission, OfAPodWithoutProcessesReplacesIt) {
  for (const Row& row : rows()) {
    World world;
    NodeAgent agent = world.open();
    must_admit(agent, active());
    EXPECT_TRUE(agent.admit(row.again)) << row.name;
  }
}

TEST(Readmission, WhereNothingIsEnforcedWhatIsExclusiveCountsAsRunning) {
  for (const Row& row : rows()) {
    World world;
    auto agent = NodeAgent::open(
        test::static_node(), checkpoint::Store::open(world.state.path()).value(), std::nullopt, {});
    ASSERT_TRUE(agent) << agent.error().message;
    must_admit(*agent, active());
    const auto outcome = agent->admit(row.again);
    const std::string refusal = row.without_processes;
    EXPECT_EQ(outcome.has_value(), refusal.empty())
        << row.name << ": " << (outcome ? "" : outcome.error().message);
    if (outcome) continue;
    EXPECT_THAT(outcome.error().message, HasSubstr(refusal)) << row.name;
  }
}

TEST(Readmission, WhereNothingIsEnforcedWhatWasStartedCountsAsRunning) {
  World world;
  auto agent = NodeAgent::open(
      test::static_node(), checkpoint::Store::open(world.state.path()).value(), std::nullopt, {});
  ASSERT_TRUE(agent) << agent.error().message;
  must_admit(*agent, active());
  ASSERT_TRUE(agent->start({PodUid("x"), "s"}));
  const auto outcome = agent->admit(pod("x", {guaranteed("a", 2)}));
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("container 's' is not in the new spec"));
  ASSERT_TRUE(agent->remove_container({PodUid("x"), "s"}, RunningProcesses::kRefuse));
  EXPECT_TRUE(agent->admit(pod("x", {guaranteed("a", 2)}))) << "it was removed";
}

/// A container runtime shows a resize only as a changed request of a container that keeps its CPUs.
TEST(Readmission, OfAPodThatARuntimeShowsMayResizeButTakesNoCpus) {
  World world;
  NodeAgent agent = world.open();
  FollowedRuntime(agent).set_search({});
  must_admit(agent, active());
  test::run_processes(world.kernel, agent.desired().layout);
  EXPECT_TRUE(agent.admit(pod("x", {guaranteed("a", 3), test::half_a_cpu("s")})));
  EXPECT_EQ(world.cpus("podx/a"), "1-2");
  const auto outcome = agent.admit(pod("x", {guaranteed("b", 2)}));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kBusy);
}

TEST(Readmission, APreviewAnswersLikeTheAdmissionAndChangesNothing) {
  const auto text_of = [](const Result<verbs::Answer>& answer) {
    if (!answer) return answer.error().message;
    return fields::to_json(std::get<verbs::Admissions>(*answer)).dump();
  };
  for (const bool runs : {true, false}) {
    for (const Row& row : rows()) {
      World world;
      NodeAgent agent = world.open();
      must_admit(agent, active());
      if (runs) test::run_processes(world.kernel, agent.desired().layout);
      const AgentState before = agent.state();
      const verbs::Action preview = verbs::PreviewAdmit{{row.again}, true};
      EXPECT_FALSE(verbs::can_change(preview));
      const std::string previewed = text_of(verbs::execute(agent, preview));
      EXPECT_EQ(agent.state(), before) << row.name;
      EXPECT_EQ(previewed,
                text_of(verbs::execute(agent, verbs::Admit{{row.again}, true, {}, true})))
          << row.name << (runs ? ", with processes" : "");
    }
  }
}

TEST(Preview, StartsEachPodBeforeTheNextIfAskedTo) {
  World world;
  NodeAgent agent = world.open();
  const PodSpec first =
      pod("x", {guaranteed("init", 4, ContainerKind::kInit), guaranteed("main", 2)});
  const PodSpec second = pod("y", {best_effort("main")});
  for (const bool starts : {false, true}) {
    const auto answer = verbs::execute(agent, verbs::PreviewAdmit{{first, second}, false, starts});
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    const auto& pods = std::get<verbs::Admissions>(*answer).pods;
    ASSERT_EQ(pods.size(), 2U);
    EXPECT_EQ(pods.front().containers.size(), starts ? 1U : 2U) << "the init container has ended";
    EXPECT_EQ(pods.front().containers.back().is_started, starts);
    EXPECT_EQ(pods.back().containers.front().is_started, starts);
  }
  EXPECT_TRUE(agent.state().node.pods.empty());
}

/// Of several pods in one request, the rejected one is named, and nothing has changed.
TEST(Readmission, IsRefusedTogetherWithTheOthersOfARequest) {
  World world;
  NodeAgent agent = world.open();
  must_admit(agent, active());
  test::run_processes(world.kernel, agent.desired().layout);
  const auto outcomes = agent.admit({pod("z", {best_effort("c")}), pod("x", {guaranteed("b", 1)})});
  ASSERT_FALSE(outcomes);
  EXPECT_THAT(outcomes.error().message, HasSubstr("pod 'default/x' with the UID 'x' is active"));
  EXPECT_EQ(agent.state().node.find(PodUid("z")), nullptr);
}

}  // namespace
}  // namespace pinfold::agent
