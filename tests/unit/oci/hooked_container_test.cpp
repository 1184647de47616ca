#include "hook/hooked_container.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

#include "model_kernel.hpp"
#include "node_samples.hpp"
#include "pinfold/agent/assigned_files.hpp"
#include "pinfold/agent/reconcile.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "pinfold/enforce/process_table.hpp"
#include "temp_dir.hpp"

/// The effect of the hook on a node, with a kernel in memory.
namespace pinfold::tools {
namespace {

using test::guaranteed;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class HookedContainer : public testing::Test {
 protected:
  HookedContainer() {
    (void)kernel_.cgroups();  // enables the controllers
    for (const char* name : {"run-a", "run-b"}) {
      (void)kernel_.fs()->make_group(name);
      start_process(name);
    }
  }
  [[nodiscard]] agent::NodeAgent open() {
    agent::AgentOptions options;
    options.state_dir = state_.path();
    options.assigned_dir = state_ / "assigned";
    return agent::NodeAgent::open(test::static_node(),
                                  checkpoint::Store::open(state_.path()).value(), kernel_.cgroups(),
                                  std::move(options))
        .value();
  }
  /// Returns the error of admitting a container in a group; "" if there is none.
  [[nodiscard]] std::string admit(const HookRequest& request, const std::string& group) {
    agent::NodeAgent agent = open();
    const verbs::AdmitHooked action{
        request.pod, {request.container, "/model/" + group}, enforce::ProcessId{}};
    const auto done =
        answer_of(request, verbs::admit_hooked(agent, action, [this] { return end(); }));
    return done ? "" : done.error().message;
  }
  [[nodiscard]] std::string remove(const HookRequest& request) {
    agent::NodeAgent agent = open();
    const auto done =
        answer_of(request, verbs::remove_hooked(agent, {request.pod.uid, request.container}));
    return done ? "" : done.error().message;
  }
  [[nodiscard]] verbs::PreparedContainer prepare(const HookRequest& request,
                                                 const enforce::ProcessId& creator) {
    agent::NodeAgent agent = open();
    return verbs::prepare_hooked(agent, {request.pod, request.container, creator});
  }
  [[nodiscard]] std::string cpus(const std::string& group) {
    return kernel_.effective(*kernel_.find(group), "cpuset.cpus").to_string();
  }
  /// Starts a process with an unused PID, because the agent kills processes by PID.
  void start_process(const std::string& group) {
    (void)kernel_.fs()->write(group, "cgroup.procs", std::to_string(++process_));
  }
  void end_processes(const std::string& group) { kernel_.find(group)->processes.clear(); }

  std::string ends_;  ///< the group whose process ends during the admission

 private:
  bool end() {
    if (!ends_.empty()) end_processes(ends_);
    return !ends_.empty();
  }

  test::TempDir state_;
  int process_ = 0x7ffffff0;

 protected:
  test::ModelKernel kernel_{enforce::CgroupVersion::kV2, CpuSet::range(0, 7), CpuSet{0, 1}};
};

/// A container "secret-name" of a pod with the UID "secret-uid", from a pod file.
HookRequest secret(std::int64_t cpus) {
  PodSpec pod = test::pod("secret-uid", {guaranteed("secret-name", cpus)});
  pod.name = "secret";
  return {std::move(pod), "secret-name", "/pods/db.yaml"};
}

/// Returns a request from annotations.
HookRequest open_request(const std::string& uid, std::int64_t cpus) {
  return {test::pod(uid, {guaranteed("main", cpus)}), "main", ""};
}

TEST_F(HookedContainer, HasItsCpusUntilItIsRemoved) {
  EXPECT_EQ(admit(secret(2), "run-a"), "");
  EXPECT_EQ(cpus("run-a"), "1-2");
  EXPECT_EQ(admit(secret(2), "run-a"), "") << "the same once more";
  end_processes("run-a");
  EXPECT_EQ(remove(secret(2)), "");
  EXPECT_THAT(open().state().node.pods, IsEmpty());
  EXPECT_EQ(remove(secret(2)), "") << "nothing is left to do";
}

TEST_F(HookedContainer, KeepsItsCpusFromASecondOne) {
  ASSERT_EQ(admit(secret(2), "run-a"), "");
  EXPECT_EQ(admit(secret(2), "run-b"),
            "pod file '/pods/db.yaml': a container of this name is already running");
  EXPECT_EQ(admit(secret(3), "run-b"),
            "pod file '/pods/db.yaml': a different pod with its UID is active");
  EXPECT_THAT(admit(open_request("secret-uid", 1), "run-b"),
              HasSubstr("a different pod with the UID 'secret-uid' is active"));
  EXPECT_EQ(cpus("run-a"), "1-2");
  EXPECT_EQ(cpus("run-b"), "0,3-7");
  end_processes("run-a");
  {
    agent::NodeAgent agent = open();
    (void)agent::remove_abandoned(agent);
  }
  EXPECT_EQ(admit(secret(3), "run-b"), "");
  EXPECT_EQ(cpus("run-b"), "1-3");
}

/// The pod file has the UID of another pod, one of whose containers does not run yet.
TEST_F(HookedContainer, DoesNotTakeThePlaceOfAnothersContainer) {
  const PodSpec both = test::pod("shop", {guaranteed("main", 1), guaranteed("side", 1)});
  ASSERT_EQ(admit({both, "main", "/pods/shop.yaml"}, "run-a"), "");
  const PodSpec other = test::pod("shop", {guaranteed("side", 1)});
  EXPECT_THAT(admit({other, "side", "/pods/other.yaml"}, "run-b"),
              HasSubstr("a different pod with its UID is active"));
  EXPECT_FALSE(open().state().adopted.contains(ContainerId{PodUid("shop"), "side"}));
  EXPECT_EQ(admit({both, "side", "/pods/shop.yaml"}, "run-b"), "");
  EXPECT_EQ(cpus("run-b"), "2");
}

TEST_F(HookedContainer, RemovesOnlyWhatAHookAdmitted) {
  const HookRequest request = secret(2);
  ASSERT_TRUE(open().admit(request.pod).has_value());
  EXPECT_EQ(remove(request), "");
  EXPECT_NE(open().state().node.find(request.pod.uid), nullptr);
  EXPECT_FALSE(open().state().removed.contains({request.pod.uid, request.container}));
}

TEST_F(HookedContainer, IsRemovedIfItsProcessEndsMeanwhile) {
  ends_ = "run-a";
  EXPECT_EQ(admit(open_request("a", 2), "run-a"), "the container's process has ended");
  EXPECT_THAT(open().state().node.pods, IsEmpty());
  EXPECT_EQ(open().state().node.cpu.default_set, CpuSet::range(0, 7));
}

/// Its processes survive the kill, so they must not lose CPUs that they still use.
TEST_F(HookedContainer, StaysIfItsProcessesDoNotEnd) {
  ends_ = "run-b";
  EXPECT_EQ(admit(open_request("a", 2), "run-a"),
            "the container's process has ended; it is not removed: run 'pinfold reconcile'");
  EXPECT_EQ(open().state().node.pods.size(), 1U);
}

TEST_F(HookedContainer, QuotesNothingOfAPodFile) {
  EXPECT_EQ(admit(secret(20), "run-a"),
            "pod file '/pods/db.yaml': rejected, UnexpectedAdmissionError");
  EXPECT_THAT(admit(open_request("a", 20), "run-a"), HasSubstr("requested=20"));
  HookRequest huge = secret(1);
  huge.pod.containers[0].resources.limits["hugepages-31337Mi"] =
      huge.pod.containers[0].resources.requests["hugepages-31337Mi"] =
          Quantity::bytes(std::int64_t{31337} << 20U);
  EXPECT_EQ(admit(huge, "run-a"), "pod file '/pods/db.yaml': rejected, OutOfhugepages");

  EXPECT_EQ(admit(secret(1), "nowhere"),
            "pod file '/pods/db.yaml': the container is not admitted (not found)");
  EXPECT_EQ(admit(secret(1), ""),
            "pod file '/pods/db.yaml': the container is not admitted (invalid argument)");
  end_processes("run-a");  // otherwise the agent waits for their end
  kernel_.writes_until_failure = 1;
  const std::string failed = admit(secret(1), "run-a");
  EXPECT_THAT(failed, HasSubstr("pod file '/pods/db.yaml': its cpuset cannot be applied"));
  EXPECT_THAT(failed, Not(HasSubstr("secret")));
  kernel_.writes_until_failure = -1;
  start_process("run-a");

  ASSERT_EQ(admit(secret(1), "run-a"), "");
  EXPECT_EQ(remove(secret(1)), "pod file '/pods/db.yaml': processes run in its cgroup");
}

enforce::ProcessId this_process() { return enforce::identify(::getpid()).value(); }
/// A PID that no process has.
constexpr enforce::ProcessId kEnded{0x7fffff00, 1};

TEST_F(HookedContainer, IsToldItsCpusBeforeItIsMade) {
  const auto prepared = prepare(secret(2), this_process());
  const auto* const own = std::get_if<verbs::OwnResources>(&prepared);
  ASSERT_NE(own, nullptr) << std::get<verbs::Refusal>(prepared).error.message;
  EXPECT_EQ(own->values, (agent::AssignedValues{"1-2", "0-1", "1-2", ""}));
  EXPECT_THAT(own->directory, testing::EndsWith("/assigned/secret-uid/secret-name"));
  EXPECT_EQ(read_file(own->directory + "/cpus"), "1-2\n");
  EXPECT_EQ(prepare(secret(2), this_process()), prepared) << "the same once more";
  EXPECT_EQ(admit(secret(2), "run-a"), "");
  EXPECT_EQ(cpus("run-a"), "1-2");
  EXPECT_THAT(open().state().creators, IsEmpty());
  end_processes("run-a");
  EXPECT_EQ(remove(secret(2)), "");
  EXPECT_THAT(open().state().node.pods, IsEmpty());
  EXPECT_FALSE(read_file(own->directory + "/cpus"));
}

TEST_F(HookedContainer, EndsWithItsCreatorIfItIsNeverMade) {
  ASSERT_TRUE(std::holds_alternative<verbs::OwnResources>(prepare(secret(2), this_process())));
  {
    agent::NodeAgent agent = open();
    (void)agent::remove_abandoned(agent);
    EXPECT_EQ(agent.state().node.pods.size(), 1U) << "it may still be made";
  }
  EXPECT_EQ(remove(secret(2)), "") << "the runtime gives up";
  EXPECT_THAT(open().state().node.pods, IsEmpty());

  ASSERT_TRUE(std::holds_alternative<verbs::OwnResources>(prepare(secret(2), kEnded)));
  EXPECT_EQ(open().state().node.pods.size(), 1U);
  agent::NodeAgent agent = open();
  (void)agent::remove_abandoned(agent);
  EXPECT_THAT(agent.state().node.pods, IsEmpty());
  EXPECT_THAT(agent.state().creators, IsEmpty());
}

/// Its PID now belongs to another process.
TEST_F(HookedContainer, EndsWithACreatorWhoseNumberIsUsedAgain) {
  enforce::ProcessId earlier = this_process();
  earlier.start_time -= 1;
  ASSERT_TRUE(std::holds_alternative<verbs::OwnResources>(prepare(secret(2), earlier)));
  agent::NodeAgent agent = open();
  (void)agent::remove_abandoned(agent);
  EXPECT_THAT(agent.state().node.pods, IsEmpty());
}

TEST_F(HookedContainer, IsRefusedBeforeItIsMade) {
  const auto reason = [&](const HookRequest& request) {
    const auto prepared = prepare(request, this_process());
    const auto* const refusal = std::get_if<verbs::Refusal>(&prepared);
    return refusal == nullptr ? "prepared" : refusal->summary;
  };
  EXPECT_EQ(reason(secret(9)), "rejected, UnexpectedAdmissionError");
  EXPECT_THAT(open().state().node.pods, IsEmpty());
  ASSERT_EQ(admit(secret(2), "run-a"), "");
  EXPECT_EQ(reason(secret(3)), "a different pod with its UID is active");
}

}  // namespace
}  // namespace pinfold::tools
