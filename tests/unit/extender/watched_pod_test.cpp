#include "pinfold/kube/watched_pod.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace pinfold::kube {
namespace {

using nlohmann::json;
using Amounts = std::vector<ZoneAmount>;

json pod_json() {
  return json::parse(R"({
    "metadata": {"name": "train", "namespace": "ml", "uid": "u1"},
    "spec": {"nodeName": "worker-1",
             "containers": [{"name": "c", "resources": {"limits": {"cpu": "4", "memory": "1Gi"}}}]},
    "status": {"phase": "Running"}})");
}

TEST(WatchedPod, ReadsNodePhaseAndDefaults) {
  const WatchedPod pod = watched_pod_from_json(pod_json()).value();
  EXPECT_EQ(pod.node, "worker-1");
  EXPECT_FALSE(pod.has_ended);
  EXPECT_EQ(pod.spec.uid, PodUid("u1"));
  EXPECT_EQ(amount_of(pod.spec.containers.front().resources.requests, "cpu").value(), 4);
  EXPECT_EQ(pod.observed, std::nullopt);
}

TEST(WatchedPod, HasEndedWhenItSucceededOrFailed) {
  for (const auto& [phase, ended] : {std::pair("Succeeded", true), std::pair("Failed", true),
                                     std::pair("Pending", false), std::pair("", false)}) {
    json object = pod_json();
    object["status"]["phase"] = phase;
    EXPECT_EQ(watched_pod_from_json(object).value().has_ended, ended) << phase;
  }
}

TEST(WatchedPod, IsRejectedWithThatReasonOnly) {
  json object = pod_json();
  object["status"] = {{"phase", "Failed"}, {"reason", "TopologyAffinityError"}};
  EXPECT_TRUE(watched_pod_from_json(object).value().is_rejected);
  object["status"]["reason"] = "Evicted";
  EXPECT_FALSE(watched_pod_from_json(object).value().is_rejected);
}

TEST(WatchedPod, ReadsTheObservedPlacement) {
  json object = pod_json();
  object["metadata"]["annotations"][std::string(kObservedAnnotation)] =
      R"([{"zone":"node-0","amount":{"cpu":"2","example.com/gpu":"1"}},
          {"zone":"node-1","amount":{"memory":"1Gi"}}])";
  const WatchedPod pod = watched_pod_from_json(object).value();
  EXPECT_EQ(pod.observed, (Amounts{{"node-0", "cpu", 2000},
                                   {"node-0", "example.com/gpu", 1},
                                   {"node-1", "memory", std::int64_t{1} << 30}}));
  EXPECT_EQ(pod.warning, "");
}

TEST(WatchedPod, AnAnnotationThatCannotBeReadIsNamedAndIgnored) {
  json object = pod_json();
  object["metadata"]["annotations"][std::string(kObservedAnnotation)] =
      R"([{"zone":"node-0","amount":{"cpu":"many"}}])";
  const WatchedPod pod = watched_pod_from_json(object).value();
  EXPECT_EQ(pod.observed, std::nullopt);
  EXPECT_EQ(pod.warning.substr(0, 78),
            "annotation 'kai.scheduler/numa-placement-observed': [0].amount.cpu: 'many': qu");
}

TEST(ParseObserved, NullIsUnknownAndEmptyIsNothing) {
  EXPECT_EQ(parse_observed("null").value(), std::nullopt);
  EXPECT_EQ(parse_observed("[]").value(), Amounts{});
}

TEST(ParseObserved, RejectsEverythingElse) {
  for (const char* const text :
       {"", "{}", "[5]", "[{}]", R"([{"zone":""}])", R"([{"zone":"a"}])",
        R"([{"zone":"a","amount":[]}])", R"([{"zone":"a","amount":{"cpu":"-1"}}])",
        R"([{"zone":"a","amount":{"cpu":[]}}])"}) {
    EXPECT_FALSE(parse_observed(text)) << text;
  }
}

}  // namespace
}  // namespace pinfold::kube
