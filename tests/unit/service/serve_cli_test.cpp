#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "pinfold/agent/open_agent.hpp"
#include "pinfold/agent/outcome.hpp"
#include "pinfold/base/unique_fd.hpp"
#include "pinfold/server/server.hpp"
#include "pinfold/socket/client.hpp"
#include "pinfold/socket/unix_socket.hpp"
#include "serve_world.hpp"

/// `pinfold serve`, and the commands that use it, as an operator runs them.
namespace pinfold {
namespace {

using test::kOptions;
using test::Node;
using test::read_all;
using test::with_options;
using testing::HasSubstr;
using testing::Not;

/// Run one after the other. The results must not depend on whether a service executes them.
const std::vector<std::string> kCommands = {
    "admit --explain web.yaml",
    "admit -o json --explain db.yaml",
    "admit big.yaml",
    "admit -o json big.yaml",
    "admit web.yaml",  // again
    "admit none.yaml",
    "start --pod web --container main",
    "start -o json --pod default/db --container main",
    "start --pod web --container other",
    "start -o json --pod other --container main",
    "remove --pod web --container main",
    "remove -o json --pod db --container main",
    "remove --pod other",
    "remove --pod web --dry-run",
    "remove --pod web",
    "remove -o json --pod db --kill",
    "admit --start init.yaml",
    "admit --dry-run -o json web.yaml",
    "admit -o json web.yaml big.yaml",
    "reconcile",
    "reconcile -o json --move-pages",
    "reconcile --release-unknown",
    "remove --pod init",
    "hook < empty.json",
    "hook < other.json",
    "hook < created.json",
    "status",
    "status -o json",
    "checkpoint verify state",
};

void write_hook_states(const Node& node) {
  const std::string hook = R"({"id":"c","bundle":"/b","pid":0,"status":"stopped")";
  node.dir().write("empty.json", hook + "}");
  node.dir().write("other.json", hook + R"(,"annotations":{"io.pinfold.cpu":"1"}})");
  node.dir().write("created.json", R"({"id":"c","bundle":"/b","pid":2,"status":"created",)"
                                   R"("annotations":{"io.pinfold.cpu":"1"}})");
}

/// Runs one of kCommands on both nodes.
void expect_same(const std::string& command, const Node& actual_node, const Node& expected_node) {
  const std::string line = command.starts_with("checkpoint") ? command : with_options(command);
  const auto expected = expected_node.pinfold(line);
  const auto actual = actual_node.pinfold(line);
  EXPECT_EQ(actual.status, expected.status) << command << ": " << actual.err;
  EXPECT_EQ(actual.out, expected.out) << command;
  EXPECT_EQ(actual.err, expected.err) << command;
  for (const char* const file :
       {"cpu_manager_state", "memory_manager_state", ".pinfold_pods", ".pinfold_node"}) {
    EXPECT_EQ(actual_node.state(file), expected_node.state(file)) << command << ": " << file;
  }
}

TEST(ServeCli, CommandsDoTheSameWithAndWithoutAService) {
  const Node direct;
  Node served;
  served.serve();
  write_hook_states(direct);
  write_hook_states(served);
  for (const std::string& command : kCommands) expect_same(command, served, direct);
  EXPECT_EQ(served.end(SIGTERM), 0);
}

/// A service that handles some requests and then stops, which takes some time.
class StoppingService {
 public:
  StoppingService(const Node& node, int requests,
                  std::optional<verbs::Comparison> comparison = std::nullopt)
      : requests_(requests), comparison_(std::move(comparison)), agent_(open(node)) {
    const socket::Hello hello{"0",
                              node.dir() / "state",
                              agent_->node().config(),
                              agent_->options().profile_source,
                              agent_->node().machine(),
                              ""};
    listener_.emplace(socket::Listener::open(node.dir() / "s.sock").value());
    server_.emplace(
        io_, *listener_, hello, [this](const worker::Request& request) { return answer(request); },
        server::ServerOptions{});
    thread_ = std::thread([this] { run(); });
  }
  StoppingService(const StoppingService&) = delete;
  StoppingService& operator=(const StoppingService&) = delete;
  ~StoppingService() { (void)end(); }
  /// Returns whether a request stopped it.
  bool end() {
    if (thread_.joinable()) {
      io_.stop();
      thread_.join();
    }
    return has_refused_;
  }

 private:
  static agent::NodeAgent open(const Node& node) {
    const auto config = agent::read_config(node.dir() / "state", node.dir() / "config.yaml",
                                           checkpoint::OwnerCheck::kOff);
    agent::AgentOptions options;
    options.state_dir = node.dir() / "state";
    options.enforce = false;
    return agent::open_agent(parse_machine(read_all(node.dir() / "node.json")).value(),
                             config.value().config, options)
        .value();
  }
  Result<void> answer(const worker::Request& request) {
    if (requests_-- > 0) {
      if (comparison_ && std::holds_alternative<verbs::ReadComparison>(request.action)) {
        request.done(*comparison_);
        return {};
      }
      const auto* const admit = std::get_if<verbs::Admit>(&request.action);
      request.done(admit != nullptr ? verbs::admit_together(*agent_, {admit}).front()
                                    : verbs::execute(*agent_, request.action));
      return {};
    }
    has_refused_ = true;
    io_.stop();
    return fail(agent::stopping_error());
  }
  void run() {
    (void)io_.run();
    server_->stop();
    io_.restart();
    (void)io_.run_for(std::chrono::seconds(2));
    constexpr std::chrono::milliseconds kPause(20);  // a command must wait for the lock
    std::this_thread::sleep_for(kPause);
    EXPECT_TRUE(agent_->checkpoint_journal().has_value());
    server_.reset();
    listener_.reset();
    agent_.reset();
  }

  int requests_;
  std::optional<verbs::Comparison> comparison_;
  std::atomic<bool> has_refused_ = false;
  std::optional<agent::NodeAgent> agent_;
  boost::asio::io_context io_;
  std::optional<socket::Listener> listener_;
  std::optional<server::Server> server_;
  std::thread thread_;
};

TEST(ServeCli, CommandsDoTheSameWhileAServiceStops) {
  for (const int requests : {0, 1, 2}) {  // handled before it stops
    const Node direct;
    const Node served;
    write_hook_states(direct);
    write_hook_states(served);
    int refused = 0;
    for (const std::string& command : kCommands) {
      SCOPED_TRACE(requests);
      StoppingService service(served, requests);
      expect_same(command, served, direct);
      if (service.end()) ++refused;
    }
    EXPECT_GT(refused, 0) << requests;
  }
}

/// A service that dies at the first request that changes something.
class DyingService {
 public:
  explicit DyingService(const Node& node) {
    listener_.emplace(socket::Listener::open(node.dir() / "s.sock").value());
    const socket::Hello hello{"0",
                              node.dir() / "state",
                              agent::read_config(node.dir() / "state", node.dir() / "config.yaml",
                                                 checkpoint::OwnerCheck::kOff)
                                  .value()
                                  .config,
                              agent::ProfileSource::kDefault,
                              parse_machine(read_all(node.dir() / "node.json")).value(),
                              ""};
    server_.emplace(
        io_, *listener_, hello,
        [this](const worker::Request& /*request*/) {
          io_.stop();
          return Result<void>();
        },
        server::ServerOptions{});
    thread_ = std::thread([this] {
      (void)io_.run();
      server_.reset();
      listener_.reset();
    });
  }
  DyingService(const DyingService&) = delete;
  DyingService& operator=(const DyingService&) = delete;
  ~DyingService() { thread_.join(); }

 private:
  boost::asio::io_context io_;
  std::optional<socket::Listener> listener_;
  std::optional<server::Server> server_;
  std::thread thread_;
};

TEST(ServeCli, AChangeWhoseAnswerIsLostHasAStatusOfItsOwn) {
  for (const char* const command :
       {"admit web.yaml", "start --pod web --container main", "remove --pod web", "reconcile"}) {
    Node node;
    ASSERT_EQ(node.pinfold(with_options("admit web.yaml")).status, 0);
    const DyingService service(node);
    const auto lost = node.pinfold(with_options(command));
    EXPECT_EQ(lost.status, 3) << command << ": " << lost.out;
    EXPECT_THAT(lost.err, HasSubstr("the change may have been made: 'pinfold status' shows it"))
        << command;
    EXPECT_THAT(lost.err, Not(HasSubstr("stored in the journal"))) << command;
  }
}

TEST(ServeCli, AnErrorAfterAChangeIsNotOneThatChangedNothing) {
  const Node node;
  const auto admitted = node.pinfold(with_options("admit web.yaml") + " > /dev/full");
  EXPECT_EQ(admitted.status, 3) << "the output is lost, the pod is admitted: " << admitted.err;
  EXPECT_EQ(node.pinfold(with_options("status") + " > /dev/full").status, 2) << "it only reads";
  EXPECT_EQ(node.pinfold(with_options("admit --dry-run db.yaml") + " > /dev/full").status, 2);
}

TEST(ServeCli, ChecksWhetherTheServiceIsLiveAndReady) {
  Node node;
  const std::string check = "serve --settings agent.yaml --socket s.sock --check ";
  const auto none = node.pinfold(check + "live");
  EXPECT_EQ(none.status, 1);
  EXPECT_EQ(none.out, "not live: no service at 's.sock'\n");
  node.serve();
  for (const std::string what : {"live", "ready"}) {
    const auto good = node.pinfold(check + what);
    EXPECT_EQ(good.status, 0) << good.out;
    EXPECT_EQ(good.out, what + "\n");
  }
  EXPECT_EQ(node.pinfold(check + "well").status, 2);
}

/// Two containers, one of which would also have other memory nodes.
verbs::Comparison two_of_three() {
  verbs::Comparison comparison;
  comparison.compared = 3;
  comparison.differences = {
      {{{PodUid("u1"), "default", "web"}, "main"}, CpuSet{0, 1, 2, 3}, CpuSet{1, 2}, {0}, {}},
      {{{PodUid("u2"), "shop", "db"}, "c\n"}, CpuSet{0, 1}, {}, CpuSet{0, 1}, CpuSet{1}}};
  return comparison;
}

TEST(ServeCli, StatusShowsWhatModeObserveHasCompared) {
  const Node node;
  constexpr int kMany = 100;
  {
    StoppingService service(node, kMany, two_of_three());
    const auto text = node.pinfold(with_options("status"));
    EXPECT_EQ(text.status, 0) << text.err;
    EXPECT_THAT(text.out, HasSubstr(R"(
Mode observe: 2 of 3 running containers would have different CPUs or memory nodes:
POD          CONTAINER  RUNS ON  WOULD HAVE  MEMORY ON  WOULD HAVE
default/web  main       0-3      1-2
shop/db      c\n        0-1      any         0-1        1
)"));
    const auto json = node.pinfold(with_options("status -o json"));
    EXPECT_EQ(json.status, 0) << json.err;
    EXPECT_THAT(json.out, HasSubstr(R"("comparedCount": 3)"));
    EXPECT_THAT(json.out, HasSubstr(R"("cpusetCpusEffective": "0-3")"));
  }
  {
    verbs::Comparison equal;
    equal.compared = 1;
    StoppingService service(node, kMany, equal);
    EXPECT_THAT(
        node.pinfold(with_options("status")).out,
        HasSubstr("Mode observe: 1 running container compared, none would have different CPUs"));
  }
  EXPECT_THAT(node.pinfold(with_options("status -o json")).out, HasSubstr(R"("comparison": null)"));
  EXPECT_THAT(node.pinfold(with_options("status")).out, Not(HasSubstr("observe")));
}

TEST(ServeCli, StatusDoesNotDependOnTheService) {
  const Node node;
  ASSERT_EQ(node.pinfold(with_options("admit web.yaml")).status, 0);
  const auto listener = socket::Listener::open(node.dir() / "s.sock").value();  // it hangs
  const auto status = node.pinfold(with_options("status"));
  EXPECT_EQ(status.status, 0) << status.err;
  EXPECT_THAT(status.out, HasSubstr("shared pool: 0,3"));
  EXPECT_THAT(status.err, HasSubstr("the answer of the service is not shown: service at 's.sock'"));
}

TEST(ServeCli, ReleasesUnknownPodsThroughTheService) {
  Node node;
  ASSERT_EQ(node.pinfold(with_options("admit web.yaml")).status, 0);
  node.dir().remove("state/.pinfold_pods");
  node.serve();
  EXPECT_THAT(node.pinfold(with_options("admit db.yaml")).err, HasSubstr("held pods"));
  const auto admitted = node.pinfold(with_options("admit --release-unknown web.yaml"));
  EXPECT_EQ(admitted.status, 0) << admitted.err;
  EXPECT_THAT(admitted.err, Not(HasSubstr("held")));
}

TEST(ServeCli, CommandsNameAnOptionThatContradictsTheService) {
  Node node;
  node.serve();
  node.dir().write("other.yaml", "kind: KubeletConfiguration\ncpuManagerPolicy: none\n");
  node.dir().write("small.json", R"({"name":"n","cpus":[
      {"id":0,"core":0,"socket":0,"numa":0,"l3":0}],
      "numaNodes":[{"id":0,"memory":4294967296,"hugepages":{}}],"devices":[]})");
  const std::array<std::pair<const char*, const char*>, 4> cases = {{
      {"--profile kubelet-1.36",
       "profile 'kubelet-1.36': the service at 's.sock' has the state "
       "directory 'state', and runs with 'fixed'"},
      {"--config other.yaml",
       "--config 'other.yaml': the service at 's.sock' has the state "
       "directory 'state', and runs with another configuration"},
      {"--machine small.json",
       "--machine 'small.json': the service at 's.sock' has the state "
       "directory 'state', and runs with another machine"},
      {"--cgroup-root /x",
       "--cgroup-root '/x': the service at 's.sock' has the state directory "
       "'state', and enforces nothing"},
  }};
  for (const auto& [option, message] : cases) {
    const auto refused = node.pinfold("admit --state-dir state --socket s.sock " +
                                      std::string(option) + " web.yaml");
    EXPECT_EQ(refused.status, 2) << option;
    EXPECT_EQ(refused.err, "pinfold: " + std::string(message) + "\n");
  }
  EXPECT_EQ(node.pinfold("admit --state-dir state --socket s.sock web.yaml").status, 0)
      << "without options it is as the service runs";
}

TEST(ServeCli, AnotherStateDirectoryIsNoneOfItsBusiness) {
  Node node;
  node.serve();
  const auto admitted = node.pinfold(
      "admit --state-dir other --machine node.json --config config.yaml --no-enforce --socket "
      "s.sock web.yaml");
  EXPECT_EQ(admitted.status, 0) << admitted.err;
  EXPECT_THAT(read_all(node.dir() / "other/cpu_manager_state"), HasSubstr("default_web"));
  EXPECT_THAT(node.state("cpu_manager_state"), Not(HasSubstr("default_web")));
}

TEST(ServeCli, EndsWithItsStateSettledAndItsSocketRemoved) {
  for (const int signal : {SIGTERM, SIGINT}) {
    Node node;
    node.serve();
    ASSERT_EQ(node.pinfold(with_options("admit web.yaml")).status, 0);
    EXPECT_EQ(node.end(signal), 0) << node.log();
    EXPECT_NE(node.manager().wait_for("STOPPING=1"), "");
    EXPECT_NE(::access((node.dir() / "s.sock").c_str(), F_OK), 0);
    EXPECT_EQ(node.state(".pinfold_journal"), "");
    EXPECT_EQ(node.pinfold(with_options("remove --pod web")).status, 0);
  }
}

TEST(ServeCli, StartsAgainAfterItWasKilled) {
  Node node;
  node.serve();
  ASSERT_EQ(node.pinfold(with_options("admit web.yaml")).status, 0);
  const std::string before = node.state("cpu_manager_state");
  EXPECT_EQ(node.end(SIGKILL), 128 + SIGKILL);
  node.serve();
  const auto again = node.pinfold(with_options("start --pod web --container main"));
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(node.state("cpu_manager_state"), before);
}

TEST(ServeCli, ASecondOneOfADirectoryNamesTheFirst) {
  Node node;
  node.serve();
  const auto second = node.pinfold(
      "serve --state-dir state --socket other.sock --machine node.json "
      "--config config.yaml --no-enforce --settings agent.yaml");
  EXPECT_EQ(second.status, 2);
  EXPECT_THAT(second.err, HasSubstr("(pinfold-serve) holds it"));
  const auto same_socket = node.pinfold(
      "serve --state-dir other --socket s.sock --machine node.json --config config.yaml "
      "--no-enforce --settings agent.yaml");
  EXPECT_EQ(same_socket.status, 2);
  EXPECT_THAT(same_socket.err, HasSubstr("socket 's.sock': another process listens there"));
  EXPECT_EQ(node.pinfold(with_options("admit web.yaml")).status, 0);
}

TEST(ServeCli, StatusSaysWhereTheServiceHasItsProfileFrom) {
  Node node;
  node.dir().write("agent.yaml", "profile: fixed\n");
  node.serve();
  EXPECT_THAT(node.pinfold(with_options("status")).out,
              HasSubstr("profile fixed: given in the configuration"));
  EXPECT_THAT(node.pinfold(with_options("status -o json")).out,
              HasSubstr("\"profileSource\": \"configuration\""));
}

TEST(ServeCli, TakesTheFlagsOfAKubelet) {
  for (const char* const flags : {"--kubelet-flags '--cpu-manager-policy=static --reserved-cpus=0'",
                                  "--kubelet-flags kubelet.env", "--settings flags.yaml"}) {
    Node node;
    node.dir().write("kubelet.env",
                     "KUBELET_EXTRA_ARGS=--cpu-manager-policy=static --reserved-cpus=0\n");
    node.dir().write("flags.yaml", "kubeletFlags: kubelet.env\n");
    node.serve(flags, "--state-dir state --machine node.json --no-enforce --socket s.sock");
    EXPECT_THAT(node.pinfold("admit web.yaml --state-dir state --machine node.json --no-enforce "
                             "--socket s.sock")
                    .out,
                HasSubstr("1-2"))
        << flags << node.log();
  }
}

TEST(ServeCli, ReloadsWhatNeedsNoRestart) {
  Node node;
  node.dir().write("agent.yaml", "logLevel: error\n");
  node.serve();
  node.dir().write("agent.yaml",
                   "logLevel: info\nreconcileIntervalSeconds: 60\nprofile: kubelet-1.36\n");
  node.signal(SIGHUP);
  EXPECT_THAT(node.manager().wait_for("RELOADING=1"), HasSubstr("\nMONOTONIC_USEC="));
  EXPECT_EQ(node.manager().wait_for("READY=1"), "READY=1");
  EXPECT_EQ(node.log(), "") << "the level of before";
  ASSERT_EQ(node.pinfold(with_options("admit web.yaml")).status, 0);
  EXPECT_THAT(node.log(), HasSubstr("level=info msg=\"pod 'default_web': admitted\""));
  node.signal(SIGHUP);
  EXPECT_EQ(node.manager().wait_for("READY=1"), "READY=1");
  EXPECT_THAT(node.log(), HasSubstr("reload: 'profile' has changed: that needs a restart"));
  node.dir().write("agent.yaml", "logLevl: info\n");
  node.signal(SIGHUP);
  EXPECT_EQ(node.manager().wait_for("READY=1"), "READY=1");
  EXPECT_THAT(node.log(), HasSubstr("not reloaded: agent.yaml: line 1: unknown field 'logLevl', "
                                    "did you mean 'logLevel'?"));
  EXPECT_EQ(node.pinfold(with_options("admit db.yaml")).status, 0);
}

constexpr const char* kReservesOne =
    "kind: KubeletConfiguration\ncpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";
constexpr const char* kReservesTwo =
    "kind: KubeletConfiguration\ncpuManagerPolicy: static\nreservedSystemCPUs: '0-1'\n";
constexpr const char* kReservesThree =
    "kind: KubeletConfiguration\ncpuManagerPolicy: static\nreservedSystemCPUs: '0-2'\n";

TEST(ServeCli, AReloadReconfiguresTheNode) {
  Node node;
  node.serve();
  ASSERT_THAT(node.pinfold(with_options("admit web.yaml")).out, HasSubstr("1-2"));
  node.dir().write("config.yaml", kReservesTwo);
  node.signal(SIGHUP);
  EXPECT_NE(node.manager().wait_for("RELOADING=1"), "");
  EXPECT_THAT(node.manager().wait_for("READY=1"), HasSubstr("STATUS=")) << node.log();
  EXPECT_THAT(node.log(), HasSubstr("reservedSystemCPUs: '0' becomes '0-1'"));
  EXPECT_THAT(node.log(), HasSubstr("moved: CPU 1 is now reserved"));
  EXPECT_THAT(node.pinfold(with_options("admit web.yaml")).out, HasSubstr("2-3"))
      << "the same process answers";
  node.dir().write("config.yaml", kReservesThree);
  node.signal(SIGHUP);
  EXPECT_NE(node.manager().wait_for("RELOADING=1"), "");
  EXPECT_NE(node.manager().wait_for("READY=1"), "");
  EXPECT_THAT(node.log(), HasSubstr("not reconfigured: the configuration has changed, and pods "
                                    "no longer fit: default_web"));
  node.dir().write("config.yaml", kReservesTwo);
  EXPECT_EQ(node.pinfold(with_options("remove --pod web")).status, 0);
  EXPECT_EQ(node.end(SIGTERM), 0) << node.log();
}

TEST(ServeCli, AReloadFollowsCpusThatGoOfflineAndComeBack) {
  Node node;
  const std::string whole = read_all(node.dir() / "node.json");
  const std::string last = R"(,{"id":3,"core":3,"socket":0,"numa":0,"l3":0})";
  const auto with_last = [&](const std::string& text) {
    std::string json = whole;
    return json.replace(json.find(last), last.size(), text);
  };
  const auto reload_with = [&](const std::string& machine) {
    node.dir().write("node.json", machine);
    node.signal(SIGHUP);
    EXPECT_NE(node.manager().wait_for("RELOADING=1"), "");
    EXPECT_NE(node.manager().wait_for("READY=1"), "") << node.log();
  };
  node.serve();
  ASSERT_THAT(node.pinfold(with_options("admit web.yaml")).out, HasSubstr("1-2"));
  reload_with(with_last(""));
  const auto refused = node.pinfold(with_options("admit db.yaml"));
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("CPU 3 of this node is offline"));
  reload_with(whole);
  EXPECT_EQ(node.pinfold(with_options("admit db.yaml")).status, 0);
  reload_with(with_last(last + R"(,{"id":4,"core":4,"socket":0,"numa":0,"l3":0})"));
  EXPECT_THAT(node.log(), HasSubstr("no container moves: machine: CPU 4 is new"));
  EXPECT_EQ(node.pinfold(with_options("remove --pod web")).status, 0) << node.log();
  EXPECT_EQ(node.end(SIGTERM), 0) << node.log();
}

TEST(ServeCli, AStartWithAnotherConfigurationReconfiguresTheNode) {
  Node node;
  node.serve();
  ASSERT_EQ(node.pinfold(with_options("admit web.yaml")).status, 0);
  ASSERT_EQ(node.end(SIGTERM), 0);
  node.dir().write("config.yaml", kReservesTwo);
  node.serve();
  EXPECT_THAT(node.pinfold(with_options("admit web.yaml")).out, HasSubstr("2-3"));
  EXPECT_EQ(node.end(SIGTERM), 0);
  const auto undone =
      node.pinfold("reconfigure --state-dir state --no-enforce --socket s.sock --undo -o json");
  EXPECT_EQ(undone.status, 0) << undone.err;
  node.dir().write("config.yaml", kReservesOne);
  EXPECT_THAT(node.pinfold(with_options("admit web.yaml")).out, HasSubstr("1-2"));
}

TEST(ServeCli, OptionsCountMoreThanTheFile) {
  Node node;
  node.dir().write("agent.yaml", "logLevel: debug\nsocket: /nonexistent/s.sock\n");
  node.serve("--settings agent.yaml --log-level error");
  ASSERT_EQ(node.pinfold(with_options("admit web.yaml")).status, 0);
  EXPECT_EQ(node.log(), "");
}

TEST(ServeCli, RefusesABadConfigurationFile) {
  const Node node;
  node.dir().write("agent.yaml", "sockt: /x\n");
  const auto unknown = node.pinfold("serve --settings agent.yaml");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_EQ(unknown.err,
            "pinfold: agent.yaml: line 1: unknown field 'sockt', did you mean "
            "'socket'?\n");
  EXPECT_EQ(node.pinfold("serve --settings none.yaml").status, 2);
}

/// Returns why a service with this `nri` section does not start.
std::string refusal_of_nri(const Node& node, const std::string& section) {
  node.dir().write("agent.yaml", "nri: {podLevelResources: none" + section + "}\n");
  const auto outcome = node.pinfold("serve " + std::string(kOptions) + " --settings agent.yaml");
  EXPECT_EQ(outcome.status, 2);
  return outcome.err;
}

TEST(ServeCli, RefusesToFollowARuntimeWithAReason) {
  const Node node;
#ifdef PINFOLD_NRI
  const std::string root = ", kubeletRoot: " + node.dir().path();
  EXPECT_THAT(refusal_of_nri(node, root), HasSubstr("expected 'enforce: true'"));
  node.dir().write("cpu_manager_state", R"({"policyName":"static"})");
  EXPECT_THAT(refusal_of_nri(node, root), HasSubstr("CPU manager has the policy static"));
  EXPECT_THAT(refusal_of_nri(node, root + ", mode: observe"),
              HasSubstr("expected 'enforce: true'"));
  ASSERT_EQ(::setenv("NRI_PLUGIN_SOCKET", "3", 1), 0);
  EXPECT_THAT(refusal_of_nri(node, root), HasSubstr("NRI_PLUGIN_SOCKET is set"));
  ASSERT_EQ(::unsetenv("NRI_PLUGIN_SOCKET"), 0);
#else
  EXPECT_THAT(refusal_of_nri(node, ""), HasSubstr("built without it (PINFOLD_NRI)"));
#endif
}

#ifdef PINFOLD_GRPC
TEST(ServeCli, ASocketInTheWorkingDirectoryNeedsNoDirectory) {
  Node node;
  node.serve("--settings agent.yaml --pod-resources-socket kubelet.sock");
  EXPECT_EQ(::access((node.dir() / "kubelet.sock").c_str(), F_OK), 0);
}
#endif

TEST(ServeCli, FeedsTheWatchdog) {
  Node node;
  ASSERT_EQ(::setenv("WATCHDOG_USEC", "30000", 1), 0);
  node.serve();
  ASSERT_EQ(::unsetenv("WATCHDOG_USEC"), 0);
  EXPECT_NE(node.manager().wait_for("WATCHDOG=1"), "");
  EXPECT_NE(node.manager().wait_for("WATCHDOG=1"), "");
}

TEST(ServeCli, AClientThatHangsDelaysNoCommand) {
  Node node;
  node.serve();
  std::vector<socket::Client> hanging;
  for (int i = 0; i < 8; ++i) {
    hanging.push_back(*socket::Client::connect(node.dir() / "s.sock").value());
  }
  EXPECT_EQ(node.pinfold(with_options("admit web.yaml")).status, 0);
}

}  // namespace
}  // namespace pinfold
