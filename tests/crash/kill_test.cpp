// Kills a real process at random instants while it commits to a real directory.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <optional>
#include <random>

#include "pinfold/checkpoint/store.hpp"
#include "sequence.hpp"
#include "temp_dir.hpp"

namespace pinfold::checkpoint::testing {
namespace {

/// PINFOLD_KILLS, if it is set.
int kill_count() {
  const char* const wanted = std::getenv("PINFOLD_KILLS");  // NOLINT(concurrency-mt-unsafe)
  return wanted != nullptr ? std::stoi(wanted) : 300;
}

/// Shared by parent and child.
struct Progress {
  std::atomic<std::size_t> acknowledged{0};
  std::atomic<bool> open{false};
};

Progress* map_progress() {
  void* const memory =
      ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) Progress;
}

[[noreturn]] void commit_forever(const std::string& folder, const std::vector<Files>& states,
                                 Progress& shared) {
  auto store = Store::open(folder);
  if (!store) ::_exit(2);
  shared.open = true;
  for (std::size_t i = shared.acknowledged + 1;; ++i) {
    if (!store->commit(states[i % states.size()])) ::_exit(3);
    shared.acknowledged = i;
    if (i % 5 == 0 && !store->checkpoint_and_remove_journal()) ::_exit(4);
  }
}

void stop(pid_t child) {
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << status;
}

TEST(Kill, LeavesTheAcknowledgedOrTheNextState) {
  // In memory a sync costs nothing, so the kills spread over all operations.
  const test::TempDir folder;
  const auto states = make_sequence(200);
  Progress* const shared = map_progress();
  ASSERT_NE(shared, nullptr);
  {
    auto store = Store::open(folder.path());
    ASSERT_TRUE(store) << store.error().message;
    ASSERT_TRUE(store->commit(states[0]));
  }
  std::minstd_rand random(7);
  std::size_t in_flight = 0;
  const int kills = kill_count();
  for (int round = 0; round < kills; ++round) {
    shared->open = false;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) commit_forever(folder.path(), states, *shared);
    while (!shared->open) ::usleep(50);
    ::usleep(static_cast<useconds_t>(random() % 2000));
    stop(child);
    const std::size_t last = shared->acknowledged;
    auto store = Store::open(folder.path());  // the owner's death released the lock
    ASSERT_TRUE(store) << store.error().message;
    const auto files = store->load();
    ASSERT_TRUE(files) << files.error().message;
    const Files& next = states[(last + 1) % states.size()];
    const bool is_next = *files == next;
    ASSERT_TRUE(is_next || *files == states[last % states.size()])
        << "killed after transaction " << last;
    if (is_next) ++in_flight;
    shared->acknowledged = last + (is_next ? 1 : 0);
  }
  std::printf("%d kills, %zu transactions, %zu times the one in flight was stored\n", kills,
              shared->acknowledged.load(), in_flight);
  ::munmap(shared, sizeof(Progress));
}

bool is_locked(const std::string& file) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  EXPECT_EQ(::fcntl(fd, F_GETLK, &lock), 0);
  ::close(fd);
  return lock.l_type != F_UNLCK;
}

TEST(Lock, IsFairToAWaitingProcess) {
  const test::TempDir folder;
  Progress* const shared = map_progress();
  ASSERT_NE(shared, nullptr);
  for (int round = 0; round < 20; ++round) {
    shared->open = false;
    std::optional<Store> mine(Store::open(folder.path()).value());
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto store = Store::open(folder.path());
      shared->open = true;
      ::_exit(store ? 0 : 2);
    }
    while (!is_locked(folder.path() + "/" + std::string(kQueueFileName))) ::usleep(50);
    mine.reset();
    mine.emplace(Store::open(folder.path()).value());
    EXPECT_TRUE(shared->open) << "round " << round;
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  ::munmap(shared, sizeof(Progress));
}

TEST(Lock, IsReleasedWhenItsOwnerDies) {
  using namespace std::chrono_literals;
  const test::TempDir folder;
  Progress* const shared = map_progress();
  ASSERT_NE(shared, nullptr);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto store = Store::open(folder.path());
    shared->open = true;
    while (store) ::pause();
    ::_exit(2);
  }
  while (!shared->open) ::usleep(50);
  const auto second = Store::open(folder.path(), {30ms});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kBusy);
  const auto holder = "process " + std::to_string(child) + " (crash_checkpoin) holds it";
  EXPECT_NE(second.error().message.find(holder), std::string::npos) << second.error().message;
  stop(child);
  const auto third = Store::open(folder.path(), {30ms});
  EXPECT_TRUE(third) << third.error().message;
  ::munmap(shared, sizeof(Progress));
}

}  // namespace
}  // namespace pinfold::checkpoint::testing
