#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "agent_world.hpp"
#include "pinfold/agent/pod_logs.hpp"
#include "pinfold/agent/pods_file.hpp"
#include "pinfold/agent/status.hpp"
#include "pinfold/checkpoint/kubelet_files.hpp"
#include "pinfold/checkpoint/store.hpp"

namespace pinfold::agent {
namespace {

using test::guaranteed;
using test::must_admit;
using test::pod;
using test::TempDir;
using test::World;
using testing::IsEmpty;

constexpr const char* kDb = "53cac9656877e90a98f14c35f220e1a2";
constexpr const char* kWeb = "eb35f7641c00b4a429843aacf441622f";
constexpr std::int64_t kMiB = std::int64_t{1} << 20;

/// The two files that kubelet 1.36.2 left on a node of 8 CPUs while these pods ran.
constexpr const char* kCpuFile =
    R"({"policyName":"static","defaultCpuSet":"0-1,5","entries":{"53cac9656877e90a98f14c35f220e1a2":{"postgres":"2-3"},"eb35f7641c00b4a429843aacf441622f":{"back":"6-7","front":"4"}},"checksum":616396531})";
constexpr const char* kMemoryFile =
    R"({"policyName":"Static","machineState":{"0":{"numberOfAssignments":1,"memoryMap":{"hugepages-2Mi":{"total":0,"systemReserved":0,"allocatable":0,"reserved":0,"free":0},"memory":{"total":2044448768,"systemReserved":134217728,"allocatable":1910231040,"reserved":268435456,"free":1641795584}},"cells":[0]},"1":{"numberOfAssignments":2,"memoryMap":{"hugepages-2Mi":{"total":0,"systemReserved":0,"allocatable":0,"reserved":0,"free":0},"memory":{"total":2078732288,"systemReserved":0,"allocatable":2078732288,"reserved":167772160,"free":1910960128}},"cells":[1]}},"entries":{"53cac9656877e90a98f14c35f220e1a2":{"postgres":[{"numaAffinity":[0],"type":"memory","size":268435456}]},"eb35f7641c00b4a429843aacf441622f":{"back":[{"numaAffinity":[1],"type":"memory","size":100663296}],"front":[{"numaAffinity":[1],"type":"memory","size":67108864}]}},"checksum":1693163895})";

Node kubelet_node() {
  MachineDescription description;
  for (std::int32_t id = 0; id < 8; ++id) {
    const std::int32_t socket = id / 4;
    description.cpus.push_back(
        {CpuId{id}, CoreId{id / 2}, SocketId{socket}, NumaId{socket}, CacheId{socket}});
  }
  constexpr std::uint64_t kMemory[] = {2044448768, 2078732288};
  for (std::int32_t id = 0; id < 2; ++id) {
    NumaNode numa_node;
    numa_node.id = NumaId{id};
    numa_node.memory = kMemory[id];
    numa_node.hugepages = {{"hugepages-2Mi", 0}};
    numa_node.distances =
        id == 0 ? std::vector<std::uint32_t>{10, 20} : std::vector<std::uint32_t>{20, 10};
    description.numa_nodes.push_back(std::move(numa_node));
  }
  const auto parsed = parse_config(R"(
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: 0-1
topologyManagerPolicy: single-numa-node
memoryManagerPolicy: Static
systemReserved: {memory: 64Mi}
evictionHard: {memory.available: 64Mi}
reservedMemory:
- {numaNode: 0, limits: {memory: 128Mi}}
)");
  return std::move(*Node::make(*Machine::make(std::move(description)), parsed.value().config));
}

Container container(const std::string& name, std::int64_t cpus, std::int64_t memory) {
  Container out = guaranteed(name, cpus);
  out.resources.limits["memory"] = Quantity::bytes(memory);
  out.resources.requests = out.resources.limits;
  return out;
}
PodSpec db() { return pod(kDb, {container("postgres", 2, 256 * kMiB)}); }
PodSpec web() {
  return pod(kWeb, {container("front", 1, 64 * kMiB), container("back", 2, 96 * kMiB)});
}

/// The state directory of a node that a kubelet has run until now, and agents that open it.
class KubeletNode : public testing::Test {
 protected:
  KubeletNode() {
    put(checkpoint::kCpuFileName, kCpuFile);
    put(checkpoint::kMemoryFileName, kMemoryFile);
  }
  void put(std::string_view name, const std::string& text) const {
    std::ofstream(dir_ / std::string(name)) << text;
  }
  [[nodiscard]] NodeAgent open(const std::string& pod_logs = "") const {
    AgentOptions options;
    options.pod_logs = pod_logs;
    options.state_dir = dir_.path();
    auto agent = NodeAgent::open(kubelet_node(), checkpoint::Store::open(dir_.path()).value(),
                                 std::nullopt, std::move(options));
    if (!agent) throw std::runtime_error(agent.error().message);
    return *std::move(agent);
  }
  static std::string cpus(const NodeAgent& agent, const ContainerId& id) {
    const CpuSet* const found = agent.state().node.cpu.assignments.find(id);
    return found == nullptr ? "none" : found->to_string();
  }

  TempDir dir_;
};

TEST_F(KubeletNode, ShowsWhatItHolds) {
  const NodeAgent agent = open();
  const NodeStatus status = node_status(agent).value();
  ASSERT_EQ(status.held.size(), 3U);
  EXPECT_EQ(id_of(status.held[0].container), (ContainerId{PodUid(kDb), "postgres"}));
  EXPECT_EQ(status.held[0].cpus.to_string(), "2-3");
  EXPECT_EQ(status.held[0].mems.to_string(), "0");
  EXPECT_EQ(id_of(status.held[1].container), (ContainerId{PodUid(kWeb), "back"}));
  EXPECT_EQ(status.held[2].cpus.to_string(), "4");
  EXPECT_THAT(status.pods, IsEmpty());
}

TEST_F(KubeletNode, NamesHeldPodsByTheirDirectoriesOfLogs) {
  const TempDir logs;
  std::filesystem::create_directory(logs / ("shop_db_" + std::string(kDb)));
  std::filesystem::create_directory(logs / "shop_gone_0123");
  {
    const NodeAgent agent = open(logs.path());
    const NodeStatus status = node_status(agent).value();
    ASSERT_EQ(status.held.size(), 3U);
    EXPECT_EQ(to_string(status.held[0].container), "shop/db/postgres");
    EXPECT_EQ(to_string(status.held[1].container), std::string(kWeb) + "/back") << "has no logs";
    const std::vector<DecidedPod> pods = decided_pods(agent);
    ASSERT_EQ(pods.size(), 2U);
    EXPECT_EQ(to_string(ref_of(pods[0].spec)), "shop/db");
  }
  const NodeAgent agent = open(logs / "absent");
  EXPECT_EQ(node_status(agent).value().held.at(0).container.pod.name, "");
}

TEST(PodLogs, NamesOfDirectories) {
  const auto name = [](std::string_view directory) {
    const auto pod = parse_pod_log_name(directory);
    return pod ? to_string(*pod) + " " + pod->uid.value : "";
  };
  EXPECT_EQ(name("kube-system_etcd-a.b_1f0e"), "kube-system/etcd-a.b 1f0e");
  for (const char* const other :
       {"", "web", "shop_db", "_db_1f", "shop__1f", "shop_db_", "a_b_c_d", "a_.._c", "a_b/c_d"}) {
    EXPECT_EQ(name(other), "") << other;
  }
}

TEST_F(KubeletNode, NeverGivesHeldCpusToANewPod) {
  NodeAgent agent = open();
  must_admit(agent, pod("new", {container("c", 1, 64 * kMiB)}));
  EXPECT_EQ(cpus(agent, {PodUid("new"), "c"}), "5") << "the only free CPU";
  const auto rejected = agent.admit(pod("more", {container("c", 1, 64 * kMiB)}));
  EXPECT_TRUE(rejected.value().rejection.has_value());
  EXPECT_EQ(agent.state().node.held, (std::set{PodUid(kDb), PodUid(kWeb)}));
}

TEST_F(KubeletNode, LetsItsPodsKeepTheirCpusInAnyOrder) {
  std::vector<PodSpec> pods = {db(), web(), pod("new", {container("c", 1, 64 * kMiB)})};
  const auto by_uid = [](const PodSpec& a, const PodSpec& b) { return a.uid < b.uid; };
  std::sort(pods.begin(), pods.end(), by_uid);
  do {
    put(checkpoint::kCpuFileName, kCpuFile);
    put(checkpoint::kMemoryFileName, kMemoryFile);
    std::filesystem::remove(dir_ / std::string(checkpoint::kPodsFileName));
    NodeAgent agent = open();
    const auto outcomes = agent.admit(pods);
    for (const AdmitOutcome& outcome : outcomes.value()) {
      EXPECT_FALSE(outcome.rejection) << outcome.rejection->message;
    }
    EXPECT_EQ(cpus(agent, {PodUid(kDb), "postgres"}), "2-3");
    EXPECT_EQ(cpus(agent, {PodUid(kWeb), "front"}), "4");
    EXPECT_EQ(cpus(agent, {PodUid(kWeb), "back"}), "6-7");
    EXPECT_EQ(cpus(agent, {PodUid("new"), "c"}), "5");
    EXPECT_THAT(agent.state().node.held, IsEmpty());
  } while (std::next_permutation(pods.begin(), pods.end(), by_uid));
}

TEST_F(KubeletNode, HoldsOverARestart) {
  {
    NodeAgent agent = open();
    must_admit(agent, web());
  }
  const NodeAgent agent = open();
  EXPECT_EQ(agent.state().node.held, std::set{PodUid(kDb)});
  EXPECT_EQ(cpus(agent, {PodUid(kDb), "postgres"}), "2-3");
}

TEST_F(KubeletNode, HoldsWhatAKubeletAdmittedInBetween) {
  {
    NodeAgent agent = open();
    must_admit(agent, web());
    must_admit(agent, db());
    ASSERT_TRUE(agent.remove_pod(PodUid(kDb), RunningProcesses::kRefuse).has_value());
  }
  put(checkpoint::kCpuFileName, kCpuFile);
  put(checkpoint::kMemoryFileName, kMemoryFile);
  EXPECT_EQ(open().state().node.held, std::set{PodUid(kDb)});
}

TEST_F(KubeletNode, ReleasesOnePodOrAllUnknownOnesOnlyWhenAsked) {
  NodeAgent agent = open();
  ASSERT_TRUE(agent.remove_pod(PodUid(kDb), RunningProcesses::kRefuse).has_value());
  EXPECT_EQ(cpus(agent, {PodUid(kDb), "postgres"}), "none");
  EXPECT_EQ(cpus(agent, {PodUid(kWeb), "front"}), "4");
  ASSERT_TRUE(agent.release_unknown().has_value());
  EXPECT_EQ(agent.state().node.cpu.default_set, CpuSet::range(0, 7));
  EXPECT_TRUE(agent.state().node.memory.assignments.empty());
  EXPECT_THAT(node_status(agent).value().held, IsEmpty());
}

/// A kubelet's pod that no longer fits is rejected but still runs.
TEST_F(KubeletNode, HoldsAPodThatItRejects) {
  for (const Profile profile : {Profile::kFixed, Profile::kKubelet136}) {
    Config config = kubelet_node().config();
    config.profile = profile;
    const Node node = std::move(*Node::make(kubelet_node().machine(), config));
    NodeState state;
    state.cpu.default_set = CpuSet({0, 1, 5});
    state.cpu.assignments[{PodUid(kDb), "postgres"}] = CpuSet({2, 3});
    state.cpu.assignments[{PodUid(kWeb), "front"}] = CpuSet({4, 6, 7});
    ASSERT_TRUE(node.memory().start(state.memory).has_value());
    state.held = {PodUid(kDb), PodUid(kWeb)};
    PodSpec larger = db();
    larger.containers.push_back(container("more", 8, kMiB));
    const Decision decision = decide(node, state, larger);
    const auto* const rejected = std::get_if<Rejected>(&decision);
    ASSERT_NE(rejected, nullptr);
    EXPECT_EQ(rejected->next.held, state.held);
    EXPECT_EQ(rejected->next.cpu.assignments.find({PodUid(kDb), "postgres"})->to_string(), "2-3");
    EXPECT_EQ(release_stale(node, rejected->next).cpu.assignments, state.cpu.assignments);
  }
}

/// With the kubelet's quirks a rejection leaves assignments, which the next admission releases.
/// They are known, so a restart does not hold them.
TEST(HeldPods, AreNotThoseThatWereRejected) {
  AgentState state;
  state.node.cpu.assignments[{PodUid("rejected"), "a"}] = CpuSet{2};
  state.node.cpu.assignments[{PodUid("unknown"), "a"}] = CpuSet{3};
  state.node.held = {PodUid("unknown")};
  AgentState read;
  read.node.cpu = state.node.cpu;
  ASSERT_TRUE(decode_pods(encode_pods(state), read).has_value());
  EXPECT_EQ(read, state);
}

/// If .pinfold_pods is lost, the groups of its pods are strays; they keep their CPUs.
TEST(HeldPods, KeepTheirCpusIfTheirGroupsAreOurs) {
  World world;
  {
    NodeAgent agent = world.open();
    must_admit(agent, pod("x", {guaranteed("a", 2)}));
    ASSERT_TRUE(world.kernel.fs()->write("podx/a", "cgroup.procs", "77").has_value());
  }
  std::filesystem::remove(world.state / std::string(checkpoint::kPodsFileName));
  NodeAgent agent = world.open();
  must_admit(agent, pod("y", {guaranteed("a", 2)}));
  EXPECT_EQ(world.cpus("podx/a"), "1-2");
  EXPECT_EQ(world.cpus("pody/a"), "3-4");
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  EXPECT_EQ(world.cpus("podx/a"), "1-2");
}

}  // namespace
}  // namespace pinfold::agent
