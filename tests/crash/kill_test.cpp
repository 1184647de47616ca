// Kills a real process at random instants while it commits to a real directory.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <random>

#include "pinfold/checkpoint/store.hpp"
#include "sequence.hpp"
#include "temp_dir.hpp"

namespace pinfold::checkpoint::testing {
namespace {

constexpr int kKills = 300;

/// Seen by parent and child.
struct Shared {
  std::atomic<std::size_t> acknowledged{0};
  std::atomic<bool> open{false};
};

Shared* map_shared() {
  void* const memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) Shared;
}

[[noreturn]] void commit_forever(const std::string& folder, const std::vector<Files>& states,
                                 Shared& shared) {
  auto store = Store::open(folder);
  if (!store) ::_exit(2);
  shared.open = true;
  for (std::size_t i = shared.acknowledged + 1;; ++i) {
    if (!store->commit(states[i % states.size()])) ::_exit(3);
    shared.acknowledged = i;
  }
}

void stop(pid_t child) {
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << status;
}

TEST(Kill, LeavesTheAcknowledgedStateOrTheOneInFlight) {
  // In memory, where a sync costs nothing: so the instants are spread over all operations.
  const bool has_shm = std::filesystem::exists("/dev/shm");
  const TempDir folder(has_shm ? "/dev/shm" : std::filesystem::temp_directory_path());
  const auto states = make_sequence(200);
  Shared* const shared = map_shared();
  ASSERT_NE(shared, nullptr);
  {
    auto store = Store::open(folder.path());
    ASSERT_TRUE(store) << store.error().message;
    ASSERT_TRUE(store->commit(states[0]));
  }
  std::minstd_rand random(7);
  std::size_t in_flight = 0;
  for (int round = 0; round < kKills; ++round) {
    shared->open = false;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) commit_forever(folder.path(), states, *shared);
    while (!shared->open) ::usleep(50);
    ::usleep(static_cast<useconds_t>(random() % 2000));
    stop(child);
    const std::size_t last = shared->acknowledged;
    auto store = Store::open(folder.path());  // the lock has died with its owner
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
  std::printf("%d kills, %zu transactions, %zu times the one in flight stood\n", kKills,
              shared->acknowledged.load(), in_flight);
  ::munmap(shared, sizeof(Shared));
}

TEST(Lock, IsReleasedByTheDeathOfItsOwner) {
  using namespace std::chrono_literals;
  const TempDir folder;
  Shared* const shared = map_shared();
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
  const auto second = Store::open(folder.path(), 30ms);
  EXPECT_EQ(second ? ErrorCode::kInternal : second.error().code, ErrorCode::kBusy);
  stop(child);
  const auto third = Store::open(folder.path(), 30ms);
  EXPECT_TRUE(third) << third.error().message;
  ::munmap(shared, sizeof(Shared));
}

}  // namespace
}  // namespace pinfold::checkpoint::testing
