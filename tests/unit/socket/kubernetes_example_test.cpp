// examples/kubernetes: what the API server does not check until it is too late.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "pinfold/api/config.hpp"
#include "pinfold/api/pod_documents.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/base/unique_fd.hpp"
#include "pinfold/server/settings.hpp"
#include "pinfold/text/document.hpp"
#include "run_program.hpp"

namespace pinfold::service {
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

/// What the service opens must be what the host has.
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

/// Answers one HTTP request with this text, on a port of its own.
class OneAnswer {
 public:
  explicit OneAnswer(std::string text)
      : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), text_(std::move(text)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_.get(), generic, size) != 0 || ::listen(listener_.get(), 1) != 0 ||
        ::getsockname(listener_.get(), generic, &size) != 0) {
      throw std::runtime_error("no socket");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { answer(); });
  }
  OneAnswer(const OneAnswer&) = delete;
  OneAnswer& operator=(const OneAnswer&) = delete;
  ~OneAnswer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] const std::string& request() const { return request_; }

 private:
  void answer() {
    const UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    char byte = 0;
    while (!request_.ends_with("\r\n\r\n") && ::read(client.get(), &byte, 1) == 1) {
      request_ += byte;
    }
    (void)::send(client.get(), text_.data(), text_.size(), MSG_NOSIGNAL);
  }

  UniqueFd listener_;
  std::string text_;
  std::string request_;
  int port_ = 0;
  std::thread thread_;
};

Json probe(const char* name) {
  return objects()
      .at("DaemonSet")
      .at("spec")
      .at("template")
      .at("spec")
      .at("containers")
      .at(0)
      .at(name);
}

TEST(KubernetesExample, TheProbesAskWhereTheServiceAnswers) {
  const Json data = objects().at("ConfigMap").at("data");
  const auto settings = parse_settings(data.at("agent.yaml").get<std::string>()).value();
  const Json live = probe("livenessProbe").at("httpGet");
  EXPECT_EQ(settings.metrics_address,
            fmt::format("{}:{}", live.at("host").get<std::string>(), live.at("port").get<int>()));
  EXPECT_EQ(live.at("path"), "/metrics");
  const Json ready = probe("readinessProbe").at("exec").at("command");
  std::string address = settings.metrics_address;
  address.replace(address.find(':'), 1, "/");
  EXPECT_NE(ready.at(2).get<std::string>().find("/dev/tcp/" + address + " "), std::string::npos);
}

/// Runs the command of the readiness probe, at another port.
int readiness(int port) {
  std::string command = probe("readinessProbe").at("exec").at("command").at(2);
  command.replace(command.find("9470"), 4, std::to_string(port));
  return test::run_shell("bash -c '" + std::regex_replace(command, std::regex("'"), "'\\''") + "'")
      .status;
}

TEST(KubernetesExample, IsReadyWhileItFollowsARuntime) {
  const std::string head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\npinfold_nri_connected 1\n";
  int unused = 0;
  {
    const OneAnswer healthy(head + "pinfold_nri_healthy 1\nlater 2\n");
    EXPECT_EQ(readiness(healthy.port()), 0);
    EXPECT_EQ(healthy.request(), "GET /metrics HTTP/1.0\r\n\r\n");
    unused = healthy.port();
  }
  const OneAnswer unhealthy(head + "pinfold_nri_healthy 0\n");
  EXPECT_EQ(readiness(unhealthy.port()), 1);
  EXPECT_EQ(readiness(unused), 1) << "nothing listens there";
}

}  // namespace
}  // namespace pinfold::service
