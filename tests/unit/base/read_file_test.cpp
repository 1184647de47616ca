#include "pinfold/base/read_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

#include "temp_dir.hpp"

namespace pinfold {
namespace {

TEST(ReadFile, ReadsUpToTheLimit) {
  const test::TempDir dir;
  for (const std::size_t size : {0U, 1U, 65536U, 65537U, 1U << 20U}) {
    const std::string bytes(size, 'x');
    dir.write("file", bytes);
    EXPECT_EQ(read_file(dir / "file", 1U << 20U).value(), bytes) << size;
  }
  dir.write("file", std::string((1U << 20U) + 1, 'x'));
  const auto longer = read_file(dir / "file", 1U << 20U);
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(longer.error().message, "read '" + (dir / "file") + "': more than 1 MiB");
}

TEST(ReadFile, ReadsFilesOfTheKernel) {
  const auto status = read_file("/proc/self/status");
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_TRUE(status->starts_with("Name:"));
}

TEST(ReadFile, EndsAnEndlessFile) {
  const auto endless = read_file("/dev/zero");
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().message, "read '/dev/zero': more than 16 MiB");
}

/// A signal without SA_RESTART interrupts a system call with EINTR.
TEST(ReadFile, ASignalEndsNoReading) {
  struct sigaction counts {};
  counts.sa_handler = [](int) {};
  struct sigaction before {};
  ASSERT_EQ(::sigaction(SIGUSR1, &counts, &before), 0);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const pthread_t reader = ::pthread_self();
  std::thread writer([&] {
    for (int i = 0; i < 20; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ::pthread_kill(reader, SIGUSR1);
    }
    EXPECT_EQ(::write(ends[1], "x", 1), 1);
    ::close(ends[1]);
  });
  errno = EINTR;  // left by an earlier call; the end of the file is not an error
  EXPECT_EQ(read_rest(ends[0], "pipe").value_or("none"), "x");
  writer.join();
  ::close(ends[0]);
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST(ReadFile, NamesWhatItCannotRead) {
  const test::TempDir dir;
  EXPECT_EQ(read_file(dir.path()).error().message,
            "read '" + dir.path() + "': a directory, expected a file");
  EXPECT_EQ(read_file(dir / "none").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(read_rest(-1, "standard input").error().message,
            "read standard input: Bad file descriptor");
}

}  // namespace
}  // namespace pinfold
