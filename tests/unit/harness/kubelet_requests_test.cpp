#include "guest/kubelet_requests.hpp"

#include <gtest/gtest.h>

#include "node_fixture.hpp"

namespace pinfold::harness {
namespace {

/// Two NUMA nodes with a CPU and 1 GiB each.
VmMachine two_gib() {
  VmMachine machine;
  machine.sockets = 2;
  machine.nodes = {{CpuSet{0}, 1024 * kMiB, {}}, {CpuSet{1}, 1024 * kMiB, {}}};
  machine.distances = {{10, 20}, {20, 10}};
  return machine;
}

PodRequests requests_of(const std::string& manifest) {
  auto requests = kubelet_requests(two_gib(), manifest);
  EXPECT_TRUE(requests) << manifest << ": " << requests.error().message;
  return std::move(*requests);
}

/// A pod with these containers, in the flow style of YAML.
std::string pod_with(const std::string& containers) {
  return "{metadata: {name: p, namespace: n, uid: u}, spec: {containers: [" + containers + "]}}";
}

// The amounts are those of kubelet 1.36.2 (kuberuntime): shares = 1024 * CPUs, at least 2; quota
// and memory from the limits; oom_score_adj by the QoS class, for Burstable 1000 minus the
// requested thousandths of the node's memory (2 GiB).
TEST(KubeletRequests, HaveTheAmountsOfAKubelet) {
  const struct {
    const char* resources;
    const char* parent;
    Json container;
    Json sandbox;
  } cases[] = {
      {"{}",
       "/kubepods/besteffort/podu",
       {{"cpu_shares", 2}, {"cpu_period", 100000}, {"cpu_quota", 0}, {"oom_score_adj", 1000}},
       {{"cpu_shares", 2}, {"cpu_period", 100000}, {"cpu_quota", 0}}},
      {"{requests: {cpu: 250m, memory: 512Mi}, limits: {cpu: 1500m}}",
       "/kubepods/burstable/podu",
       {{"cpu_shares", 256}, {"cpu_period", 100000}, {"cpu_quota", 150000}, {"oom_score_adj", 750}},
       {{"cpu_shares", 256}, {"cpu_period", 100000}, {"cpu_quota", 150000}}},
      {"{limits: {cpu: 2, memory: 128Mi}}",
       "/kubepods/podu",
       {{"cpu_shares", 2048},
        {"cpu_period", 100000},
        {"cpu_quota", 200000},
        {"memory_limit_in_bytes", 134217728},
        {"oom_score_adj", -997}},
       {{"cpu_shares", 2048},
        {"cpu_period", 100000},
        {"cpu_quota", 200000},
        {"memory_limit_in_bytes", 134217728}}},
  };
  for (const auto& c : cases) {
    const PodRequests pod =
        requests_of(pod_with(std::string("{name: c, resources: ") + c.resources + "}"));
    EXPECT_EQ(pod.cgroup_parent, c.parent) << c.resources;
    EXPECT_EQ(pod.sandbox["linux"]["cgroup_parent"], c.parent) << c.resources;
    EXPECT_EQ(pod.sandbox["linux"]["resources"], c.sandbox) << c.resources;
    EXPECT_EQ(pod.containers.at("c")["linux"]["resources"], c.container) << c.resources;
  }
}

TEST(KubeletRequests, AddTheContainersUpForTheSandbox) {
  const PodRequests pod =
      requests_of(pod_with("{name: a, resources: {requests: {cpu: 1}, limits: {memory: 64Mi}}}, "
                           "{name: b, resources: {limits: {cpu: 500m, memory: 64Mi}}}"));
  EXPECT_EQ(pod.sandbox["linux"]["resources"], (Json{{"cpu_shares", 1536},
                                                     {"cpu_period", 100000},
                                                     {"cpu_quota", 50000},
                                                     {"memory_limit_in_bytes", 134217728}}));
  EXPECT_EQ(pod.containers.size(), 2U);
}

TEST(KubeletRequests, CountTheAmountsOfThePod) {
  const PodRequests pod = requests_of(
      "{metadata: {name: p, uid: u}, spec: {resources: "
      "{requests: {cpu: 3, memory: 256Mi}, limits: {cpu: 3, memory: 256Mi}}, "
      "containers: [{name: a, resources: {limits: {cpu: 1, memory: 64Mi}}}, {name: b}]}}");
  EXPECT_EQ(pod.cgroup_parent, "/kubepods/podu");
  EXPECT_EQ(pod.sandbox["linux"]["resources"]["cpu_quota"], 300000);
  EXPECT_EQ(pod.containers.at("a")["linux"]["resources"]["cpu_quota"], 100000);
  EXPECT_EQ(pod.containers.at("b")["linux"]["resources"]["cpu_quota"], 300000);
}

TEST(KubeletRequests, HaveTheCpusetsOfTheManagers) {
  const Json manifest = {{"metadata", {{"name", "p"}}}, {"spec", Json::object()}};
  test::TestNode node(test::NodeShape{},
                      test::with_memory_manager(test::aligning_config("single-numa-node")));
  ASSERT_EQ(node.admit(test::pod("exclusive", {{"cpu", "2"}, {"memory", "1Gi"}})), "");
  ASSERT_EQ(node.admit(test::pod("shared", {{"cpu", "500m"}, {"memory", "1Gi"}})), "");
  const auto resources = [&](std::size_t pod) {
    return kubelet_requests(node.node(), node.state(), node.state().pods[pod], manifest)
        .containers.at("c")["linux"]["resources"];
  };
  EXPECT_EQ(resources(0)["cpuset_cpus"], "1-2");
  EXPECT_EQ(resources(0)["cpuset_mems"], "0");
  EXPECT_EQ(resources(0)["cpu_quota"], -1) << "nothing throttles exclusive CPUs";
  EXPECT_EQ(resources(1)["cpuset_cpus"], "0,3-15");
  const Json without = requests_of(pod_with("{name: c, resources: {limits: {cpu: 2}}}"))
                           .containers.at("c")["linux"]["resources"];
  EXPECT_FALSE(without.contains("cpuset_cpus")) << "no CPU manager";
}

TEST(KubeletRequests, PassTheMetadataOn) {
  const PodRequests pod = requests_of(
      "{metadata: {name: p, namespace: n, uid: u, annotations: {a: b}, labels: {l: m}}, "
      "spec: {containers: [{name: c}]}}");
  EXPECT_EQ(pod.sandbox["metadata"], (Json{{"name", "p"}, {"namespace", "n"}, {"uid", "u"}}));
  EXPECT_EQ(pod.sandbox["annotations"], (Json{{"a", "b"}}));
  EXPECT_EQ(pod.sandbox["labels"], (Json{{"l", "m"},
                                         {"io.kubernetes.pod.name", "p"},
                                         {"io.kubernetes.pod.namespace", "n"},
                                         {"io.kubernetes.pod.uid", "u"}}));
  EXPECT_EQ(pod.sandbox["linux"]["security_context"]["namespace_options"]["network"], "NODE");
  EXPECT_EQ(pod.containers.at("c")["metadata"]["name"], "c");
}

TEST(KubeletRequests, ReplaceImagesThatTheGuestCannotHave) {
  const PodRequests pod = requests_of(
      pod_with("{name: a, image: postgres, command: [postgres]}, {name: b}, "
               "{name: c, image: 'localhost/pause:1', command: [/pause], args: [pause]}"));
  for (const char* const name : {"a", "b"}) {
    EXPECT_EQ(pod.containers.at(name)["image"]["image"], "localhost/busybox:1") << name;
    EXPECT_FALSE(pod.containers.at(name).contains("command")) << name;
  }
  const Json& own = pod.containers.at("c");
  EXPECT_EQ(own["image"]["image"], "localhost/pause:1");
  EXPECT_EQ(own["command"], (Json{"/pause"}));
  EXPECT_EQ(own["args"], (Json{"pause"}));
}

TEST(KubeletRequests, RejectWhatIsNoPod) {
  const auto requests = kubelet_requests(two_gib(), "{metadata: {name: p}, spec: {containers: 3}}");
  ASSERT_FALSE(requests);
  EXPECT_EQ(requests.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace pinfold::harness
