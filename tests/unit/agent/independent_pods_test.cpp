#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "agent_world.hpp"
#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/agent/reconcile.hpp"
#include "pinfold/agent/status.hpp"
#include "pinfold/checkpoint/store.hpp"

/// A failure for one pod affects only that pod: for each control file, each errno and both cgroup
/// versions.
namespace pinfold::agent {
namespace {

using enforce::CgroupVersion;
using test::best_effort;
using test::guaranteed;
using test::ModelKernel;
using test::must_admit;
using test::pod;
using test::World;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr int kErrors[] = {EINVAL, EBUSY, EACCES, ENOSPC, ENOENT, EIO};
constexpr const char* kMake = "mkdir";

std::vector<std::string> control_files(CgroupVersion version) {
  if (version == CgroupVersion::kV1) {
    return {
        "cpuset.cpus", "cpuset.mems",           "cpu.cfs_quota_us",           "cpu.cfs_period_us",
        "cpu.shares",  "memory.limit_in_bytes", "hugetlb.2MB.limit_in_bytes", kMake};
  }
  return {"cpuset.cpus",
          "cpuset.mems",
          "cpu.max",
          "cpu.weight",
          "memory.max",
          "hugetlb.2MB.max",
          "cgroup.subtree_control",
          kMake};
}

/// Returns a shared container with every value set.
Container limited(const std::string& name) {
  Container container = test::half_a_cpu(name);
  container.resources.limits["hugepages-2Mi"] = Quantity::bytes(std::int64_t{2} << 20);
  container.resources.requests = container.resources.limits;
  return container;
}

Node node_with_pages() {
  MachineDescription description = test::two_sockets().description();
  for (NumaNode& numa : description.numa_nodes) {
    numa.hugepages["hugepages-2Mi"] = std::uint64_t{64} << 20;
  }
  return Node::make(Machine::make(std::move(description)).value(), test::reserving("0")).value();
}

/// Pods "bad", "shared" and "other" run; then writes of one file fail for one pod.
struct FaultyWorld : World {
  explicit FaultyWorld(CgroupVersion version) : World(version), agent(open_with_pages()) {
    must_admit(agent, pod("bad", {limited("c")}));
    must_admit(agent, pod("shared", {best_effort("c")}));
    must_admit(agent, pod("other", {guaranteed("c", 2)}));
  }
  [[nodiscard]] NodeAgent open_with_pages() {
    AgentOptions options;
    options.state_dir = state.path();
    return NodeAgent::open(node_with_pages(), checkpoint::Store::open(state.path()).value(),
                           kernel.cgroups(), options)
        .value();
  }
  void break_file(const std::string& of_pod, const std::string& file, int error) {
    kernel.fault = [=](const char* what, const std::string& group, const std::string& name) {
      const bool is_its = group == "pod" + of_pod || group.starts_with("pod" + of_pod + "/");
      const bool is_it = file == kMake ? std::strcmp(what, "create") == 0
                                       : std::strcmp(what, "write") == 0 && name == file;
      return is_its && is_it ? error : 0;
    };
  }
  /// Changes the file or removes the group, as another program would.
  void drift(const std::string& file) {
    ModelKernel::Dir& dir = *kernel.find("podbad/c");
    if (file == kMake) {
      kernel.find("podbad")->children.erase("c");
    } else if (file == "cgroup.subtree_control") {
      ASSERT_TRUE(kernel.fs()->write("podbad", file, "-memory").has_value());
    } else if (file.starts_with("cpuset.")) {
      dir.files[file] = "0";
    } else if (file == "cpu.max") {
      dir.files[file] = "1000 100000";
    } else {
      dir.files[file] = "4096";
    }
  }
  [[nodiscard]] bool is_pod_ok(const char* uid) const {
    return is_ok(pod_status(agent, PodUid(uid)).value());
  }

  NodeAgent agent;
};

class IndependentPods : public testing::TestWithParam<CgroupVersion> {};

TEST_P(IndependentPods, ANewPodThatFailsFailsAlone) {
  for (const std::string& file : control_files(GetParam())) {
    for (const int error : kErrors) {
      // A new group already has the desired value.
      if (GetParam() == CgroupVersion::kV2 && file == "cpuset.mems") continue;
      if (file == "cpu.cfs_period_us") continue;
      SCOPED_TRACE(file + ": " + std::strerror(error));
      FaultyWorld world(GetParam());
      NodeAgent& agent = world.agent;
      world.break_file("new", file, error);
      const auto outcome = agent.admit(pod("new", {limited("c")})).value();
      ASSERT_FALSE(outcome.rejection) << outcome.rejection->message;
      ASSERT_TRUE(outcome.not_enforced);
      EXPECT_THAT(outcome.not_enforced->message, HasSubstr("podnew"));
      EXPECT_FALSE(world.is_pod_ok("new"));
      EXPECT_FALSE(node_status(agent).value().ok);
      must_admit(agent, pod("later", {guaranteed("c", 1)}));
      for (const char* const uid : {"bad", "shared", "other", "later"}) {
        EXPECT_TRUE(world.is_pod_ok(uid)) << uid;
      }
      const auto report = reconcile(agent).value();
      EXPECT_THAT(report.remaining, Not(IsEmpty()));
      EXPECT_THAT(report.remaining, Each(StartsWith("podnew")));
      world.kernel.fault = nullptr;
      EXPECT_THAT(reconcile(agent).value().remaining, IsEmpty());
      EXPECT_TRUE(node_status(agent).value().ok);
    }
  }
}

TEST_P(IndependentPods, ARunningPodThatFailsFailsAlone) {
  for (const std::string& file : control_files(GetParam())) {
    for (const int error : kErrors) {
      SCOPED_TRACE(file + ": " + std::strerror(error));
      FaultyWorld world(GetParam());
      NodeAgent& agent = world.agent;
      world.drift(file);
      world.break_file("bad", file, error);
      const auto report = reconcile(agent).value();
      EXPECT_THAT(report.remaining, Not(IsEmpty()));
      EXPECT_THAT(report.remaining, Each(StartsWith("podbad")));
      EXPECT_FALSE(world.is_pod_ok("bad"));
      // Its CPUs are not exclusive, so no other pod waits for them.
      must_admit(agent, pod("best", {best_effort("c")}));
      must_admit(agent, pod("new", {guaranteed("c", 1)}));
      ASSERT_FALSE(
          agent.remove_pod(PodUid("other"), RunningProcesses::kRefuse).value().not_enforced);
      for (const char* const uid : {"shared", "best", "new"}) {
        EXPECT_TRUE(world.is_pod_ok(uid)) << uid;
      }
      EXPECT_FALSE(world.is_pod_ok("bad"));
      EXPECT_FALSE(node_status(agent).value().ok);
      world.kernel.fault = nullptr;
      EXPECT_THAT(reconcile(agent).value().remaining, IsEmpty());
      EXPECT_TRUE(node_status(agent).value().ok);
    }
  }
}

/// The only dependency between pods: a container that keeps CPUs which another one needs.
TEST_P(IndependentPods, OnlyThePodThatNeedsItsCpusWaits) {
  for (const int error : kErrors) {
    SCOPED_TRACE(std::strerror(error));
    FaultyWorld world(GetParam());
    NodeAgent& agent = world.agent;
    world.break_file("bad", "cpuset.cpus", error);
    must_admit(agent, pod("best", {best_effort("c")}));
    const auto outcome = agent.admit(pod("new", {guaranteed("c", 1)})).value();
    ASSERT_TRUE(outcome.not_enforced);
    EXPECT_THAT(outcome.not_enforced->message,
                HasSubstr("'podbad/c' still has CPU 3: podbad/c: cpuset.cpus := 0,4-7: "));
    EXPECT_NE(world.cpus("podnew/c"), "3");
    for (const char* const uid : {"shared", "other", "best"}) {
      EXPECT_TRUE(world.is_pod_ok(uid)) << uid;
    }
    world.kernel.fault = nullptr;
    EXPECT_THAT(reconcile(agent).value().remaining, IsEmpty());
    EXPECT_EQ(world.cpus("podnew/c"), "3");
  }
}

/// Sets cpu.idle, as a QoS agent does for a batch pod, or systemd for CPUWeight=idle.
TEST_P(IndependentPods, AnIdlePodIsItsOwnProblem) {
  World world(GetParam());
  std::vector<std::string> log;
  AgentOptions options;
  options.log = [&](LogLevel, std::string_view text) { log.emplace_back(text); };
  auto agent = world.try_open({}, options).value();
  must_admit(agent, pod("batch", {best_effort("w")}));
  for (const char* const group : {"podbatch", "podbatch/w"}) {
    ASSERT_TRUE(world.kernel.fs()->write(group, "cpu.idle", "1").has_value());
  }
  auto later = world.try_open({}, options).value();
  must_admit(later, pod("a", {guaranteed("m", 1)}));
  EXPECT_EQ(world.cpus("poda/m"), "1");
  EXPECT_EQ(world.cpus("podbatch/w"), "0,2-7");
  EXPECT_THAT(log, testing::Contains(StartsWith("podbatch/w: cpu.idle is 1, so cpu.")));
  EXPECT_TRUE(is_ok(pod_status(later, PodUid("a")).value()));
  const PodStatus batch = pod_status(later, PodUid("batch")).value();
  EXPECT_FALSE(is_ok(batch));
  EXPECT_THAT(batch.problem, StartsWith("cpu."));
  EXPECT_THAT(batch.containers.at(0).problem, StartsWith("cpu."));
  EXPECT_THAT(reconcile(later).value().remaining, testing::SizeIs(2));
  EXPECT_FALSE(later.layout()->is_dirty()) << "what the kernel has is known";
}

INSTANTIATE_TEST_SUITE_P(Versions, IndependentPods,
                         testing::Values(CgroupVersion::kV1, CgroupVersion::kV2),
                         [](const auto& version) {
                           return version.param == CgroupVersion::kV1 ? "V1" : "V2";
                         });

}  // namespace
}  // namespace pinfold::agent
