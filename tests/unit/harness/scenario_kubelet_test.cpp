#include <gtest/gtest.h>

#include <cstdlib>

#include "load_text.hpp"
#include "pinfold/harness/scenario.hpp"

namespace pinfold::harness {
namespace {

constexpr const char* kKubeletHead =
    "name: a\nmachine: {kubelet: /k/old, nodes: [{cpus: 0, memory: 2Gi}]}\n"
    "runtime: containerd-2.1\nkubelet: {cpuManagerPolicy: static}\nsteps:\n";
constexpr const char* kStaticPod =
    "  - runStaticPod: {pod: {metadata: {name: p}, spec: {containers: [{name: c}]}}}\n";

/// Loads the scenarios of a file with this text, next to a configuration.
Result<std::vector<Scenario>> load_with_kubelet(const std::string& text) {
  return load_text(text, {{"other.yaml", "{cpuManagerPolicy: none}"}});
}

/// Sets a variable until the end of the test; "": not set.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    (void)(value.empty() ? unsetenv(name) : setenv(name, value.c_str(), 1));
  }
  ~Variable() { (void)unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(KubeletSteps, AreRead) {
  const auto scenarios = load_with_kubelet(std::string(kKubeletHead) + R"(
  - runStaticPod: {pod: pod.yaml}
  - startKubelet: {message: started}
  - waitPod: {pod: filed}
    timeLimit: 7
  - restartKubelet: {signal: KILL, binary: /k/new, config: other.yaml, answer: refused, message: no}
  - startKubelet: {config: {cpuManagerPolicy: static}}
  - waitPod: {pod: filed, until: rejected, reason: R, message: M}
  - removeStaticPod: {pod: filed}
  - waitPod: {pod: filed, until: removed}
  - stopKubelet: {}
  - startKubelet: {}
    killAt: {call: rename, file: cpu_manager_state, number: 2}
  - waitKubelet: {}
  - expect:
      - {stateFile: cpu_manager_state, policyName: static, filed/c: 2-3}
      - {file: /run/kubelet.log, contains: x}
  - verify: {}
)");
  ASSERT_TRUE(scenarios) << scenarios.error().message;
  const Scenario& scenario = scenarios->front();
  EXPECT_EQ(scenario.machine.kubelet, "/k/old");
  EXPECT_EQ(scenario.kubelets, (std::vector<std::filesystem::path>{"/k/old", "/k/new"}));
  EXPECT_EQ(scenario.skipped, "");
  EXPECT_EQ(scenario.boot_limit_s, 180);
  EXPECT_FALSE(needs_product(scenario)) << "configuration and cpusets are the kubelet's";
  EXPECT_EQ(scenario.logs, (std::vector<std::string>{"/run/containerd.log", "/run/kubelet.log"}));
  const auto& steps = scenario.steps;
  const auto& run = std::get<RunStaticPodStep>(steps[0].action);
  EXPECT_EQ(run.pod, "filed");
  EXPECT_EQ(run.containers, (std::vector<std::string>{"c"}));
  EXPECT_EQ(steps[0].title, "runStaticPod pod.yaml");
  const auto& first = std::get<KubeletStep>(steps[1].action);
  EXPECT_EQ(first.what, KubeletStep::Do::kStart);
  EXPECT_EQ(first.answer, KubeletStep::Answer::kStarted);
  EXPECT_EQ(first.message, "started");
  EXPECT_EQ(steps[1].time_limit_s, 300);
  EXPECT_EQ(std::get<WaitPodStep>(steps[2].action).until, WaitPodStep::Until::kRunning);
  EXPECT_EQ(steps[2].time_limit_s, 7);
  const auto& restart = std::get<KubeletStep>(steps[3].action);
  EXPECT_EQ(restart.what, KubeletStep::Do::kRestart);
  EXPECT_EQ(restart.signal, "KILL");
  EXPECT_EQ(restart.binary, "/k/new");
  EXPECT_EQ(restart.config.config.value("cpuManagerPolicy", ""), "none");
  EXPECT_EQ(restart.answer, KubeletStep::Answer::kRefused);
  const auto& rejected = std::get<WaitPodStep>(steps[5].action);
  EXPECT_EQ(rejected.until, WaitPodStep::Until::kRejected);
  EXPECT_EQ(rejected.reason, "R");
  EXPECT_EQ(rejected.message, "M");
  EXPECT_EQ(std::get<WaitPodStep>(steps[7].action).until, WaitPodStep::Until::kRemoved);
  EXPECT_EQ(std::get<KubeletStep>(steps[8].action).signal, "TERM");
  ASSERT_TRUE(steps[9].kill_at);
  EXPECT_EQ(steps[9].kill_at->file, "cpu_manager_state");
  EXPECT_TRUE(std::holds_alternative<WaitKubeletStep>(steps[10].action));
  EXPECT_EQ(steps[10].time_limit_s, 300);
  const auto& expected = std::get<ExpectStep>(steps[11].action).expectations;
  EXPECT_EQ(expected[0].of, Expectation::Of::kStateFile);
  EXPECT_EQ(expected[0].subject, "cpu_manager_state");
}

TEST(KubeletSteps, AreRejectedWithLineAndField) {
  const std::string head = kKubeletHead;
  const struct {
    std::string text;
    const char* message;
  } cases[] = {
      {"name: a\nmachine: {kubelet: kubelet}\nsteps: [{verify: {}}]",
       "line 2: machine.kubelet: 'kubelet': expected the full path of a kubelet, or the name of an "
       "environment variable with it, such as $PINFOLD_KUBELET"},
      {"name: a\nmachine: {kubelet: $1}\nsteps: [{verify: {}}]",
       "line 2: machine.kubelet: '$1': expected the full path"},
      {"name: a\nmachine: {kubelet: /k}\nsteps: [{verify: {}}]",
       "line 2: machine.kubelet: expected a container runtime with it, such as runtime: "
       "containerd-2.1"},
      {"name: a\nmachine: {}\nsteps:\n  - startKubelet: {}\n",
       "line 4: steps[0].startKubelet: expected a machine with a kubelet"},
      {head + "  - stopKubelet: {}\n",
       "line 6: steps[0].stopKubelet: the kubelet does not run: expected startKubelet before"},
      {head + "  - startKubelet: {}\n  - startKubelet: {}\n",
       "line 7: steps[1].startKubelet: the kubelet runs already: use restartKubelet"},
      {head + "  - startKubelet: {answer: refused}\n  - stopKubelet: {}\n",
       "line 7: steps[1].stopKubelet: the kubelet does not run"},
      {head + "  - startKubelet: {}\n    killAt: {}\n  - stopKubelet: {}\n",
       "line 8: steps[1].stopKubelet: the kubelet is killed at its killAt: expected waitKubelet "
       "before"},
      {head + "  - startKubelet: {answer: refused}\n    killAt: {}\n",
       "line 6: steps[0].startKubelet: expected the answer started with killAt"},
      {head + "  - startKubelet: {}\n  - waitKubelet: {}\n",
       "line 7: steps[1].waitKubelet: the kubelet is not killed: expected killAt with its start "
       "before"},
      {head + "  - startKubelet: {answer: no}\n",
       "line 6: steps[0].startKubelet.answer: 'no': expected one of: started, refused"},
      {head + "  - startKubelet: {signal: KILL}\n",
       "line 6: steps[0].startKubelet.signal: unknown field"},
      {head + "  - startKubelet: {binary: kubelet}\n",
       "line 6: steps[0].startKubelet.binary: 'kubelet': expected the full path of a kubelet"},
      {head + "  - stopKubelet: {signal: HUP}\n",
       "line 6: steps[0].stopKubelet.signal: 'HUP': expected one of: TERM, KILL, INT, QUIT, ABRT"},
      {head + "  - startKubelet: {}\n  - waitPod: {pod: p}\n",
       "line 7: steps[1].waitPod: pod 'p' has no manifest: expected runStaticPod before"},
      {head + kStaticPod + "  - waitPod: {pod: p}\n",
       "line 7: steps[1].waitPod: the kubelet does not run: expected startKubelet before"},
      {head + "  - removeStaticPod: {pod: p}\n",
       "line 6: steps[0].removeStaticPod: pod 'p' has no manifest: expected runStaticPod before"},
      {head + "  - runPod: {pod: pod.yaml}\n",
       "line 6: steps[0].runPod: the machine has a kubelet, which removes the pods of others: "
       "expected runStaticPod"},
      {head + "  - runStaticPod: {pod: {metadata: {name: p}, spec: 3}}\n",
       "steps[0].runStaticPod (inline): spec: 3: "},
      {head + "  - expect: [{stateFile: kubelet_state, policyName: none}]\n",
       "line 6: steps[0].expect[0].stateFile: 'kubelet_state': expected one of: cpu_manager_state, "
       "memory_manager_state"},
      {head + "  - expect: [{stateFile: cpu_manager_state, checksum: 1}]\n",
       "line 6: steps[0].expect[0].checksum: "},
      {head + "  - expect: [{file: /x, contains: {atLeast: 1}}]\n",
       "line 6: steps[0].expect[0].contains: {\"atLeast\":1}: expected a string"},
  };
  for (const auto& c : cases) {
    const auto scenarios = load_with_kubelet(c.text);
    ASSERT_FALSE(scenarios) << c.text;
    EXPECT_EQ(scenarios.error().message.substr(0, std::string_view(c.message).size()), c.message)
        << c.text;
  }
}

/// A scenario with one kubelet in a variable, and another one in a step.
std::string scenario_with_variables() {
  std::string text = kKubeletHead;
  text.replace(text.find("/k/old"), 6, "$PINFOLD_TEST_OLD");
  return text + "  - startKubelet: {}\n  - restartKubelet: {binary: $PINFOLD_TEST_NEW}\n";
}

TEST(KubeletVariables, NameKubelets) {
  const Variable before("PINFOLD_TEST_OLD", "/k/one");
  const Variable after("PINFOLD_TEST_NEW", "/k/two");
  const auto scenarios = load_with_kubelet(scenario_with_variables());
  ASSERT_TRUE(scenarios) << scenarios.error().message;
  const Scenario& scenario = scenarios->front();
  EXPECT_EQ(scenario.skipped, "");
  EXPECT_EQ(scenario.machine.kubelet, "/k/one");
  EXPECT_EQ(std::get<KubeletStep>(scenario.steps[1].action).binary, "/k/two");
  EXPECT_EQ(scenario.kubelets, (std::vector<std::filesystem::path>{"/k/one", "/k/two"}));
}

TEST(KubeletVariables, SkipTheScenarioIfTheyAreNotSet) {
  const Variable before("PINFOLD_TEST_OLD", "/k/one");
  const Variable after("PINFOLD_TEST_NEW", "");
  const auto scenarios = load_with_kubelet(scenario_with_variables());
  ASSERT_TRUE(scenarios) << scenarios.error().message;
  EXPECT_EQ(scenarios->front().skipped,
            "PINFOLD_TEST_NEW is not set: expected the full path of a kubelet");
}

TEST(KubeletVariables, AreFullPaths) {
  const Variable before("PINFOLD_TEST_OLD", "kubelet");
  const auto scenarios = load_with_kubelet(scenario_with_variables());
  ASSERT_FALSE(scenarios);
  EXPECT_EQ(scenarios.error().message,
            "PINFOLD_TEST_OLD: 'kubelet': expected the full path of a kubelet");
}

}  // namespace
}  // namespace pinfold::harness
