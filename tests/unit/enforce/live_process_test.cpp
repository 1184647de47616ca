#include "pinfold/enforce/live_process.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>

#include "child.hpp"
#include "pinfold/base/read_file.hpp"

/// Which processes may be moved into a group, and the meaning of a pid after its process has ended.
namespace pinfold::enforce {
namespace {

using test::Child;
using testing::HasSubstr;

UniqueFd pidfd_of(const Child& child) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, child.pid(), 0)));
}

void expect_error(const Result<LiveProcess>& opened, ErrorCode code, const std::string& part) {
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, code);
  EXPECT_THAT(opened.error().message, HasSubstr(part));
}

TEST(LiveProcess, HoldsAChildUntilItEnds) {
  const Child child;
  const auto process = LiveProcess::open(child.pid());
  ASSERT_TRUE(process.has_value()) << process.error().message;
  EXPECT_EQ(process->pid(), child.pid());
  EXPECT_TRUE(process->is_running());
  child.kill();
  child.reap();
  EXPECT_FALSE(process->is_running());
  expect_error(LiveProcess::open(child.pid()), ErrorCode::kNotFound,
               "does not exist, or has ended");
}

TEST(LiveProcess, TakesTheCallingProcess) {
  EXPECT_TRUE(LiveProcess::open(::getpid()).has_value());
}

TEST(LiveProcess, RefusesWhatIsNoProcessOfTheCaller) {
  expect_error(LiveProcess::open(0), ErrorCode::kInvalidArgument, "expected a process id");
  expect_error(LiveProcess::open(-1), ErrorCode::kInvalidArgument, "expected a process id");
  expect_error(LiveProcess::open(1), ErrorCode::kInvalidArgument, "it is the init process");
  expect_error(LiveProcess::open(0x7ffffff0), ErrorCode::kNotFound, "process 2147483632");
}

TEST(LiveProcess, RefusesAThread) {
  std::thread([] {
    const auto thread = static_cast<pid_t>(::syscall(SYS_gettid));
    expect_error(LiveProcess::open(thread), ErrorCode::kInvalidArgument,
                 "it is a thread of process");
  }).join();
}

TEST(LiveProcess, RefusesAZombie) {
  const Child child;
  child.kill();
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT), 0);
  expect_error(LiveProcess::open(child.pid()), ErrorCode::kNotFound, "has ended");
}

TEST(LiveProcess, RefusesAThreadOfTheKernel) {
  constexpr pid_t kKthreadd = 2;
  if (read_file("/proc/2/comm").value_or("") != "kthreadd\n") {
    GTEST_SKIP() << "this pid namespace has no threads of the kernel";
  }
  expect_error(LiveProcess::open(kKthreadd), ErrorCode::kInvalidArgument, "kernel thread");
}

TEST(LiveProcess, RefusesAProcessOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const pid_t other = ::fork();
  ASSERT_GE(other, 0);
  if (other == 0) {
    constexpr uid_t kNobody = 65534;
    if (::setuid(kNobody) != 0) ::_exit(2);
    const auto parent = LiveProcess::open(::getppid());
    ::_exit(!parent && parent.error().code == ErrorCode::kIo && parent.error().sys_errno == EPERM
                ? 0
                : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(other, &status, 0), other);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(LiveProcess, OfAPidfdIsTheSame) {
  const Child child;
  const UniqueFd pidfd = pidfd_of(child);
  ASSERT_TRUE(pidfd);
  const auto process = LiveProcess::from_pidfd(pidfd.get());
  ASSERT_TRUE(process.has_value()) << process.error().message;
  EXPECT_EQ(process->pid(), child.pid());
  child.kill();
  child.reap();
  EXPECT_FALSE(process->is_running());
  expect_error(LiveProcess::from_pidfd(pidfd.get()), ErrorCode::kNotFound, "its process has ended");
}

TEST(LiveProcess, RefusesOtherDescriptors) {
  expect_error(LiveProcess::from_pidfd(-1), ErrorCode::kInvalidArgument, "it is not open");
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  expect_error(LiveProcess::from_pidfd(null.get()), ErrorCode::kInvalidArgument,
               "it is not a pidfd");
}

}  // namespace
}  // namespace pinfold::enforce
