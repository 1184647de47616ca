#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "pinfold/pinfold.h"
#include "serve_world.hpp"

/// The C interface on a node whose state directory belongs to a running service.
namespace pinfold {
namespace {

using testing::HasSubstr;

/// A node of the C interface in the directory of a test::Node.
class Client {
 public:
  explicit Client(const test::Node& world)
      : state_(world.dir() / "state"),
        socket_(world.dir() / "s.sock"),
        machine_(test::read_all(world.dir() / "node.json")) {
    options.flags = PINFOLD_NODE_NO_ENFORCE;
    options.lock_timeout_ms = 20'000;
    options.state_dir = state_.c_str();
    options.socket = socket_.c_str();
    options.machine = machine_.c_str();
    options.config = "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() {
    pinfold_node_close(node);
    pinfold_free(error_);
  }

  pinfold_code open() {
    pinfold_free(std::exchange(error_, nullptr));
    return pinfold_node_open(&options, &node, &error_);
  }
  /// Calls a function whose last argument is the error; logs its code and message.
  template <class Call>
  pinfold_code operator()(Call&& call) {
    char* error = nullptr;
    const pinfold_code code = call(&error);
    answers.push_back(std::string(pinfold_code_name(code)) + ": " +
                      (error == nullptr ? "" : error));
    pinfold_free(error);
    return code;
  }
  pinfold_code admit(const std::string& manifest) {
    pinfold_pod* pod = nullptr;
    const auto code = (*this)(
        [&](char** error) { return pinfold_pod_admit(node, manifest.c_str(), &pod, error); });
    add(pod);
    return code;
  }
  void add(pinfold_pod* pod) {
    answers.emplace_back(pinfold_pod_json(pod));
    answers.emplace_back(pinfold_pod_trace(pod));
    answers.push_back(fmt::format("{} {} {}/{} {} {}", pinfold_pod_is_admitted(pod),
                                  pinfold_pod_is_held(pod), pinfold_pod_namespace(pod),
                                  pinfold_pod_name(pod), pinfold_pod_uid(pod),
                                  pinfold_pod_reason(pod)));
    for (std::size_t i = 0; i < pinfold_pod_container_count(pod); ++i) {
      pinfold_container c = PINFOLD_CONTAINER_INIT;
      EXPECT_EQ(pinfold_pod_get_container(pod, i, &c, nullptr), PINFOLD_OK);
      answers.push_back(fmt::format("{} '{}' '{}' '{}' {} {} {}/{} {} {} {} {} {} '{}' '{}'",
                                    c.name, c.cpus, c.mems, c.exclusive_cpus, c.isolation, c.has,
                                    c.cpu_quota_us, c.cpu_period_us, c.cpu_shares, c.cpu_weight,
                                    c.memory_limit_bytes, c.oom_score_adj, c.hugepage_limit_count,
                                    c.cgroup, c.cgroup_path));
    }
    pinfold_pod_free(pod);
  }
  void add(char* json) {
    answers.emplace_back(json == nullptr ? "" : json);
    pinfold_free(json);
  }
  [[nodiscard]] std::string error() const { return error_ == nullptr ? "" : error_; }

  pinfold_node_options options = PINFOLD_NODE_OPTIONS_INIT;
  pinfold_node* node = nullptr;
  std::vector<std::string> answers;

 private:
  std::string state_;
  std::string socket_;
  std::string machine_;
  char* error_ = nullptr;
};

std::string pod(const std::string& name, int cpus) {
  return "metadata: {name: " + name + ", uid: uid-" + name + "}\nspec:\n  containers:\n" +
         "  - name: main\n    resources: {limits: {cpu: " + std::to_string(cpus) +
         ", memory: 64Mi}}\n";
}

/// Calls every function that takes a node, with good and bad arguments, and returns the answers.
std::vector<std::string> ask_everything(Client& client) {
  EXPECT_EQ(client.open(), PINFOLD_OK) << client.error();
  pinfold_node* const node = client.node;
  EXPECT_EQ(client.admit(pod("web", 2)), PINFOLD_OK);
  EXPECT_EQ(client.admit(pod("big", 9)), PINFOLD_REJECTED);
  EXPECT_EQ(client.admit("{"), PINFOLD_INVALID_ARGUMENT);
  EXPECT_EQ(client.admit(pod("web", 1)), PINFOLD_BUSY);  // a different pod with an active UID
  pinfold_pod* explained = nullptr;
  client([&](char** error) {
    return pinfold_pod_explain(node, pod("db", 3).c_str(), &explained, error);
  });
  client.add(explained);
  for (const char* const container : {"main", "none"}) {
    client([&](char** error) { return pinfold_container_start(node, "web", container, error); });
  }
  client([&](char** error) {
    return pinfold_container_attach_process(node, "web", "main", 1 << 30, error);
  });
  char* previous = nullptr;
  client([&](char** error) {
    return pinfold_container_adopt_cgroup(node, "web", "main", "/tmp", &previous, error);
  });
  pinfold_pod* got = nullptr;
  client([&](char** error) { return pinfold_pod_get(node, "web", &got, error); });
  client.add(got);
  pinfold_pod_list* list = nullptr;
  client([&](char** error) { return pinfold_node_list_pods(node, &list, error); });
  client.answers.push_back(std::to_string(pinfold_pod_list_count(list)));
  pinfold_pod_list_free(list);
  char* json = nullptr;
  client([&](char** error) { return pinfold_node_get_status(node, &json, error); });
  client.add(std::exchange(json, nullptr));
  client([&](char** error) { return pinfold_node_reconcile(node, &json, error); });
  client.add(std::exchange(json, nullptr));
  client([&](char** error) {
    return pinfold_node_defragment(node, pod("db", 3).c_str(), PINFOLD_RECONFIGURE_DRY_RUN, &json,
                                   error);
  });
  client.add(std::exchange(json, nullptr));
  pinfold_reconfiguration wish = PINFOLD_RECONFIGURATION_INIT;
  wish.config = "cpuManagerPolicy: static\nreservedSystemCPUs: '3'\n";
  wish.flags = PINFOLD_RECONFIGURE_DRY_RUN;
  client([&](char** error) { return pinfold_node_reconfigure(node, &wish, &json, error); });
  client.add(std::exchange(json, nullptr));
  pinfold_request request = PINFOLD_REQUEST_INIT;
  request.uid = "uid-run";
  client([&](char** error) {
    return pinfold_container_create(node, &request, "/tmp", nullptr, error);
  });
  client([&](char** error) { return pinfold_container_delete(node, "uid-run", nullptr, error); });
  client([&](char** error) { return pinfold_container_remove(node, "uid-web", "main", 0, error); });
  client([&](char** error) { return pinfold_pod_remove(node, "web", 0, error); });
  for (int i = 0; i < 2; ++i) {
    client([&](char** error) { return pinfold_pod_remove(node, "uid-web", 0, error); });
  }
  return client.answers;
}

TEST(NodeOfAService, GivesTheSameAnswers) {
  test::Node served;
  served.serve();
  Client client(served);
  const auto answers = ask_everything(client);
  test::Node alone;
  Client other(alone);
  EXPECT_EQ(answers, ask_everything(other));
  EXPECT_THAT(served.log(), HasSubstr("pod 'uid-web': admitted")) << "the service did it";
}

TEST(NodeOfAService, SeesServicesStartAndStop) {
  test::Node world;
  Client client(world);
  ASSERT_EQ(client.open(), PINFOLD_OK) << client.error();
  ASSERT_EQ(client.admit(pod("web", 2)), PINFOLD_OK);
  for (int i = 0; i < 2; ++i) {
    world.serve();
    EXPECT_EQ(client.admit(pod("db", 1)), PINFOLD_OK) << client.answers[client.answers.size() - 3];
    EXPECT_EQ(world.pinfold("status " + std::string(test::kOptions)).status, 0);
    (void)world.end(i == 0 ? SIGTERM : SIGKILL);
    EXPECT_EQ(pinfold_pod_remove(client.node, "uid-db", 0, nullptr), PINFOLD_OK);
  }
}

TEST(NodeOfAService, IsReconfiguredByIt) {
  test::Node world;
  world.serve();
  Client client(world);
  ASSERT_EQ(client.open(), PINFOLD_OK) << client.error();
  ASSERT_EQ(client.admit(pod("web", 2)), PINFOLD_OK);
  pinfold_reconfiguration wish = PINFOLD_RECONFIGURATION_INIT;
  wish.config = "cpuManagerPolicy: static\nreservedSystemCPUs: '3'\n";
  char* plan = nullptr;
  char* error = nullptr;
  EXPECT_EQ(pinfold_node_reconfigure(client.node, &wish, &plan, &error), PINFOLD_UNSUPPORTED);
  EXPECT_THAT(error, HasSubstr("change that file")) << "else its next start would undo it";
  pinfold_free(std::exchange(error, nullptr));
  world.dir().write("config.yaml", wish.config);
  wish.config = nullptr;
  ASSERT_EQ(pinfold_node_reconfigure(client.node, &wish, &plan, &error), PINFOLD_OK) << error;
  EXPECT_THAT(plan, HasSubstr("applied"));
  pinfold_free(plan);
  pinfold_pod* web = nullptr;
  ASSERT_EQ(pinfold_pod_get(client.node, "web", &web, &error), PINFOLD_OK) << error;
  pinfold_pod_free(web);
}

// NOLINTNEXTLINE(*-avoid-non-const-global-variables): a signal handler sets it
volatile std::sig_atomic_t interrupted = 0;

TEST(WaitForALock, EndsWhenASignalHandlerSetsTheFlag) {
  test::Node world;
  world.serve();  // it holds the lock of the state directory
  Client client(world);
  client.options.socket = "";
  client.options.lock_timeout_ms = 600'000;
  client.options.interrupted = &interrupted;
  const auto previous = std::signal(SIGALRM, [](int) { interrupted = 1; });
  ::ualarm(20'000, 0);
  EXPECT_EQ(client.open(), PINFOLD_BUSY) << client.error();
  EXPECT_EQ(errno, EINTR);
  EXPECT_THAT(client.error(), HasSubstr("holds it; interrupted after "));
  (void)std::signal(SIGALRM, previous);
}

TEST(NodeOfAService, RefusesAtOnceWhatTheServiceDoesNotDo) {
  test::Node world;
  world.serve();
  const auto message = [&](pinfold_code expected, const auto& change) {
    Client client(world);
    change(client.options);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(client.open(), expected) << client.error();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
    return client.error();
  };
  EXPECT_THAT(message(PINFOLD_INVALID_ARGUMENT,
                      [](auto& options) { options.config = "cpuManagerPolicy: none\n"; }),
              HasSubstr("open node: config: the service at '"));
  EXPECT_THAT(message(PINFOLD_INVALID_ARGUMENT, [](auto& options) { options.machine = "pu:1"; }),
              HasSubstr("and runs with another machine"));
  EXPECT_THAT(message(PINFOLD_INVALID_ARGUMENT,
                      [](auto& options) {
                        options.flags = 0;
                        options.cgroup_root = "/x";
                      }),
              HasSubstr("cgroup_root '/x': the service at '"));
  pinfold_hint_provider hints = PINFOLD_HINT_PROVIDER_INIT;
  hints.name = "ways";
  hints.get_hints = [](void*, const char*, const char*, const char*, pinfold_hints*) {};
  hints.allocate = [](void*, const char*, const char*, const char*, uint64_t, pinfold_text*,
                      pinfold_text*) { return 0; };
  hints.release = [](void*, const char*, const char*, const char*, pinfold_text*) {};
  const pinfold_hint_provider* const providers[] = {&hints};
  EXPECT_THAT(message(PINFOLD_UNSUPPORTED,
                      [&](auto& options) {
                        options.hint_providers = providers;
                        options.hint_provider_count = 1;
                      }),
              HasSubstr("hint_providers: the service at '"));
  EXPECT_THAT(message(PINFOLD_BUSY,
                      [](auto& options) {
                        options.socket = "";
                        options.lock_timeout_ms = 50;
                      }),
              HasSubstr("state"));
  // Options that ask for nothing do not contradict the service, and a reader needs no service.
  EXPECT_EQ(message(PINFOLD_OK,
                    [](auto& options) {
                      options.flags = 0;
                      options.config = nullptr;
                    }),
            "");
  EXPECT_EQ(message(PINFOLD_OK, [](auto& options) { options.flags |= PINFOLD_NODE_READ_ONLY; }),
            "");
}

}  // namespace
}  // namespace pinfold
