#include "pinfold/extender/schedule_calls.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "cluster_objects.hpp"

namespace pinfold::extender {
namespace {

using cluster::ClusterView;
using nlohmann::json;
using testing::HasSubstr;

class ScheduleCallsTest : public testing::Test {
 protected:
  ScheduleCallsTest() {
    context = {&view,
               &metrics,
               ScoringStrategy::kLeastNumaNodes,
               [this] { return kube::Time(now++); },
               [this] { return not_ready; },
               [this] { return silence; },
               &patience};
    view.use([](ClusterView& of) { of.set_topology(test::eight_each("a", "8", "0")); });
  }
  web::HttpAnswer post(const std::string& path, const json& body) {
    return answer_call(context, {"POST", path, body.dump()});
  }
  json filter(const std::string& uid, const std::vector<std::string>& nodes = {"a"}) {
    const json args = {{"Pod", to_json(test::watched(uid, "6").spec)}, {"NodeNames", nodes}};
    return json::parse(post("/filter", args).body);
  }

  cluster::SharedView view{cluster::ClusterOptions{}};
  ExtenderMetrics metrics;
  Patience patience{std::chrono::milliseconds(50), std::chrono::seconds(1)};
  CallContext context;
  std::atomic<int> now{0};
  std::string not_ready;
  std::chrono::seconds silence{0};
};

TEST_F(ScheduleCallsTest, WaitsForPodsInFlightAndThenDecidesWithoutThem) {
  view.use([](ClusterView& of) { of.set_topology(test::eight_each("b", "8", "0")); });
  EXPECT_EQ(filter("p", {"a", "b"})["NodeNames"], json::parse(R"(["a","b"])"));
  const json answer = filter("q", {"a"});
  EXPECT_GE(now, 50);
  EXPECT_EQ(answer["NodeNames"], json::parse(R"(["a"])"));
}

TEST_F(ScheduleCallsTest, AfterAWaitInVainNobodyWaitsForAWhile) {
  view.use([](ClusterView& of) { of.set_topology(test::eight_each("b", "8", "0")); });
  (void)filter("p", {"a", "b"});
  (void)filter("q", {"a", "b"});
  const int waited = now;
  EXPECT_GE(waited, 50);
  EXPECT_EQ(filter("r", {"a", "b"})["NodeNames"], json::parse(R"(["a","b"])"));
  EXPECT_LT(now - waited, 10);
  now += 1'000;
  const int rested = now;
  (void)filter("s", {"a", "b"});
  EXPECT_GE(now - rested, 50);
}

TEST_F(ScheduleCallsTest, APodThatIsBoundMeanwhileDecides) {
  Patience endless(std::chrono::hours(1), std::chrono::seconds(1));
  context.patience = &endless;
  EXPECT_EQ(filter("p", {"a", "unknown"})["NodeNames"], json::parse(R"(["a","unknown"])"));
  std::thread binding([this] {
    view.use([](ClusterView& of) { of.set_pod(test::watched("p", "6", "a"), kube::Time(1)); });
  });
  EXPECT_THAT(filter("q")["FailedAndUnresolvableNodes"]["a"].get<std::string>(),
              HasSubstr("it has cpu 2 of 6"));
  binding.join();
}

TEST_F(ScheduleCallsTest, SaysHowOldAnAnswerIs) {
  view.use([](ClusterView& of) { of.set_topology(test::eight_each("a", "5", "5")); });
  silence = std::chrono::seconds(200);
  EXPECT_THAT(filter("p")["FailedAndUnresolvableNodes"]["a"].get<std::string>(),
              HasSubstr("lacks cpu 1); last news of the API server 200 s ago"));
}

TEST_F(ScheduleCallsTest, WithoutAllListsThereIsNoAnswer) {
  not_ready = "pods: not listed yet";
  EXPECT_EQ(filter("p"),
            json::parse(R"({"Error":"pinfold-extender is not ready: pods: not listed yet"})"));
  EXPECT_EQ(post("/preempt", {}).status, 503);
}

TEST_F(ScheduleCallsTest, OtherPathsAndMethodsAreNamed) {
  EXPECT_EQ(post("/bind", {}).status, 404);
  const auto answer = answer_call(context, {"GET", "/filter", ""});
  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(answer.body, "'GET': expected POST\n");
}

TEST_F(ScheduleCallsTest, CallsAndNodesAreCounted) {
  (void)filter("p");
  (void)post("/prioritize", {});
  const std::string text = prometheus::TextSerializer().Serialize(metrics.collect());
  EXPECT_THAT(text, HasSubstr("pinfold_extender_calls_total{status=\"200\",verb=\"filter\"} 1"));
  EXPECT_THAT(text,
              HasSubstr("pinfold_extender_calls_total{status=\"400\",verb=\"prioritize\"} 1"));
  EXPECT_THAT(text, HasSubstr("pinfold_extender_filtered_nodes_total{outcome=\"passed\"} 1"));
}

TEST_F(ScheduleCallsTest, WhatOthersCountIsShown) {
  cluster::ClusterView::Counts counts;
  for (const std::size_t rejections : {2U, 2U, 5U}) {
    counts.rejections = rejections;
    metrics.set_view(counts);
  }
  web::WatchStatus status;
  status.is_synced = true;
  status.last_contact = kube::Time(1'000);
  status.lists = 3;
  status.errors = 4;
  metrics.set_watch(kube::Kind::kPods, status, kube::Time(3'500));
  const std::string text = prometheus::TextSerializer().Serialize(metrics.collect());
  for (const char* const line :
       {"rejected_pods_total 5", "watch_synced{kind=\"pods\"} 1",
        "watch_age_seconds{kind=\"pods\"} 2.5", "watch_lists_total{kind=\"pods\"} 3",
        "watch_errors_total{kind=\"pods\"} 4"}) {
    EXPECT_THAT(text, HasSubstr(std::string("\npinfold_extender_") + line));
  }
}

}  // namespace
}  // namespace pinfold::extender
