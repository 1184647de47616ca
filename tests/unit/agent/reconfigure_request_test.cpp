// Reconfiguration requests: their parts, and their effect on the configuration file.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "agent_world.hpp"
#include "pinfold/agent/earlier_node.hpp"
#include "pinfold/agent/node_file.hpp"
#include "pinfold/verbs/reconfigure.hpp"

namespace pinfold::agent {
namespace {

using test::guaranteed;
using test::must_admit;
using test::pod;
using testing::HasSubstr;

constexpr const char* kReservesOne = "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";
constexpr const char* kReservesTwo = "cpuManagerPolicy: static\nreservedSystemCPUs: '0-1'\n";
/// Leaves one CPU for pods.
constexpr const char* kReservesSeven = "cpuManagerPolicy: static\nreservedSystemCPUs: '0-6'\n";

verbs::Reconfigure with_config(const std::string& text) {
  verbs::Reconfigure request;
  request.config = text;
  return request;
}
verbs::Reconfigure undo() {
  verbs::Reconfigure request;
  request.undo = true;
  return request;
}
verbs::NodeSource writing() {
  verbs::NodeSource source;
  source.file = verbs::ConfigFile::kWrite;
  return source;
}

class ReconfigureRequests : public testing::Test {
 protected:
  ReconfigureRequests() {
    must_admit(agent_, pod("x", {guaranteed("a", 2)}));
    must_admit(agent_, pod("y", {guaranteed("a", 2)}));
    EXPECT_EQ(world_.cpus("podx/a"), "1-2");
  }
  [[nodiscard]] std::string error_of(const verbs::Reconfigure& request,
                                     const verbs::NodeSource& source = {}) {
    const auto done = verbs::reconfigure(agent_, request, source);
    EXPECT_EQ(agent_.node().config().reserved_system_cpus, "0");
    EXPECT_EQ(world_.cpus("podx/a"), "1-2");
    return done ? "done" : done.error().message;
  }

  test::World world_;
  NodeAgent agent_ = world_.open();
};

TEST_F(ReconfigureRequests, AppliesATextAndSaysWhatTheNodeIsMadeOf) {
  verbs::Reconfigure request = with_config(kReservesTwo);
  request.dry_run = true;
  const auto planned = verbs::reconfigure(agent_, request, {});
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_FALSE(planned->is_applied);
  EXPECT_EQ(world_.cpus("podx/a"), "1-2");
  request.dry_run = false;
  const auto done = verbs::reconfigure(agent_, request, {});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_TRUE(done->is_applied);
  EXPECT_EQ(done->planned.differences, planned->planned.differences);
  ASSERT_TRUE(done->other_node);
  EXPECT_EQ(done->other_node->config, agent_.node().config());
  EXPECT_EQ(done->other_node->machine, test::two_sockets());
  EXPECT_EQ(agent_.node().config().reserved_system_cpus, "0-1");
  const auto json = to_json(*done);
  EXPECT_EQ(json.at("applied"), true);
  EXPECT_EQ(json.at("plan").at("containers").at(0).at("pod").at("name"), "x");
  EXPECT_EQ(json.at("plan").at("containers").at(0).at("cpusAfter"), world_.cpus("podx/a"));
  EXPECT_EQ(json.at("plan").at("undo"), false);
}

TEST_F(ReconfigureRequests, InstallsTheConfigurationAndGoesBackToTheOneBefore) {
  ASSERT_TRUE(verbs::reconfigure(agent_, with_config(kReservesTwo), writing()));
  EXPECT_EQ(world_.file("config.yaml"), kReservesTwo);
  EXPECT_EQ(world_.file("config.yaml.before"), "") << "there was none";
  const std::string by_hand = std::string("# by hand\n") + kReservesOne;
  ASSERT_TRUE(verbs::reconfigure(agent_, with_config(by_hand), writing()));
  EXPECT_EQ(world_.file("config.yaml"), by_hand);
  EXPECT_EQ(world_.file("config.yaml.before"), kReservesTwo);
  const auto undone = verbs::reconfigure(agent_, undo(), writing());
  ASSERT_TRUE(undone) << undone.error().message;
  EXPECT_TRUE(undone->planned.is_undo);
  EXPECT_EQ(world_.file("config.yaml"), kReservesTwo) << "its text, not its meaning";
  EXPECT_EQ(agent_.node().config().reserved_system_cpus, "0-1");
}

TEST_F(ReconfigureRequests, ReplacesOnlyAFileThatExists) {
  verbs::NodeSource source;
  source.file = verbs::ConfigFile::kReplace;
  ASSERT_TRUE(verbs::reconfigure(agent_, with_config(kReservesTwo), source));
  EXPECT_EQ(world_.file("config.yaml"), "");
}

TEST_F(ReconfigureRequests, AnUndoWithoutAFileWritesWhatTheNodeHad) {
  ASSERT_TRUE(verbs::reconfigure(agent_, with_config(kReservesTwo), {}));
  ASSERT_TRUE(verbs::reconfigure(agent_, undo(), writing()));
  const auto written = parse_config(world_.file("config.yaml"));
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->config, agent_.node().config());
  EXPECT_EQ(written->config.reserved_system_cpus, "0");
}

TEST_F(ReconfigureRequests, AFailureLeavesTheFilesAsTheyWere) {
  std::ofstream(world_.state / "config.yaml") << kReservesOne;
  ASSERT_TRUE(agent_.attach({PodUid("x"), "a"}, 77));
  ASSERT_TRUE(agent_.attach({PodUid("y"), "a"}, 78));
  verbs::Reconfigure request = with_config(kReservesSeven);
  request.evict = verbs::Evict::kLost;
  EXPECT_THAT(error_of(request, writing()), HasSubstr("process"));
  EXPECT_EQ(world_.file("config.yaml"), kReservesOne);
  EXPECT_EQ(world_.file("config.yaml.before"), "");
}

TEST_F(ReconfigureRequests, PodsThatCannotStayNeedConsent) {
  const verbs::Reconfigure request = with_config(kReservesSeven);
  const auto refused = verbs::reconfigure(agent_, request, writing());
  ASSERT_TRUE(refused) << refused.error().message;
  EXPECT_FALSE(refused->is_applied);
  EXPECT_EQ(verbs::check_consent(request, *refused).error().message,
            "pods that no longer fit: x, y; nothing has changed");
  EXPECT_EQ(world_.cpus("podx/a"), "1-2");
  EXPECT_EQ(world_.file("config.yaml"), "");
}

/// As from a client that does not know whether its first request was executed.
TEST_F(ReconfigureRequests, ARepeatedRequestKeepsTheWayBack) {
  ASSERT_TRUE(verbs::reconfigure(agent_, with_config(kReservesTwo), {}));
  const auto again = verbs::reconfigure(agent_, with_config(kReservesTwo), {});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->is_applied);
  EXPECT_FALSE(again->other_node);
  ASSERT_TRUE(agent_.before());
  EXPECT_EQ(agent_.before()->config.reserved_system_cpus, "0");
}

TEST_F(ReconfigureRequests, TheSourceSaysWhatIsReadAndWhetherItWillBeFound) {
  verbs::NodeSource source;
  source.config = [](const std::optional<std::string>& text) -> Result<verbs::NodeConfig> {
    PINFOLD_LET(auto parsed, parse_config(text.value_or(kReservesTwo)));
    return verbs::NodeConfig{std::move(parsed.config), ProfileSource::kConfiguration};
  };
  source.check = [](const Node& to) -> Result<void> {
    return fail(ErrorCode::kUnsupported, "reserved " + to.config().reserved_system_cpus);
  };
  EXPECT_EQ(error_of({}, source), "reserved 0-1");
  verbs::Reconfigure dry_run;
  dry_run.dry_run = true;
  EXPECT_EQ(error_of(dry_run, source), "done") << "nothing has to find it";
}

TEST_F(ReconfigureRequests, NamesWhatIsWrong) {
  EXPECT_EQ(error_of(undo()), "undo: state directory '" + world_.state.path() +
                                  "' was not reconfigured, or its configuration has changed since");
  verbs::Reconfigure both = with_config(kReservesTwo);
  both.undo = true;
  EXPECT_THAT(error_of(both), HasSubstr("undo: expected no configuration, machine or pods"));
  EXPECT_THAT(error_of(both), HasSubstr("got a configuration"));
  EXPECT_THAT(error_of(with_config("cpuManagerPolicy: [")), HasSubstr("configuration: "));
  EXPECT_THAT(error_of(with_config("cpuManagerPolicy: dynamic")), HasSubstr("dynamic"));
  EXPECT_THAT(error_of(with_config("cpuManagerPolicy: static")), HasSubstr("start: cpumanager"));
}

TEST_F(ReconfigureRequests, AnswersWithTheWarningsOfTheConfiguration) {
  verbs::Reconfigure request =
      with_config(std::string(kReservesOne) + "topologyManagerScope: pod\nunheardOf: 1\n");
  request.dry_run = true;
  const auto planned = verbs::reconfigure(agent_, request, {});
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_THAT(planned->warnings,
              testing::ElementsAre(HasSubstr("unknown field 'unheardOf'"),
                                   HasSubstr("topologyManagerScope 'pod' has no effect")));
  EXPECT_EQ(verbs::to_json(*planned).at("warnings").size(), 2U);
}

TEST_F(ReconfigureRequests, APartOfAConfigurationChangesNoPolicyThatItLeavesOut) {
  EXPECT_THAT(error_of(with_config("KUBELET_EXTRA_ARGS=--max-pods=110\n")),
              HasSubstr("which is now 'static'"));
  EXPECT_THAT(error_of(with_config("--reserved-cpus=0-1")), HasSubstr("has no cpuManagerPolicy"));
}

/// One CPU is free on NUMA node 0, two on NUMA node 1; the pod needs three on one.
TEST(DefragmentRequests, MakesRoomAndDoesNotAdmit) {
  test::World world;
  Config config;
  config.topology_manager_policy = "single-numa-node";
  NodeAgent agent = world.try_open(config).value();
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  must_admit(agent, pod("y", {guaranteed("a", 2)}));
  const PodSpec big = pod("big", {guaranteed("a", 3)});
  const auto planned = verbs::defragment(agent, {big, true});
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_FALSE(planned->is_applied);
  ASSERT_TRUE(planned->planned.room && planned->planned.room->is_possible);
  EXPECT_EQ(to_json(*planned).at("room").at("rejection").at("reason"), "TopologyAffinityError");
  ASSERT_TRUE(agent.admit(big)->rejection);
  const auto done = verbs::defragment(agent, {big, false});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_TRUE(done->is_applied);
  EXPECT_FALSE(done->other_node);
  EXPECT_EQ(agent.state().node.find(PodUid("big")), nullptr);
  must_admit(agent, big);
  const auto again = verbs::defragment(agent, {big, false});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->planned.room->is_active);
  EXPECT_FALSE(again->is_applied);
  EXPECT_FALSE(verbs::defragment(agent, {pod("huge", {guaranteed("a", 6)}), false})->is_applied);
}

}  // namespace
}  // namespace pinfold::agent
