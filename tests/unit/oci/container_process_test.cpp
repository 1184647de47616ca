#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "child.hpp"
#include "hook/hooked_container.hpp"
#include "pinfold/enforce/processes.hpp"

/// The process id passed by a runtime, and the process that it refers to.
namespace pinfold::tools {
namespace {

using test::Child;
using testing::HasSubstr;

std::string error_of(pid_t pid) {
  const auto process = open_container_process(pid);
  return process ? "no error" : process.error().message;
}

TEST(ContainerProcess, NoticesItsEnd) {
  const Child child;
  const auto process = open_container_process(child.pid());
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_EQ(process->pid(), child.pid());
  EXPECT_TRUE(process->is_running());
  child.kill();
  child.wait();
  EXPECT_FALSE(process->is_running());
  EXPECT_THAT(error_of(child.pid()), HasSubstr("or has ended"));
  child.reap();
  EXPECT_FALSE(process->is_running());
  EXPECT_THAT(error_of(child.pid()), HasSubstr("or has ended"));
}

TEST(ContainerProcess, IsNeitherTheHookNorItsParent) {
  for (const pid_t pid : {::getpid(), ::getppid()}) {
    EXPECT_THAT(error_of(pid), HasSubstr("the hook or one of its parents")) << pid;
  }
}

TEST(ContainerProcess, IsNoThreadOfTheKernel) {
  constexpr pid_t kThreadd = 2;
  const auto stat = enforce::stat_of(kThreadd);
  if (!stat || !stat->is_kernel_thread) GTEST_SKIP() << "threads of the kernel cannot be seen";
  EXPECT_THAT(error_of(kThreadd), HasSubstr("a kernel thread"));
}

TEST(ContainerProcess, HasAGroupWithoutOtherProcesses) {
  const Child child;
  const auto process = open_container_process(child.pid());
  ASSERT_TRUE(process) << process.error().message;
  std::optional<std::string> shared;
  for (const auto version : {enforce::CgroupVersion::kV1, enforce::CgroupVersion::kV2}) {
    if (auto found = enforce::directory_of_process(child.pid(), version)) shared = *found;
  }
  if (!shared) GTEST_SKIP() << "no cgroup with cpusets is mounted";
  const auto checked = check_group(*process, *shared);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("expected a separate cgroup"));
  EXPECT_EQ(check_group(*process, "/etc").error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace pinfold::tools
