#include "pinfold/kube_client/cluster_access.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace pinfold::kube_client {
namespace {

using testing::HasSubstr;

std::string config(const std::string& cluster, const std::string& user) {
  return "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\nclusters: "
         "[{name: other, cluster: {}}, {name: k, cluster: " +
         cluster + "}]\nusers: [{name: u, user: " + user + "}]\n";
}

ErrorCode code_of(const std::string& yaml) {
  const auto access = parse_kubeconfig(yaml, "/home");
  return access ? ErrorCode{} : access.error().code;
}

TEST(Kubeconfig, ReadsFilesAndData) {
  const ClusterAccess access =
      parse_kubeconfig(config("{server: 'https://h:6443/', certificate-authority-data: Y2E=}",
                              "{tokenFile: token, client-certificate: /c.pem, client-key: k.pem}"),
                       "/home")
          .value();
  EXPECT_EQ(access.server, "https://h:6443");
  EXPECT_EQ(access.ca, (Pem{"", "ca"}));
  EXPECT_EQ(access.token_file, "/home/token");
  EXPECT_EQ(access.certificate, (Pem{"/c.pem", ""}));
  EXPECT_EQ(access.key, (Pem{"/home/k.pem", ""}));
  EXPECT_FALSE(access.skips_verification);
}

TEST(Kubeconfig, SkipsVerificationOnlyWhenTold) {
  EXPECT_TRUE(
      parse_kubeconfig(config("{server: 'https://h', insecure-skip-tls-verify: true}", "{}"), "")
          .value()
          .skips_verification);
}

TEST(Kubeconfig, NamesUsersThatNeedAnotherProgram) {
  const auto access =
      parse_kubeconfig(config("{server: 'https://h'}", "{exec: {command: aws}}"), "");
  ASSERT_FALSE(access);
  EXPECT_EQ(access.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(access.error().message,
            "user.exec: expected a token, a tokenFile or a client certificate");
}

TEST(Kubeconfig, RejectsWhatIsIncomplete) {
  for (const std::string& yaml :
       {std::string("[]"), std::string("{}"), config("{}", "{}"), config("{server: 'h'}", "{}"),
        config("{server: 5}", "{}"), config("[]", "{}"), config("{server: 'https://h'}", "[]"),
        config("{server: 'https://h'}", "{token: 5}")}) {
    EXPECT_EQ(code_of(yaml), ErrorCode::kInvalidArgument) << yaml;
  }
}

TEST(InClusterAccess, FollowsFromTheVariables) {
  std::map<std::string, std::string> variables = {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"},
                                                  {"KUBERNETES_SERVICE_PORT", "443"}};
  const auto variable = [&](const char* name) { return variables[name]; };
  const ClusterAccess access = in_cluster_access(variable).value();
  EXPECT_EQ(access.server, "https://10.0.0.1:443");
  EXPECT_EQ(access.token_file, "/var/run/secrets/kubernetes.io/serviceaccount/token");
  EXPECT_EQ(access.ca.file, "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt");
  variables["KUBERNETES_SERVICE_HOST"] = "fd00::1";
  EXPECT_EQ(in_cluster_access(variable).value().server, "https://[fd00::1]:443");
  variables.clear();
  EXPECT_THAT(in_cluster_access(variable).error().message, HasSubstr("--kubeconfig"));
}

}  // namespace
}  // namespace pinfold::kube_client
