#include "pinfold/scheduling/protocol.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinfold::scheduling {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kPod =
    R"({"metadata":{"name":"p","namespace":"ml","uid":"u"},
        "spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"2","memory":"1Gi"}}}]}})";

std::string request(const std::string& rest) {
  return std::string(R"({"Pod":)") + kPod + rest + "}";
}

TEST(ExtenderProtocol, ReadsNamesFromASchedulerThatExpectsACache) {
  const auto args = parse_extender_args(request(R"(,"Nodes":null,"NodeNames":["a","b"])")).value();
  EXPECT_THAT(args.nodes, ElementsAre("a", "b"));
  EXPECT_TRUE(args.objects.empty());
  EXPECT_EQ(args.pod.uid, PodUid("u"));
  EXPECT_EQ(amount_of(args.pod.containers.front().resources.requests, "cpu").value(), 2);
  EXPECT_EQ(to_json(FilterResult{{1}, {{"a", "why"}}, false}, args),
            json::parse(R"({"NodeNames":["b"],"FailedNodes":{},
                            "FailedAndUnresolvableNodes":{"a":"why"},"Error":""})"));
}

// kube-scheduler waits for the pods that it evicts on the nominated node, and only there.
TEST(ExtenderProtocol, OnlyTheNominatedNodeIsResolvable) {
  const auto args =
      parse_extender_args(
          R"({"Pod":{"metadata":{"name":"p","uid":"u"},"spec":{"containers":[{"name":"c"}]},
                            "status":{"nominatedNodeName":"b"}},"NodeNames":["a","b"]})")
          .value();
  const json answer = to_json(FilterResult{{}, {{"a", "x"}, {"b", "y"}}, false}, args);
  EXPECT_EQ(answer["FailedNodes"], json::parse(R"({"b":"y"})"));
  EXPECT_EQ(answer["FailedAndUnresolvableNodes"], json::parse(R"({"a":"x"})"));
}

TEST(ExtenderProtocol, AnswersWithNodesIfItGotNodes) {
  const auto args =
      parse_extender_args(request(R"(,"NodeNames":null,"Nodes":{"metadata":{},"items":[
                          {"metadata":{"name":"a"}},{"metadata":{"name":"b"},"x":1}]})"))
          .value();
  EXPECT_THAT(args.nodes, ElementsAre("a", "b"));
  EXPECT_EQ(to_json(FilterResult{{1}, {}, false}, args)["Nodes"],
            json::parse(R"({"items":[{"metadata":{"name":"b"},"x":1}]})"));
}

TEST(ExtenderProtocol, MembersAreMatchedAsGoMatchesThem) {
  const auto args =
      parse_extender_args(std::string(R"({"pod":)") + kPod + R"(,"nodenames":["a"]})").value();
  EXPECT_THAT(args.nodes, ElementsAre("a"));
}

TEST(ExtenderProtocol, NoNodesAreNoError) {
  EXPECT_TRUE(parse_extender_args(request(R"(,"NodeNames":[])")).value().nodes.empty());
  EXPECT_TRUE(parse_extender_args(request(R"(,"Nodes":{"items":null})")).value().nodes.empty());
}

TEST(ExtenderProtocol, NamesWhatIsWrong) {
  const auto message = [](const std::string& text) {
    const auto args = parse_extender_args(text);
    return args ? "" : args.error().message;
  };
  EXPECT_THAT(message("{"), StartsWith("request: expected JSON, found an error at byte"));
  EXPECT_EQ(message("[]"), "request: a list: expected an object");
  EXPECT_EQ(message("{}"), "Pod: null: expected a Pod");
  EXPECT_EQ(message(request("")), "request: expected 'NodeNames' or 'Nodes'");
  EXPECT_EQ(message(request(R"(,"NodeNames":["a",5])")), "NodeNames[1]: 5: expected a string");
  EXPECT_EQ(message(request(R"(,"NodeNames":{})")),
            "NodeNames: an object: expected a list of names");
  EXPECT_THAT(message(request(R"(,"Nodes":{"items":[{}]})")),
              HasSubstr("Nodes.items[0]: metadata.name: null: expected a string"));
  EXPECT_THAT(message(R"({"Pod":{"spec":{}},"NodeNames":[]})"), StartsWith("Pod: "));
}

TEST(ExtenderProtocol, WritesPriorities) {
  EXPECT_EQ(to_json(std::vector<HostPriority>{{"a", 10}}),
            json::parse(R"([{"Host":"a","Score":10}])"));
}

TEST(ExtenderProtocol, ReadsVictimsByIdentityAndAsPods) {
  const auto by_uid =
      parse_preemption_args(request(R"(,"NodeNameToVictims":null,"NodeNameToMetaVictims":{
        "a":{"Pods":[{"UID":"v1"},{"UID":"v2"}],"NumPDBViolations":1}})"))
          .value();
  const VictimsByNode expected = {{"a", {{PodUid("v1"), PodUid("v2")}, 1}}};
  EXPECT_EQ(by_uid.victims, expected);
  EXPECT_EQ(to_json(expected), json::parse(R"({"NodeNameToMetaVictims":{
    "a":{"Pods":[{"UID":"v1"},{"UID":"v2"}],"NumPDBViolations":1}}})"));
  const auto as_pods = parse_preemption_args(request(R"(,"NodeNameToVictims":{
    "a":{"Pods":[{"metadata":{"uid":"v1"}},{"metadata":{"uid":"v2"}}],"NumPDBViolations":1}})"))
                           .value();
  EXPECT_EQ(as_pods.victims, expected);
}

TEST(ExtenderProtocol, RejectsVictimsWithoutIdentity) {
  for (const char* const victims :
       {"5", R"({"a":5})", R"({"a":{"Pods":5}})", R"({"a":{"Pods":[5]}})", R"({"a":{"Pods":[{}]}})",
        R"({"a":{"Pods":[],"NumPDBViolations":"1"}})"}) {
    EXPECT_FALSE(
        parse_preemption_args(request(std::string(R"(,"NodeNameToMetaVictims":)") + victims)))
        << victims;
  }
}

}  // namespace
}  // namespace pinfold::scheduling
