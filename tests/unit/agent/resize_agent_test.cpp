// Resizes: changes of the number of exclusive CPUs of a running container.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../../crash/memory_fs.hpp"
#include "agent_world.hpp"
#include "pinfold/agent/fields.hpp"
#include "pinfold/agent/reconcile.hpp"
#include "pinfold/agent/status.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "pinfold/fields/json.hpp"
#include "pinfold/verbs/event.hpp"
#include "pinfold/verbs/execute.hpp"
#include "pinfold/verbs/fields.hpp"

namespace pinfold::agent {
namespace {

using test::best_effort;
using test::guaranteed;
using test::must_admit;
using test::pod;
using test::World;
using testing::ElementsAre;
using testing::HasSubstr;

ResizeRequest to(std::int64_t cpus) {
  return {{PodUid("x"), "a"}, Quantity::of(cpus, Quantity::Format::kDecimalSi)};
}

void must_resize(NodeAgent& agent, std::int64_t cpus) {
  const auto outcome = agent.resize(to(cpus));
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  ASSERT_FALSE(outcome->refused) << describe(*outcome->refused);
  ASSERT_FALSE(outcome->not_enforced) << outcome->not_enforced->message;
}

class ResizeAgentTest : public testing::TestWithParam<enforce::CgroupVersion> {
 protected:
  World world_{GetParam()};
};

TEST_P(ResizeAgentTest, GrowsWhileOthersShrink) {
  NodeAgent agent = world_.open();
  must_admit(agent, pod("s", {best_effort("c")}));
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  must_resize(agent, 4);
  EXPECT_EQ(world_.cpus("podx/a"), "1-4");
  EXPECT_EQ(world_.cpus("pods/c"), "0,5-7");
  must_resize(agent, 2);
  EXPECT_EQ(world_.cpus("podx/a"), "1-2");
  EXPECT_EQ(world_.cpus("pods/c"), "0,3-7");
  const auto report = reconcile(agent);
  ASSERT_TRUE(report.has_value());
  EXPECT_TRUE(report->drift.empty()) << testing::PrintToString(report->drift);
}

TEST_P(ResizeAgentTest, SurvivesARestart) {
  {
    NodeAgent agent = world_.open();
    must_admit(agent, pod("x", {guaranteed("a", 2)}));
    must_resize(agent, 4);
  }
  EXPECT_THAT(world_.file("cpu_manager_state"), HasSubstr(R"("entries":{"x":{"a":"1-4"}})"));
  NodeAgent agent = world_.open();
  EXPECT_EQ(baseline_of(agent.state().node.cpu, to(0).container)->to_string(), "1-2");
  const auto below = agent.resize(to(1));
  ASSERT_TRUE(below && below->refused);
  EXPECT_THAT(below->refused->advice, HasSubstr("1-2: request at least 2"));
  must_resize(agent, 3);
  EXPECT_EQ(world_.cpus("podx/a"), "1-3");
}

/// A pod that is admitted again with a smaller request keeps its CPUs.
TEST_P(ResizeAgentTest, StoresAnAmountThatNeedsNoOtherCpus) {
  const PodUid uid("x");
  const auto requested = [&](const NodeAgent& agent) {
    return agent.state().node.find(uid)->spec.find("a")->resources.requests.at("cpu").value();
  };
  {
    NodeAgent agent = world_.open();
    must_admit(agent, pod("x", {guaranteed("a", 2)}));
    must_admit(agent, pod("x", {guaranteed("a", 1)}));
    ASSERT_EQ(world_.cpus("podx/a"), "1-2");
    ASSERT_EQ(requested(agent), 1);
    must_resize(agent, 2);
    EXPECT_EQ(requested(agent), 2);
  }
  NodeAgent agent = world_.open();
  EXPECT_EQ(requested(agent), 2);
  EXPECT_EQ(world_.cpus("podx/a"), "1-2");
}

TEST_P(ResizeAgentTest, ARepetitionCompletesAFailedWrite) {
  for (int fail_at = 0;; ++fail_at) {
    World world(GetParam());
    NodeAgent agent = world.open();
    must_admit(agent, pod("s", {best_effort("c")}));
    must_admit(agent, pod("x", {guaranteed("a", 2)}));
    world.kernel.writes_until_failure = fail_at;
    const auto outcome = agent.resize(to(4));
    ASSERT_TRUE(outcome.has_value()) << fail_at << ": " << outcome.error().message;
    world.kernel.writes_until_failure = -1;
    const bool is_done = !outcome->not_enforced;
    must_resize(agent, 4);
    EXPECT_EQ(world.cpus("podx/a"), "1-4") << fail_at;
    EXPECT_EQ(world.cpus("pods/c"), "0,5-7") << fail_at;
    const auto report = reconcile(agent);
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_TRUE(report->drift.empty()) << fail_at << testing::PrintToString(report->drift);
    if (!is_done) continue;
    EXPECT_GT(fail_at, 2);
    return;
  }
}

TEST_P(ResizeAgentTest, ReconcilesAfterAFailedWrite) {
  for (const auto& [from, to_cpus] : {std::pair{2, 4}, std::pair{4, 2}}) {
    int failures = 0;
    for (int fail_at = 0;; ++fail_at) {
      World world(GetParam());
      NodeAgent agent = world.open();
      must_admit(agent, pod("s", {best_effort("c")}));
      must_admit(agent, pod("x", {guaranteed("a", 2)}));
      if (from > 2) must_resize(agent, from);
      world.kernel.writes_until_failure = fail_at;
      const auto outcome = agent.resize(to(to_cpus));
      ASSERT_TRUE(outcome.has_value()) << fail_at << ": " << outcome.error().message;
      if (!outcome->not_enforced) break;
      ++failures;
      if (world.cpus("podx/a") == "1-4") {
        EXPECT_EQ(world.cpus("pods/c"), "0,5-7") << fail_at;
      }
      world.kernel.writes_until_failure = -1;
      const auto report = reconcile(agent);
      ASSERT_TRUE(report.has_value()) << report.error().message;
      EXPECT_TRUE(report->remaining.empty()) << testing::PrintToString(report->remaining);
      EXPECT_EQ(world.cpus("podx/a"), to_cpus == 4 ? "1-4" : "1-2") << fail_at;
      EXPECT_EQ(world.cpus("pods/c"), to_cpus == 4 ? "0,5-7" : "0,3-7") << fail_at;
    }
    EXPECT_GT(failures, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, ResizeAgentTest,
                         testing::Values(enforce::CgroupVersion::kV1, enforce::CgroupVersion::kV2),
                         [](const auto& version) {
                           return version.param == enforce::CgroupVersion::kV1 ? "V1" : "V2";
                         });

/// The state of a kubelet with a container that was resized from 2-3 to 2-5.
CpuCheckpoint resized_before() {
  CpuCheckpoint state;
  state.default_set = CpuSet{0, 1, 6, 7};
  state.assignments[PodUid("old")] = {{"a", CpuSet{2, 3, 4, 5}}};
  state.baselines[PodUid("old")] = {{"a", CpuSet{2, 3}}};
  return state;
}

TEST(ResizeAgent, KeepsTheBaselinesOfHeldPods) {
  World world;
  std::ofstream(world.state / "cpu_manager_state")
      << checkpoint::encode_cpu(resized_before(), "static", checkpoint::CpuFormat::kV4);
  {
    std::vector<std::string> warnings;
    AgentOptions options;
    options.log = [&](LogLevel /*level*/, std::string_view text) { warnings.emplace_back(text); };
    auto agent = world.try_open({}, options);
    ASSERT_TRUE(agent) << agent.error().message;
    EXPECT_THAT(warnings, testing::Contains(HasSubstr("drops the baseline 2-3 of old/a")));
    must_admit(*agent, pod("x", {guaranteed("a", 1)}));
  }
  EXPECT_THAT(world.file("cpu_manager_state"), testing::Not(HasSubstr("baseline")));
  NodeAgent agent = world.open();
  const ContainerId old{PodUid("old"), "a"};
  for (const bool is_held : {true, false}) {
    const CpuSet* const baseline = baseline_of(agent.state().node.cpu, old);
    ASSERT_NE(baseline, nullptr) << is_held;
    EXPECT_EQ(baseline->to_string(), "2-3") << is_held;
    must_admit(agent, pod("old", {guaranteed("a", 4)}));
  }
}

TEST(WrongSumOfAState, IsNamed) {
  World world;
  std::ofstream(world.state / "cpu_manager_state")
      << R"({"policyName":"static","defaultCpuSet":"0-7","entries":{"a":{"b":"1"}},"checksum":1})";
  const auto agent = world.try_open();
  ASSERT_FALSE(agent);
  EXPECT_THAT(agent.error().message, HasSubstr("start: cpumanager: wrong checksum: 1 in the file"));
}

TEST(UnknownKeysOfAState, SurviveAnAdmissionThatKeepsTheFormat) {
  World world;
  const checkpoint::UnknownKeys keys{{{"more", "1"}},
                                     {{"scaleDelay", R"({"old":"5s"})"}},
                                     {{{"baselines", "old", "a"}, {{"since", "7"}}}}};
  std::ofstream(world.state / "cpu_manager_state") << checkpoint::with_keys(
      checkpoint::encode_cpu(resized_before(), "static", checkpoint::CpuFormat::kV4), keys);
  Config config;
  config.profile = Profile::kKubelet137;
  {
    auto agent = world.try_open(config);
    ASSERT_TRUE(agent) << agent.error().message;
    must_admit(*agent, pod("x", {guaranteed("a", 1)}));
  }
  const std::string file = world.file("cpu_manager_state");
  EXPECT_THAT(file, HasSubstr(R"("x":{"a":)"));
  EXPECT_EQ(checkpoint::unknown_keys(file).names(), keys.names());
  EXPECT_TRUE(checkpoint::inspect_cpu(file)) << file;
}

TEST(ResizeAgent, ChangesNothingIfItIsRefusedOrCannotBeStored) {
  using checkpoint::testing::Disk;
  using checkpoint::testing::MemoryFs;
  World world;
  bool is_broken = false;
  auto fs = std::make_unique<MemoryFs>(std::make_shared<Disk>(), [&](const std::string& /*what*/) {
    return MemoryFs::Fault{is_broken ? EIO : 0};
  });
  NodeAgent agent =
      NodeAgent::open(test::static_node(), checkpoint::Store::open(std::move(fs)).value(),
                      world.kernel.cgroups(), {})
          .value();
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  const AgentState before = agent.state();
  const auto log = world.kernel.log;
  const auto refused = agent.resize(to(8));
  ASSERT_TRUE(refused && refused->refused);
  EXPECT_EQ(refused->refused->reason, ResizeReason::kInfeasible);
  EXPECT_EQ(refused->before, refused->after);
  EXPECT_EQ(agent.resize({{PodUid("x"), "b"}, to(3).cpu}).error().code, ErrorCode::kNotFound);
  is_broken = true;
  const auto unstored = agent.resize(to(3));
  ASSERT_FALSE(unstored.has_value());
  EXPECT_THAT(unstored.error().message, HasSubstr("resize container 'a': persist: "));
  EXPECT_EQ(agent.state(), before);
  EXPECT_EQ(world.kernel.log, log);
}

TEST(ResizeAgent, GainsNothingWhileCpusAreOffline) {
  World world;
  {
    NodeAgent agent = world.open();
    must_admit(agent, pod("x", {guaranteed("a", 2)}));
    must_resize(agent, 3);
  }
  NodeAgent agent = world.open(CpuSet{7});
  EXPECT_EQ(agent.resize(to(4)).error().code, ErrorCode::kUnsupported);
  must_resize(agent, 2);
}

TEST(ResizeAgent, RemembersTheAdmissionOfARemovedContainerNoLonger) {
  World world;
  NodeAgent agent = world.open();
  must_admit(agent, pod("x", {guaranteed("a", 2), guaranteed("b", 1)}));
  must_resize(agent, 4);
  ASSERT_TRUE(agent.remove_container(to(0).container, RunningProcesses::kRefuse));
  EXPECT_TRUE(agent.state().node.cpu.baselines.empty());
  EXPECT_EQ(agent.resize(to(3)).error().code, ErrorCode::kNotFound);
}

TEST(ResizeAgent, IsAVerbWithAnEvent) {
  World world;
  NodeAgent agent = world.open();
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  const verbs::Action action = verbs::Resize{to(4)};
  EXPECT_TRUE(verbs::can_change(action));
  const auto answer = verbs::execute(agent, action);
  ASSERT_TRUE(answer.has_value());
  verbs::Events events;
  verbs::add_events(action, *answer, events);
  EXPECT_THAT(events, ElementsAre(verbs::Event{verbs::EventKind::kMoved, PodUid("x"), "a"}));
  const auto outcome = std::get<ResizeOutcome>(*answer);
  const auto json = fields::to_json(outcome);
  EXPECT_EQ(json["cpusBefore"], "1-2");
  EXPECT_EQ(json["cpusAfter"], "1-4");
  EXPECT_TRUE(json["refused"].is_null());
}

TEST(ResizeAgent, ARefusedOneHasTheCpusThatTheContainerKeeps) {
  World world;
  NodeAgent agent = world.open();
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  const auto outcome = agent.resize(to(100)).value();
  ASSERT_TRUE(outcome.refused.has_value());
  const auto json = fields::to_json(outcome);
  EXPECT_EQ(json["cpusBefore"], "1-2");
  EXPECT_EQ(json["cpusAfter"], "1-2");
  verbs::Events events;
  verbs::add_events(verbs::Resize{to(100)}, outcome, events);
  EXPECT_THAT(events, testing::IsEmpty());
}

TEST(ResizeAgent, TheAnswerHasTheReasonsIfTheyAreRequested) {
  World world;
  NodeAgent agent = world.open();
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  for (const int cpus : {4, 100}) {  // the second one is refused
    const auto answer = verbs::execute(agent, verbs::Resize{to(cpus), true});
    ASSERT_TRUE(answer.has_value());
    const auto outcome = std::get<ResizeOutcome>(*answer);
    EXPECT_EQ(outcome.refused.has_value(), cpus == 100);
    ASSERT_TRUE(outcome.trace.has_value());
    EXPECT_FALSE(fields::to_json(outcome)["trace"].empty());
  }
  const auto answer = verbs::execute(agent, verbs::Resize{to(3)});
  ASSERT_TRUE(answer.has_value());
  EXPECT_TRUE(fields::to_json(std::get<ResizeOutcome>(*answer))["trace"].is_null());
}

TEST(ResizeAgent, StatusShowsTheCpusOfTheAdmission) {
  World world;
  NodeAgent agent = world.open();
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  const auto shown = [&] {
    return to_json(node_status(agent).value())["pods"][0]["containers"][0];
  };
  EXPECT_FALSE(shown().contains("baselineCpus"));
  must_resize(agent, 3);
  EXPECT_EQ(shown()["baselineCpus"], "1-2");
}

}  // namespace
}  // namespace pinfold::agent
