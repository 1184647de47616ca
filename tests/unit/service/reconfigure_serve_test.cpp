#include <sys/socket.h>

#include <array>
#include <filesystem>
#include <string>
#include <utility>

#include "pinfold/socket/client.hpp"
#include "serve_world.hpp"

/// `pinfold reconfigure` together with a service.
namespace pinfold {
namespace {

using test::Node;
using testing::HasSubstr;
using testing::Not;

/// The service reads STATE_DIR/config.yaml.
constexpr const char* kOwnConfig =
    "--state-dir state --machine node.json --no-enforce --socket s.sock";
constexpr const char* kOne = "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";
constexpr const char* kTwo = "cpuManagerPolicy: static\nreservedSystemCPUs: '0-1'\n";
constexpr const char* kThree = "cpuManagerPolicy: static\nreservedSystemCPUs: '0-2'\n";

/// A node whose state directory has its configuration, with the pod `web` on CPUs 1-2.
class ReconfigureServe : public testing::Test {
 protected:
  ReconfigureServe() {
    for (Node* const node : {&served_, &direct_}) prepare(*node);
    served_.serve("--settings agent.yaml", kOwnConfig);
    for (const Node* const node : {&served_, &direct_}) {
      EXPECT_THAT(command(*node, "admit web.yaml").out, HasSubstr("1-2"));
    }
  }
  static void prepare(const Node& node) {
    std::filesystem::create_directory(node.dir() / "state");
    std::filesystem::permissions(node.dir() / "state", std::filesystem::perms::owner_all);
    node.dir().write("state/config.yaml", kOne);
    node.dir().write("new.yaml", kTwo);
    node.dir().write("three.yaml", kThree);
  }
  static test::Outcome command(const Node& node, const std::string& line) {
    const bool is_undo = line.find("--undo") != std::string::npos;  // --undo takes no machine
    return node.pinfold(line + " " +
                        (is_undo ? "--state-dir state --no-enforce --socket s.sock" : kOwnConfig));
  }
  /// Waits until the service has restarted.
  [[nodiscard]] std::string restarted() const { return served_.manager().wait_for("READY=1"); }

  Node served_;
  Node direct_;
};

TEST_F(ReconfigureServe, DoesTheSameAsWithoutAService) {
  for (const char* const line :
       {"reconfigure --config new.yaml --dry-run --picture",
        "reconfigure --config new.yaml --dry-run -o json", "reconfigure --config new.yaml -o json",
        "reconfigure --undo", "reconfigure --config three.yaml",
        "reconfigure --config three.yaml --evict lost"}) {
    const auto expected = command(direct_, line);
    const auto actual = command(served_, line);
    EXPECT_EQ(actual.status, expected.status) << line << ": " << actual.err;
    EXPECT_EQ(actual.out, expected.out) << line;
    EXPECT_EQ(actual.err, expected.err) << line;
    EXPECT_EQ(served_.state("config.yaml"), direct_.state("config.yaml")) << line;
    const bool is_applied =
        expected.status == 0 && std::string(line).find("--dry-run") == std::string::npos;
    if (is_applied) {
      EXPECT_NE(restarted(), "") << served_.log();
    }
    EXPECT_EQ(served_.state("cpu_manager_state"), direct_.state("cpu_manager_state")) << line;
  }
  EXPECT_EQ(served_.state("config.yaml"), kThree);
  EXPECT_EQ(served_.state("config.yaml.before"), kOne);
  EXPECT_EQ(served_.end(SIGTERM), 0) << served_.log();
}

TEST_F(ReconfigureServe, TheServiceGoesOnWithTheOtherNode) {
  const auto done = command(served_, "reconfigure --config new.yaml");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("1-2 -> 2-3"));
  EXPECT_NE(served_.manager().wait_for("RELOADING=1"), "");
  ASSERT_NE(restarted(), "") << served_.log();
  const auto client = socket::Client::connect(served_.dir() / "s.sock");
  ASSERT_TRUE(client && *client);
  EXPECT_EQ((*client)->hello().config.reserved_system_cpus, "0-1");
  EXPECT_THAT(command(served_, "admit web.yaml").out, HasSubstr("2-3"));
  EXPECT_THAT(served_.log(), Not(HasSubstr("becomes"))) << "nothing was left to reconfigure";
}

TEST_F(ReconfigureServe, ACommandThatFollowsAtOnceFindsTheNewNode) {
  ASSERT_EQ(command(served_, "reconfigure --config new.yaml").status, 0);
  const auto admitted = command(served_, "admit web.yaml");
  EXPECT_EQ(admitted.status, 0) << admitted.err;
  EXPECT_THAT(admitted.out, HasSubstr("2-3"));
}

TEST_F(ReconfigureServe, WhatIsAnsweredIsDurable) {
  ASSERT_EQ(command(served_, "reconfigure --config new.yaml").status, 0);
  (void)served_.end(SIGKILL);
  served_.serve("--settings agent.yaml", kOwnConfig);
  EXPECT_THAT(command(served_, "admit web.yaml").out, HasSubstr("2-3"));
  EXPECT_THAT(served_.log(), Not(HasSubstr("becomes")));
}

void send(const UniqueFd& client, std::string line) {
  line += '\n';
  ASSERT_EQ(::send(client.get(), line.data(), line.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(line.size()));
}

/// The client disconnects before it gets its answer.
TEST_F(ReconfigureServe, IsDoneForAClientThatVanishes) {
  {
    const auto address = socket::socket_address(served_.dir() / "s.sock").value();
    const UniqueFd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(client.get(), socket::generic(address), sizeof address), 0);
    verbs::Reconfigure request;
    request.config = kTwo;
    send(client, socket::encode_hello_request());
    std::array<char, 65536> hello{};
    ASSERT_GT(::recv(client.get(), hello.data(), hello.size(), 0), 0);
    send(client, socket::encode(socket::Call{request, {}}));
  }
  ASSERT_NE(restarted(), "") << served_.log();
  EXPECT_THAT(command(served_, "admit web.yaml").out, HasSubstr("2-3"));
  EXPECT_EQ(served_.state("config.yaml"), kTwo);
}

TEST_F(ReconfigureServe, WhatContradictsTheServiceChangesNothing) {
  const auto profile = command(served_, "reconfigure --profile kubelet-1.36");
  EXPECT_EQ(profile.status, 2);
  EXPECT_THAT(profile.err, HasSubstr("--profile 'kubelet-1.36': the service at 's.sock'"));
  served_.dir().write("other.json", R"({"name":"n","cpus":[
      {"id":0,"core":0,"socket":0,"numa":0,"l3":0},{"id":1,"core":1,"socket":0,"numa":0,"l3":0}],
      "numaNodes":[{"id":0,"memory":4294967296,"hugepages":{}}],"devices":[]})");
  const std::string line =
      "reconfigure --state-dir state --no-enforce --socket s.sock --machine other.json";
  const auto machine = served_.pinfold(line + " --evict lost");
  EXPECT_EQ(machine.status, 2);
  EXPECT_THAT(machine.err,
              HasSubstr("machine: the service reads a different one from 'node.json'"));
  const auto planned = served_.pinfold(line + " --dry-run");
  EXPECT_EQ(planned.status, 1) << "a pod would be removed: " << planned.err;
  EXPECT_THAT(planned.out, HasSubstr("machine: CPUs 2-3 no longer exist"));
  const auto undo = command(served_, "reconfigure --undo");
  EXPECT_EQ(undo.status, 2);
  EXPECT_THAT(undo.err, HasSubstr("was not reconfigured"));
  served_.dir().write("bad.yaml", "cpuManagerPolicy: static\nreservedSystemCPUs: ''\n");
  EXPECT_THAT(command(served_, "reconfigure --config bad.yaml").err,
              HasSubstr("start: cpumanager"));
  EXPECT_EQ(served_.state("config.yaml"), kOne);
  EXPECT_THAT(command(served_, "admit web.yaml").out, HasSubstr("1-2"));
}

/// Two NUMA nodes with 2 CPUs. 'web' needs both of NUMA node 1, of which 'm' has one.
TEST(DefragmentServe, DoesTheSameAsWithoutAService) {
  Node served;
  const Node direct;
  for (const Node* const node : {&std::as_const(served), &direct}) {
    node->dir().write("node.json", R"({"name":"n","cpus":[
      {"id":0,"core":0,"socket":0,"numa":0,"l3":0},{"id":1,"core":1,"socket":0,"numa":0,"l3":0},
      {"id":2,"core":2,"socket":1,"numa":1,"l3":1},{"id":3,"core":3,"socket":1,"numa":1,"l3":1}],
      "numaNodes":[{"id":0,"memory":4294967296,"hugepages":{}},
                   {"id":1,"memory":4294967296,"hugepages":{}}],"devices":[]})");
    node->dir().write("config.yaml",
                      std::string(kOne) + "topologyManagerPolicy: single-numa-node\n");
    node->dir().write("m.yaml", Node::pod("m", 1));
  }
  served.serve();
  for (const char* const line :
       {"admit db.yaml m.yaml", "remove --pod db", "admit web.yaml",
        "defragment --for web.yaml --dry-run", "defragment --for web.yaml --picture",
        "admit web.yaml", "defragment --for web.yaml -o json", "defragment --for big.yaml"}) {
    const auto expected = direct.pinfold(test::with_options(line));
    const auto actual = served.pinfold(test::with_options(line));
    EXPECT_EQ(actual.status, expected.status) << line << ": " << actual.err;
    EXPECT_EQ(actual.out, expected.out) << line;
    EXPECT_EQ(actual.err, expected.err) << line;
  }
  EXPECT_THAT(served.pinfold(test::with_options("status")).out, HasSubstr("2-3"));
  EXPECT_THAT(served.log(), Not(HasSubstr("now uses another"))) << "the node is the same";
  const auto many = served.pinfold(test::with_options("defragment --for db.yaml --steps 20000"));
  EXPECT_EQ(many.status, 2);
  EXPECT_THAT(many.err,
              HasSubstr("defragment.stepCount: 20000: expected a whole number from 0 to 10000"));
  const auto other = served.pinfold(
      "defragment --for db.yaml --state-dir state --socket s.sock "
      "--profile kubelet-1.36");
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("profile 'kubelet-1.36': the service at 's.sock'"));
  EXPECT_EQ(served.end(SIGTERM), 0) << served.log();
}

/// The file in `config` belongs to the operator: Pinfold does not replace it.
TEST(ReconfigureServeFile, TheServiceFollowsTheFileThatItIsGiven) {
  Node node;
  node.serve();
  ASSERT_THAT(node.pinfold(test::with_options("admit web.yaml")).out, HasSubstr("1-2"));
  const std::string command =
      "reconfigure --state-dir state --machine node.json --no-enforce --socket s.sock";
  node.dir().write("new.yaml", kTwo);
  const auto refused = node.pinfold(command + " --config new.yaml");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("the service reads its configuration from 'config.yaml', "
                                     "which is different"));
  node.dir().write("config.yaml", kTwo);
  const auto done = node.pinfold(command);
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("1-2 -> 2-3"));
  EXPECT_NE(node.manager().wait_for("READY=1"), "") << node.log();
  EXPECT_EQ(node.end(SIGTERM), 0) << node.log();
}

}  // namespace
}  // namespace pinfold
