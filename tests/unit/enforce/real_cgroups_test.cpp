#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "pinfold/enforce/cgroups.hpp"
#include "pinfold/enforce/drift.hpp"
#include "pinfold/enforce/processes.hpp"

/// Cgroups on the kernel that runs the tests. Set PINFOLD_TEST_CGROUP to an empty directory of a
/// cgroup mount with the cpuset controller.
namespace pinfold::enforce {
namespace {

class RealCgroups : public testing::Test {
 protected:
  void SetUp() override {
    const char* const root = std::getenv("PINFOLD_TEST_CGROUP");  // NOLINT(concurrency-mt-unsafe)
    if (root == nullptr)
      GTEST_SKIP() << "PINFOLD_TEST_CGROUP names no cgroup to test in; Vm.real-cgroups does";
    root_ = root;
    auto cgroups = Cgroups::open(root_);
    ASSERT_TRUE(cgroups.has_value()) << cgroups.error().message;
    cpus_ = cgroups->machine_cpus().value();
    mems_ = cgroups->machine_mems().value();
    if (cpus_.size() < 2) GTEST_SKIP() << "needs two CPUs, has " << cpus_;
    cgroups_ = *std::move(cgroups);
  }

  std::string root_;
  CpuSet cpus_;
  NodeSet mems_;
  std::optional<Cgroups> cgroups_;
};

TEST_F(RealCgroups, ApplyAndObserveAPlan) {
  const CpuSet first = CpuSet::of(cpus_.first());
  const CpuSet last = CpuSet::of(cpus_.last());
  const Layout shared = {{{PodUid("s"), ""}, {cpus_, {}, {}, Isolation::kHost}},
                         {{PodUid("s"), "c"}, {cpus_, {}, {}, Isolation::kHost}}};
  Layout both = shared;
  both[{PodUid("s"), ""}].cpus = both[{PodUid("s"), "c"}].cpus = cpus_ - last;
  both[{PodUid("x"), ""}] = {last, {}, {}, Isolation::kHost};
  both[{PodUid("x"), "c"}] = {last, {}, {}, Isolation::kContainer};
  Layout before;
  for (const Layout& after : {shared, both, shared, Layout{}}) {
    const auto steps = plan(before, after, cpus_);
    ASSERT_TRUE(steps.has_value()) << steps.error().message;
    for (const Step& step : *steps) {
      const auto done = cgroups_->apply(step);
      ASSERT_TRUE(done.has_value()) << done.error().message;
    }
    const Layout observed = cgroups_->observe(after).value();
    EXPECT_EQ(drift(observed, after), std::vector<std::string>{});
    before = after;
  }
}

TEST_F(RealCgroups, RunAndKillAProcess) {
  const auto must = [&](const Step& step) {
    const auto done = cgroups_->apply(step);
    ASSERT_TRUE(done.has_value()) << done.error().message;
  };
  const GroupName pod{PodUid("k"), ""};
  const GroupName name{PodUid("k"), "c"};
  for (const GroupName& each : {pod, name}) {
    must({Step::Kind::kCreate, each, {}, "", ""});
    must({Step::Kind::kCpus, each, cpus_, "", ""});
    must({Step::Kind::kMems, each, mems_, "", ""});
  }
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const Group group = cgroups_->group(name).value();
  const auto attached = attach(group, child);
  ASSERT_TRUE(attached.has_value()) << attached.error().message;
  EXPECT_EQ(processes(group).value(), std::vector<pid_t>{child});
  EXPECT_EQ(cgroups_->apply({Step::Kind::kRemove, name, {}, "", ""}).error().code,
            ErrorCode::kBusy);
  const auto killed = kill_processes(group, std::chrono::seconds(5));
  EXPECT_TRUE(killed.has_value()) << killed.error().message;
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  must({Step::Kind::kRemove, name, {}, "", ""});
  must({Step::Kind::kRemove, pod, {}, "", ""});
}

}  // namespace
}  // namespace pinfold::enforce
