#include <gtest/gtest.h>

#include "load_text.hpp"

namespace pinfold::harness {
namespace {

constexpr const char* kRuntimeHead =
    "name: a\nmachine: {nodes: [{cpus: 0, memory: 1Gi}]}\nruntime: containerd-1.7\nsteps:\n";
constexpr const char* kRuntimePod =
    "  - runPod: {pod: {metadata: {name: p}, spec: {containers: [{name: c}, {name: d}]}}}\n";

TEST(RuntimeSteps, AreRead) {
  const auto scenarios = load_text(std::string(kRuntimeHead) + R"(  - runPod: {pod: pod.yaml}
  - createContainer: {container: filed/c, error: no}
    timeLimit: 7
  - createContainer: {container: filed/c}
  - startContainer: {container: filed/c}
  - execContainer: {container: filed/c, command: [ls, /], status: any, output: bin}
  - killRuntime: {}
  - restartRuntime: {}
  - stopContainer: {container: filed/c, grace: 30}
  - removeContainer: {container: filed/c}
  - stopPod: {pod: filed}
  - removePod: {pod: filed}
  - exec: {command: [ls]}
)");
  ASSERT_TRUE(scenarios) << scenarios.error().message;
  const Scenario& scenario = scenarios->front();
  EXPECT_EQ(scenario.runtime, "containerd-1.7");
  EXPECT_FALSE(needs_product(scenario));
  const auto& steps = scenario.steps;
  const auto& run = std::get<RunPodStep>(steps[0].action);
  EXPECT_EQ(run.pod, "filed");
  EXPECT_EQ(run.containers, (std::vector<std::string>{"c"}));
  EXPECT_EQ(steps[0].title, "runPod pod.yaml");
  EXPECT_EQ(steps[0].time_limit_s, 120);
  EXPECT_EQ(std::get<ContainerStep>(steps[1].action).error, "no");
  EXPECT_EQ(steps[1].time_limit_s, 7);
  using Do = ContainerStep::Do;
  EXPECT_EQ(std::get<ContainerStep>(steps[2].action).what, Do::kCreate);
  EXPECT_EQ(std::get<ContainerStep>(steps[3].action).what, Do::kStart);
  const auto& exec = std::get<ExecContainerStep>(steps[4].action);
  EXPECT_EQ(exec.container, "filed/c");
  EXPECT_EQ(exec.command, (std::vector<std::string>{"ls", "/"}));
  EXPECT_EQ(exec.status, std::nullopt);
  EXPECT_EQ(exec.output, "bin");
  EXPECT_EQ(std::get<RuntimeStep>(steps[5].action).what, RuntimeStep::Do::kKill);
  EXPECT_EQ(std::get<RuntimeStep>(steps[6].action).what, RuntimeStep::Do::kRestart);
  EXPECT_EQ(std::get<ContainerStep>(steps[7].action).what, Do::kStop);
  EXPECT_EQ(std::get<ContainerStep>(steps[7].action).grace_s, 30);
  EXPECT_EQ(std::get<ContainerStep>(steps[8].action).what, Do::kRemove);
  EXPECT_EQ(std::get<PodStep>(steps[9].action).what, PodStep::Do::kStop);
  EXPECT_EQ(std::get<PodStep>(steps[10].action).what, PodStep::Do::kRemove);
  EXPECT_EQ(steps[11].time_limit_s, 30);
}

TEST(RuntimeSteps, MayFollowEachOther) {
  const char* const cases[] = {
      // A removed container can be created again, and a stopped one can be removed.
      "  - createContainer: {container: p/c}\n  - removeContainer: {container: p/c}\n"
      "  - createContainer: {container: p/c}\n  - stopContainer: {container: p/c}\n"
      "  - removeContainer: {container: p/c}\n",
      // The same holds for a pod with its containers.
      "  - createContainer: {container: p/c}\n  - removePod: {pod: p}\n"
      "  - runPod: {pod: {metadata: {name: p}, spec: {containers: [{name: c}]}}}\n"
      "  - createContainer: {container: p/c}\n",
      // A failed step changes nothing.
      "  - createContainer: {container: p/c, error: x}\n  - createContainer: {container: p/c}\n"
      "  - startContainer: {container: p/c, error: x}\n  - startContainer: {container: p/c}\n",
      // Requests to a runtime that is down may fail.
      "  - killRuntime: {}\n  - stopPod: {pod: p, error: x}\n  - restartRuntime: {}\n"
      "  - stopPod: {pod: p}\n",
  };
  for (const char* const text : cases) {
    const auto scenarios = load_text(std::string(kRuntimeHead) + kRuntimePod + text);
    EXPECT_TRUE(scenarios) << text << scenarios.error().message;
  }
}

TEST(RuntimeSteps, AreRejectedWithLineAndField) {
  const std::string head = std::string(kRuntimeHead) + kRuntimePod;
  const struct {
    std::string text;
    const char* message;
  } cases[] = {
      {"name: a\nmachine: {}\nruntime: docker\nsteps: [{verify: {}}]",
       "line 3: runtime: 'docker': expected one of: containerd-1.7, containerd-2.1"},
      {"name: a\nmachine: {}\nruntime: containerd-1.7\nsteps: [{verify: {}}]",
       "line 3: runtime: expected a machine with 1024Mi of memory or more"},
      {"name: a\non: [debian-6.1/v1]\nmachine: {}\nruntime: containerd-1.7\nsteps: [{verify: {}}]",
       "line 4: runtime: expected only platforms with v2, not debian-6.1/v1"},
      {std::string("name: a\nmachine: {}\nsteps:\n") + kRuntimePod,
       "line 4: steps[0].runPod: expected a scenario with a runtime"},
      {std::string(kRuntimeHead) + "  - runPod: {pod: nowhere.yaml}\n",
       "steps[0].runPod nowhere.yaml: read '"},
      {std::string(kRuntimeHead) + "  - runPod: {pod: {metadata: {name: p}, spec: 3}}\n",
       "steps[0].runPod (inline): spec: 3: "},
      {std::string(kRuntimeHead) +
           "  - runPod: {pod: pod.yaml}\n  - createContainer: {container: p/c}\n",
       "line 6: steps[1].createContainer: pod 'p' does not run: expected runPod before"},
      {head + kRuntimePod, "line 6: steps[1].runPod: pod 'p' is already running"},
      {head + "  - createContainer: {container: c}\n",
       "line 6: steps[1].createContainer.container: 'c': expected POD/CONTAINER"},
      {head + "  - createContainer: {container: p/x}\n",
       "line 6: steps[1].createContainer: pod 'p' has no container 'x'"},
      {head + "  - createContainer: {container: p/c, grace: 3}\n",
       "line 6: steps[1].createContainer.grace: unknown field"},
      {head + "  - createContainer: {container: p/c}\n  - createContainer: {container: p/c}\n",
       "line 7: steps[2].createContainer: container 'p/c' is not removed by an earlier step"},
      {head + "  - startContainer: {container: p/c}\n",
       "line 6: steps[1].startContainer: container 'p/c' is not created by an earlier step"},
      {head + "  - createContainer: {container: p/c}\n  - startContainer: {container: p/c}\n"
              "  - startContainer: {container: p/c}\n",
       "line 8: steps[3].startContainer: container 'p/c' was already started"},
      {head + "  - createContainer: {container: p/c}\n"
              "  - execContainer: {container: p/c, command: [ls]}\n",
       "line 7: steps[2].execContainer: container 'p/c' is not started by an earlier step"},
      {head + "  - createContainer: {container: p/c}\n  - startContainer: {container: p/c}\n"
              "  - stopPod: {pod: p}\n  - execContainer: {container: p/c, command: [ls]}\n",
       "line 9: steps[4].execContainer: container 'p/c' is not started by an earlier step"},
      {head + "  - execContainer: {container: p/c}\n",
       "line 6: steps[1].execContainer.command: expected a program and its arguments"},
      {head + "  - removePod: {pod: p}\n  - stopPod: {pod: p}\n",
       "line 7: steps[2].stopPod: pod 'p' does not run"},
      {head + "  - killRuntime: {}\n  - createContainer: {container: p/c}\n",
       "line 7: steps[2].createContainer: the runtime was killed: expected restartRuntime before"},
      {head + "  - killRuntime: {}\n  - killRuntime: {}\n",
       "line 7: steps[2].killRuntime: the runtime was killed: expected restartRuntime before"},
      {head + "  - killRuntime: {}\n    killAt: {}\n",
       "line 7: steps[1].killAt: expected with admit, start, remove, restart, exec, "
       "startKubelet or restartKubelet"},
  };
  for (const auto& c : cases) {
    const auto scenarios = load_text(c.text);
    ASSERT_FALSE(scenarios) << c.text;
    EXPECT_EQ(scenarios.error().message.substr(0, std::string_view(c.message).size()), c.message)
        << c.text;
  }
}

}  // namespace
}  // namespace pinfold::harness
