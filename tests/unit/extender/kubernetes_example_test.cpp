// examples/kubernetes: mistakes of the extender's manifests that the API server detects too late.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "pinfold/api/pod_documents.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/extender/extender_settings.hpp"
#include "pinfold/kube/kind.hpp"
#include "pinfold/text/document.hpp"

namespace pinfold::extender {
namespace {

using nlohmann::json;
using testing::UnorderedElementsAre;

std::map<std::string, json> objects_of(const std::string& file) {
  std::map<std::string, json> found;
  const auto text = read_file(PINFOLD_EXAMPLES "/kubernetes/" + file).value();
  const auto objects = parse_documents(text).value();
  for (const json& object : objects) {
    found[object.at("kind").get<std::string>()] = object;
  }
  return found;
}

ExtenderSettings settings_of(const std::map<std::string, json>& objects) {
  const json& file = objects.at("ConfigMap").at("data").at("extender.yaml");
  return parse_extender_settings(file.get<std::string>()).value();
}

std::string port_of(const std::string& address) { return address.substr(address.rfind(':') + 1); }

TEST(ExtenderExample, TheExtenderAcceptsItsSettings) {
  const auto settings = settings_of(objects_of("extender.yaml"));
  ASSERT_TRUE(settings.tls);
  EXPECT_NE(settings.tls->client_ca, "");
}

TEST(ExtenderExample, TheRoleAllowsToReadWhatIsWatchedAndNothingElse) {
  const json rules = objects_of("extender.yaml").at("ClusterRole").at("rules");
  std::vector<std::string> resources;
  for (const json& rule : rules) {
    EXPECT_THAT(rule.at("verbs").get<std::vector<std::string>>(),
                UnorderedElementsAre("list", "watch"));
    for (const json& resource : rule.at("resources")) resources.push_back(resource);
  }
  EXPECT_THAT(resources,
              UnorderedElementsAre(to_string(kube::Kind::kNodes), to_string(kube::Kind::kPods),
                                   to_string(kube::Kind::kNodeTopologies)));
}

TEST(ExtenderExample, PortsAndFilesAgree) {
  const auto objects = objects_of("extender.yaml");
  const auto settings = settings_of(objects);
  EXPECT_EQ(objects.at("Service").at("spec").at("ports")[0].at("port").dump(),
            port_of(settings.address));
  const json& container =
      objects.at("Deployment").at("spec").at("template").at("spec").at("containers")[0];
  EXPECT_EQ(container.at("ports")[0].at("containerPort").dump(), port_of(settings.address));
  EXPECT_EQ(container.at("ports")[1].at("containerPort").dump(), port_of(settings.health_address));
  EXPECT_EQ(container.at("args")[1], kDefaultExtenderFile);
}

TEST(ExtenderExample, ThePodHasNoUnknownField) {
  const auto deployment = objects_of("extender.yaml").at("Deployment");
  EXPECT_TRUE(read_pod(as_pod(deployment).value()));
}

TEST(ExtenderExample, TheSchedulerAsksForTheVerbsThatExist) {
  const json scheduler = objects_of("scheduler.yaml").at("KubeSchedulerConfiguration");
  EXPECT_EQ(scheduler.at("percentageOfNodesToScore"), 100);
  const json extender = scheduler.at("extenders")[0];
  EXPECT_EQ(extender.at("filterVerb"), "filter");
  EXPECT_EQ(extender.at("prioritizeVerb"), "prioritize");
  EXPECT_EQ(extender.at("preemptVerb"), "preempt");
  EXPECT_EQ(extender.at("nodeCacheCapable"), true);
  const std::string url = extender.at("urlPrefix");
  EXPECT_EQ(port_of(url), port_of(settings_of(objects_of("extender.yaml")).address));
}

}  // namespace
}  // namespace pinfold::extender
