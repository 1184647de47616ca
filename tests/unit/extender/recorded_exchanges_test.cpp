// What kube-scheduler 1.36.2 and pinfold-extender have said to each other, with the configuration
// of examples/kubernetes/scheduler.yaml (names.json) and with nodeCacheCapable: false
// (objects.json), in front of three nodes: a is single-numa-node, b restricted, c best-effort.
// metadata.managedFields is left out. The pods are bound and evicted as they were then.

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "pinfold/cluster/sinks.hpp"
#include "pinfold/extender/schedule_calls.hpp"
#include "pinfold/scheduling/protocol.hpp"

namespace pinfold::extender {
namespace {

using cluster::ViewSink;
using kube::Kind;
using nlohmann::json;

class RecordedExchanges : public testing::TestWithParam<const char*> {
 protected:
  RecordedExchanges() {
    context = {&view,
               &metrics,
               ScoringStrategy::kLeastNumaNodes,
               [this] { return now; },
               [] { return std::string(); },
               [] { return std::chrono::seconds(0); },
               &patience};
  }

  /// A pod is bound, or gone.
  void see(const json& step) {
    json pod = pods.at(step["pod"]);
    pod["spec"]["nodeName"] = step["node"];
    if (step["event"] == "bound") return pod_sink.set(pod);
    pod_sink.remove(pod);
  }
  void exchange(const json& step) {
    const json& request = step["request"];
    pods[request["Pod"]["metadata"]["name"]] = request["Pod"];
    const std::string verb = step["verb"];
    if (verb != "preempt") {
      EXPECT_EQ(scheduling::parse_extender_args(request.dump()).value().nominated,
                step["nominated"].get<std::string>());
    }
    const auto answer = answer_call(context, {"POST", "/" + verb, request.dump()});
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(json::parse(answer.body), step["answer"]) << verb << " " << request["Pod"];
  }

  cluster::SharedView view{cluster::ClusterOptions{}};
  ExtenderMetrics metrics;
  Patience patience{std::chrono::milliseconds(0), std::chrono::seconds(1)};
  CallContext context;
  kube::Time now{0};
  ViewSink topology_sink{Kind::kNodeTopologies, view, [this] { return now; },
                         [](const std::string& text) { ADD_FAILURE() << text; }};
  ViewSink pod_sink{Kind::kPods, view, [this] { return now; },
                    [](const std::string& text) { ADD_FAILURE() << text; }};
  std::map<std::string, json> pods;  ///< by name, as the scheduler has sent them
};

TEST_P(RecordedExchanges, AreAnsweredAsTheyWere) {
  std::ifstream file(std::string(PINFOLD_EXCHANGES) + "/" + GetParam());
  const json recorded = json::parse(file);
  for (const json& topology : recorded["topologies"]) topology_sink.set(topology);
  std::map<std::string, int> verbs;
  for (const json& step : recorded["steps"]) {
    now += std::chrono::seconds(1);
    if (step.contains("event")) {
      see(step);
    } else {
      ++verbs[step["verb"]];
      exchange(step);
    }
  }
  for (const char* const verb : {"filter", "prioritize", "preempt"}) EXPECT_GT(verbs[verb], 0);
}

INSTANTIATE_TEST_SUITE_P(KubeScheduler, RecordedExchanges,
                         testing::Values("names.json", "objects.json"));

}  // namespace
}  // namespace pinfold::extender
