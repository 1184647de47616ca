// examples/kubernetes: mistakes that the API server detects too late or never.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "pinfold/api/config.hpp"
#include "pinfold/api/pod_documents.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/settings/settings.hpp"
#include "pinfold/text/document.hpp"

namespace pinfold::settings {
namespace {

using Json = nlohmann::json;

/// The objects of the manifest by kind.
std::map<std::string, Json> objects() {
  std::map<std::string, Json> found;
  const auto documents =
      parse_documents(read_file(PINFOLD_EXAMPLES "/kubernetes/pinfold.yaml").value()).value();
  for (const Json& object : documents) found[object.at("kind").get<std::string>()] = object;
  return found;
}

TEST(KubernetesExample, TheServiceAcceptsItsConfiguration) {
  const Json data = objects().at("ConfigMap").at("data");
  const auto settings = parse_settings(data.at("agent.yaml").get<std::string>());
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->nri->mode, NriMode::kObserve);
  const auto parsed = parse_config(data.at("config.yaml").get<std::string>());
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->config.cpu_manager_policy, "static");
  EXPECT_TRUE(parsed->warnings.empty());
}

TEST(KubernetesExample, ThePodHasNoUnknownFieldAndAsksForNoExclusiveCpus) {
  Json pod = objects().at("DaemonSet").at("spec").at("template");
  pod["kind"] = "Pod";
  pod["apiVersion"] = "v1";
  pod["metadata"]["name"] = "pinfold";
  const auto spec = read_pod(pod);
  ASSERT_TRUE(spec) << spec.error().message;
  ASSERT_TRUE(validate_all({*spec}));
  EXPECT_EQ(spec->containers.front().resources.requests.at("cpu").milli_value(), 50);
}

/// Everything that the service opens must be on the host.
TEST(KubernetesExample, MountsWhatTheServiceNeeds) {
  const Json spec = objects().at("DaemonSet").at("spec").at("template").at("spec");
  std::map<std::string, std::string> sources;
  for (const Json& volume : spec.at("volumes")) {
    sources[volume.at("name").get<std::string>()] =
        volume.contains("hostPath") ? volume.at("hostPath").at("path").get<std::string>() : "";
  }
  std::map<std::string, std::string> mounts;
  for (const Json& mount : spec.at("containers").at(0).at("volumeMounts")) {
    mounts[mount.at("mountPath").get<std::string>()] =
        sources.at(mount.at("name").get<std::string>());
  }
  const Settings defaults;
  const std::string nri = NriSettings{}.socket;
  for (const std::string& path :
       {defaults.state_dir, defaults.socket.substr(0, defaults.socket.rfind('/')),
        nri.substr(0, nri.rfind('/')), NriSettings{}.kubelet_root, std::string("/sys/fs/cgroup")}) {
    EXPECT_EQ(mounts[path], path);
  }
  EXPECT_TRUE(mounts.contains("/etc/pinfold"));
  EXPECT_EQ(spec.at("hostPID"), true);
}

Json container() {
  return objects().at("DaemonSet").at("spec").at("template").at("spec").at("containers").at(0);
}

/// Any user of the node can flood a port, so the probes use the socket of the service.
TEST(KubernetesExample, TheProbesAskAtTheSocketOfTheService) {
  const std::string entry = read_file(PINFOLD_EXAMPLES "/kubernetes/Containerfile").value();
  const std::map<std::string, std::string> probes = {{"livenessProbe", "live"},
                                                     {"readinessProbe", "ready"}};
  for (const auto& [name, what] : probes) {
    const Json command = container().at(name).at("exec").at("command");
    ASSERT_EQ(command.size(), 3U) << name;
    EXPECT_NE(entry.find(fmt::format("ENTRYPOINT [\"{}\"]", command.at(0).get<std::string>())),
              std::string::npos)
        << name << ": the program of the image";
    EXPECT_EQ(command.at(1), "--check") << name;
    EXPECT_EQ(command.at(2), what) << name;
  }
}

/// Resource to verbs.
using Rights = std::map<std::string, Json>;

TEST(KubernetesExample, ThePublisherMayDoWhatItDoesAndNothingElse) {
  Rights rights;
  std::string account;
  const auto text = read_file(PINFOLD_EXAMPLES "/kubernetes/publish.yaml").value();
  const auto objects = parse_documents(text).value();
  for (const Json& object : objects) {
    if (object.at("kind") == "ServiceAccount") account = object.at("metadata").at("name");
    if (object.at("kind") != "ClusterRole") continue;
    for (const Json& rule : object.at("rules")) {
      rights[rule.at("resources").at(0).get<std::string>()] = rule.at("verbs");
      EXPECT_EQ(rule.at("resources").size(), 1U);
    }
  }
  EXPECT_EQ(rights, (Rights{{"noderesourcetopologies", {"create", "patch"}},
                            {"pods", Json::array({"patch"})},
                            {"nodes", Json::array({"get"})}}));
  EXPECT_EQ(account, "pinfold");
}

TEST(KubernetesExample, ThePodKnowsTheNameOfItsNode) {
  const Json variable = container().at("env").at(0);
  EXPECT_EQ(variable.at("name"), "NODE_NAME");
  EXPECT_EQ(variable.at("valueFrom").at("fieldRef").at("fieldPath"), "spec.nodeName");
}

TEST(KubernetesExample, NeedsNoNetworkOfTheNode) {
  const Json spec = objects().at("DaemonSet").at("spec").at("template").at("spec");
  EXPECT_FALSE(spec.contains("hostNetwork"));
  const Json data = objects().at("ConfigMap").at("data");
  const auto settings = parse_settings(data.at("agent.yaml").get<std::string>()).value();
  const int port = container().at("ports").at(0).at("containerPort");
  EXPECT_EQ(settings.metrics_address, fmt::format("0.0.0.0:{}", port));
}

}  // namespace
}  // namespace pinfold::settings
