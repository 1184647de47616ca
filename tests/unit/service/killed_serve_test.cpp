// Kills the service while eight clients use it. Afterwards answered requests must be stored and
// unanswered ones may be, and no command may claim that a request is stored if it is not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "pinfold/agent/outcome.hpp"
#include "pinfold/socket/client.hpp"
#include "serve_world.hpp"

namespace pinfold {
namespace {

using std::chrono::milliseconds;
using test::Node;
using test::with_options;
using testing::HasSubstr;
using testing::Not;

enum class Known { kActive, kGone, kUnknown };
/// What a client knows of its pods.
using Pods = std::map<std::string, Known>;

constexpr int kClients = 8;
constexpr int kCommandClients = 2;  ///< this many of them run `pinfold`

PodSpec best_effort(const std::string& name) {
  PodSpec spec;
  spec.uid = PodUid("default_" + name);
  spec.name = name;
  spec.containers.push_back({"main", ContainerKind::kApp, {}});
  return spec;
}

/// Returns what is known after the admission or removal of a pod.
Known known_after(const Result<verbs::Answer>& answer, Known before, Known after) {
  if (answer) return after;
  return agent::is_unknown_outcome(answer.error()) ? Known::kUnknown : before;
}

/// Admits pods, and removes every second one, until the service is gone.
void use_socket(const Node& node, const std::string& prefix, std::atomic<int>& answered,
                Pods& pods) {
  auto client = socket::Client::connect(node.dir() / "s.sock");
  if (!client || !*client) return;
  for (int i = 0;; ++i) {
    const std::string name = prefix + std::to_string(i);
    const PodSpec spec = best_effort(name);
    const auto admitted = (*client)->call(verbs::Admit{{spec}}, milliseconds(0));
    pods[name] = known_after(admitted, Known::kGone, Known::kActive);
    if (!admitted) return;
    ++answered;
    if (i % 2 == 0) continue;
    const auto removed = (*client)->call(
        verbs::Remove{spec.uid, "", agent::RunningProcesses::kRefuse}, milliseconds(0));
    pods[name] = known_after(removed, Known::kActive, Known::kGone);
    if (!removed) return;
    ++answered;
  }
}

/// As use_socket(), with commands. Without a service they do the work themselves.
void use_commands(const Node& node, const std::string& prefix, std::atomic<int>& answered,
                  const std::atomic<bool>& is_over, Pods& pods) {
  for (int i = 0; !is_over; ++i) {
    const std::string name = prefix + std::to_string(i);
    node.dir().write(name + ".yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
                                         "}\nspec: {containers: [{name: main}]}\n");
    const auto admitted = node.pinfold(with_options("admit " + name + ".yaml"));
    EXPECT_THAT(admitted.status, testing::AnyOf(0, 2, 3)) << admitted.err;
    pods[name] = admitted.status == 0   ? Known::kActive
                 : admitted.status == 2 ? Known::kGone
                                        : Known::kUnknown;
    if (admitted.status != 0) {
      EXPECT_THAT(admitted.err, Not(HasSubstr("stored in the journal")));
    }
    ++answered;
  }
}

std::set<std::string> active_pods(const Node& node) {
  const auto status = node.pinfold(with_options("status -o name"));
  EXPECT_EQ(status.status, 0) << status.err;
  std::set<std::string> names;
  std::istringstream in(status.out);
  for (std::string name; in >> name;) names.insert(name.substr(name.find('/') + 1));
  return names;
}

void check(const Pods& pods, const std::set<std::string>& active) {
  for (const auto& [name, known] : pods) {
    if (known == Known::kActive) {
      EXPECT_TRUE(active.contains(name)) << name << ": its admission is lost";
    }
    if (known == Known::kGone) {
      EXPECT_FALSE(active.contains(name)) << name << ": it was removed or never admitted";
    }
  }
}

TEST(KilledService, LosesNothingThatItHasAnsweredToEightClients) {
  constexpr std::array kAnswersBefore = {1, 17, 40, 75, 120};
  Node node;
  for (const int enough : kAnswersBefore) {
    SCOPED_TRACE(enough);
    node.serve();
    std::atomic<int> answered = 0;
    std::atomic<bool> is_over = false;
    std::array<Pods, kClients> pods;
    std::vector<std::thread> clients;
    for (int i = 0; i < kClients; ++i) {
      const std::string prefix = "k" + std::to_string(enough) + "-" + std::to_string(i) + "-";
      clients.emplace_back([&, i, prefix] {
        Pods& own = pods.at(static_cast<std::size_t>(i));
        if (i < kCommandClients) {
          use_commands(node, prefix, answered, is_over, own);
        } else {
          use_socket(node, prefix, answered, own);
        }
      });
    }
    while (answered < enough) std::this_thread::yield();
    EXPECT_EQ(node.end(SIGKILL), 128 + SIGKILL);
    is_over = true;
    for (std::thread& client : clients) client.join();
    const auto active = active_pods(node);
    for (const Pods& of_client : pods) check(of_client, active);
    EXPECT_EQ(node.pinfold("checkpoint verify state").status, 0);
  }
}

}  // namespace
}  // namespace pinfold
