#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "../../crash/memory_fs.hpp"
#include "agent_world.hpp"
#include "pinfold/agent/metrics.hpp"
#include "pinfold/agent/process_list.hpp"
#include "pinfold/agent/reconcile.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/checkpoint/store.hpp"

/// Side files that cannot be read or written: their contents are lost, but never a decision.
namespace pinfold::agent {
namespace {

using checkpoint::testing::Disk;
using checkpoint::testing::MemoryFs;
using test::guaranteed;
using test::must_admit;
using test::pod;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kSideFiles[] = {kMetricsFileName, kProcessesFileName};

bool is_of_side_file(const std::string& operation) {
  return std::any_of(std::begin(kSideFiles), std::end(kSideFiles), [&](std::string_view name) {
    return operation.find(name) != std::string::npos;
  });
}

/// An agent without cgroups on a disk in memory that fills up.
struct FullDisk {
  [[nodiscard]] NodeAgent open() {
    auto fs = std::make_unique<MemoryFs>(disk, [this](const std::string& operation) {
      return MemoryFs::Fault{fails(operation) ? ENOSPC : 0, false};
    });
    AgentOptions options;
    options.log = [this](LogLevel level, std::string_view message) {
      if (level == LogLevel::kWarning) warnings.emplace_back(message);
    };
    return NodeAgent::open(test::static_node(), checkpoint::Store::open(std::move(fs)).value(),
                           std::nullopt, std::move(options))
        .value();
  }

  std::shared_ptr<Disk> disk = std::make_shared<Disk>();
  std::function<bool(const std::string& operation)> fails = [](const std::string&) {
    return false;
  };
  std::vector<std::string> warnings;
};

TEST(SideFiles, WriteFailureKeepsTheDecision) {
  FullDisk full;
  full.fails = is_of_side_file;
  {
    NodeAgent agent = full.open();
    must_admit(agent, pod("x", {guaranteed("a", 2)}));
    EXPECT_EQ(agent.metrics().counts[Counter::kTopologyRequests], 1U);
    EXPECT_TRUE(agent.checkpoint_journal());
  }
  EXPECT_THAT(full.warnings, Contains(HasSubstr("side file '.pinfold_metrics': ")));
  NodeAgent agent = full.open();
  EXPECT_NE(agent.state().node.find(PodUid("x")), nullptr);
  EXPECT_EQ(agent.metrics(), Metrics{}) << "these counts were never written";
}

TEST(SideFiles, AreWrittenOnceTheDiskHasSpace) {
  FullDisk full;
  {
    NodeAgent agent = full.open();
    must_admit(agent, pod("x", {guaranteed("a", 2)}));
    EXPECT_TRUE(agent.checkpoint_journal());
    full.fails = is_of_side_file;
    must_admit(agent, pod("y", {guaranteed("a", 1)}));
    EXPECT_TRUE(agent.checkpoint_journal());
  }
  {
    NodeAgent agent = full.open();
    EXPECT_EQ(agent.metrics().counts[Counter::kTopologyRequests], 1U)
        << "a file that cannot be replaced stays as it was";
    full.fails = [](const std::string&) { return false; };
    must_admit(agent, pod("z", {guaranteed("a", 1)}));
    EXPECT_TRUE(agent.checkpoint_journal());
  }
  EXPECT_EQ(full.open().metrics().counts[Counter::kTopologyRequests], 2U);
}

/// The journal has the decision, but the disk has no room for the kubelet's files.
TEST(NodeAgentOnAFullDisk, SaysWhatIsNotSettledAndSettlesLater) {
  FullDisk full;
  NodeAgent agent = full.open();
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  ASSERT_TRUE(agent.checkpoint_journal());
  const auto cpu_file = [&] {
    return full.disk->inodes[full.disk->names.at("cpu_manager_state")].now;
  };
  const std::string before = cpu_file();
  full.fails = [](const std::string& operation) { return operation.starts_with("rename"); };
  const auto admitted = agent.admit(pod("y", {guaranteed("a", 2)}));
  ASSERT_TRUE(admitted) << admitted.error().message;
  EXPECT_FALSE(admitted->rejection);
  const auto settled = agent.checkpoint_journal();
  ASSERT_FALSE(settled);
  EXPECT_EQ(settled.error().sys_errno, ENOSPC);
  EXPECT_EQ(cpu_file(), before);
  EXPECT_FALSE(agent.remove_pod(PodUid("y"), RunningProcesses::kRefuse)) << "still full";
  EXPECT_NE(agent.state().node.find(PodUid("y")), nullptr);
  full.fails = [](const std::string&) { return false; };
  EXPECT_TRUE(agent.checkpoint_journal());
  EXPECT_NE(cpu_file(), before);
  const auto removed = agent.remove_pod(PodUid("y"), RunningProcesses::kRefuse);
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_TRUE(agent.checkpoint_journal());
  EXPECT_EQ(cpu_file(), before);
}

TEST(Metrics, CountNothingThatWasNotCommitted) {
  FullDisk full;
  NodeAgent agent = full.open();
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  const Metrics before = agent.metrics();
  full.fails = [](const std::string&) { return true; };
  ASSERT_FALSE(agent.admit(pod("y", {guaranteed("a", 2)})).has_value());
  EXPECT_EQ(agent.metrics(), before);
  full.fails = [](const std::string&) { return false; };
  must_admit(agent, pod("y", {guaranteed("a", 2)}));
  EXPECT_EQ(agent.metrics().counts[Counter::kTopologyRequests], 2U);
}

TEST(Metrics, CountNothingInADryRun) {
  const test::TempDir dir;
  AgentOptions options;
  options.dry_run = true;
  NodeAgent agent =
      NodeAgent::open(test::static_node(), checkpoint::Store::open(dir.path()).value(),
                      std::nullopt, std::move(options))
          .value();
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  EXPECT_NE(agent.state().node.find(PodUid("x")), nullptr);
  EXPECT_EQ(agent.metrics(), Metrics{});
}

TEST(SideFiles, AreReportedAndReplacedIfUnreadable) {
  test::World world;
  for (const std::string_view name : kSideFiles) {
    world.state.write(std::string(name), "#");
  }
  std::vector<std::string> warnings;
  AgentOptions options;
  options.log = [&](LogLevel level, std::string_view message) {
    if (level == LogLevel::kWarning) warnings.emplace_back(message);
  };
  {
    NodeAgent agent = world.try_open({}, options).value();
    must_admit(agent, pod("x", {guaranteed("a", 2)}));
    EXPECT_THAT(reconcile(agent).value().drift, IsEmpty());
    EXPECT_TRUE(agent.checkpoint_journal());
  }
  for (const std::string_view name : kSideFiles) {
    EXPECT_THAT(warnings, Contains(HasSubstr("side file '" + std::string(name) + "': ")));
  }
  warnings.clear();
  NodeAgent agent = world.try_open({}, options).value();
  EXPECT_EQ(agent.metrics().counts[Counter::kTopologyRequests], 1U);
  EXPECT_THAT(reconcile(agent).value().drift, IsEmpty());
  EXPECT_THAT(warnings, IsEmpty());
}

/// The kernel can reuse a pid once its process has ended.
TEST(SideFiles, DistinguishProcessesWithAReusedPid) {
  test::World world;
  NodeAgent agent = world.open();
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  const auto self = enforce::identify(::getpid());
  ASSERT_TRUE(self);
  const auto put = [&](const enforce::ProcessId& process) {
    std::ofstream(world.state / std::string(kProcessesFileName))
        << encode_processes({{"podx/a", {process}}});
  };
  put({self->pid, self->start_time - 1});
  EXPECT_THAT(reconcile(agent).value().drift, IsEmpty());
  EXPECT_THAT(world.kernel.find("podx/a")->processes, IsEmpty());
  put(*self);
  EXPECT_THAT(reconcile(agent).value().drift, Contains(HasSubstr("podx/a: process ")));
  EXPECT_THAT(world.kernel.find("podx/a")->processes, Contains(self->pid));
}

}  // namespace
}  // namespace pinfold::agent
