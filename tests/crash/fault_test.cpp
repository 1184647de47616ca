// Makes every operation of a commit fail in every way that a disk can.

#include <gtest/gtest.h>

#include <cerrno>

#include "memory_fs.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "sequence.hpp"

namespace pinfold::checkpoint::testing {
namespace {

struct Failure {
  const char* name;
  MemoryFs::Fault fault;
  bool lasting;  ///< all operations from then on
};
constexpr Failure kFailures[] = {
    {"EIO", {EIO, false}, false},
    {"ENOSPC", {ENOSPC, false}, false},
    {"EDQUOT", {EDQUOT, false}, false},
    {"EROFS from then on", {EROFS, false}, true},
    {"EIO from then on", {EIO, false}, true},
    {"short write", {0, true}, false},
};

/// A disk with a store on it, whose operations can be made to fail.
struct Machine {
  std::shared_ptr<Disk> disk = std::make_shared<Disk>();
  std::size_t operations = 0;
  std::size_t fail_at = SIZE_MAX;
  std::string fail_from;  ///< if not empty: fail_at is the first operation that begins so
  Failure failure = kFailures[0];
  std::optional<Store> store;

  void boot() {
    auto fs = std::make_unique<MemoryFs>(disk, [this](const std::string& operation) {
      const std::size_t now = operations++;
      if (!fail_from.empty() && operation.starts_with(fail_from)) {
        fail_at = now;
        fail_from.clear();
      }
      const bool fails = failure.lasting ? now >= fail_at : now == fail_at;
      return fails ? failure.fault : MemoryFs::Fault();
    });
    store.emplace(Store::open(std::move(fs), 2 * kJournalBlock).value());
  }
};

std::size_t count_operations(const Files& before, const Files& after) {
  Machine machine;
  machine.boot();
  EXPECT_TRUE(machine.store->commit(before));
  machine.operations = 0;
  EXPECT_TRUE(machine.store->commit(after));
  return machine.operations;
}

/// What a fresh process finds on a disk.
std::optional<Files> open_and_load(const std::shared_ptr<Disk>& disk) {
  auto store = Store::open(std::make_unique<MemoryFs>(disk));
  EXPECT_TRUE(store) << store.error().message;
  return store ? std::optional(store->load().value()) : std::nullopt;
}

void fail_once(const Files& before, const Files& after, const Files& next, std::size_t at,
               const Failure& failure) {
  SCOPED_TRACE(std::string(failure.name) + " at operation " + std::to_string(at));
  Machine machine;
  machine.boot();
  ASSERT_TRUE(machine.store->commit(before));
  machine.operations = 0;
  machine.fail_at = at;
  machine.failure = failure;
  const auto done = machine.store->commit(after);
  if (failure.fault.short_write) {
    EXPECT_TRUE(done) << done.error().message;  // is no error, only more to write
  } else {
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kIo);
    EXPECT_EQ(done.error().sys_errno, failure.fault.sys_errno) << done.error().message;
    EXPECT_TRUE(done.error().message.starts_with("commit: ")) << done.error().message;
  }
  const auto is_one_of_two = [&](const Files& files) {
    return files == after || (!done && files == before);
  };
  std::set<std::string> seen;
  machine.disk->for_each_image(seen, [&](const Image& image) {
    const auto files = open_and_load(std::make_shared<Disk>(image));
    EXPECT_TRUE(files && is_one_of_two(*files)) << "after a power cut";
  });
  machine.fail_at = SIZE_MAX;
  const auto loaded = machine.store->load();
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_TRUE(is_one_of_two(*loaded));
  EXPECT_EQ(open_and_load(machine.disk), *loaded);
  ASSERT_TRUE(machine.store->commit(next));
  EXPECT_EQ(open_and_load(machine.disk), next);
}

TEST(DiskFault, ReachesTheCallerAndLeavesTheOldOrTheNewState) {
  const auto states = make_sequence(24);
  std::size_t cases = 0;
  for (std::size_t i = 2; i < states.size(); ++i) {
    const std::size_t operations = count_operations(states[i - 2], states[i - 1]);
    for (std::size_t at = 0; at < operations; ++at) {
      for (const Failure& failure : kFailures) {
        fail_once(states[i - 2], states[i - 1], states[i], at, failure);
        ++cases;
      }
    }
  }
  EXPECT_GT(cases, 500U);
}

TEST(DiskFault, DuringRecoveryIsReportedAndLosesNothing) {
  const auto states = make_sequence(4);
  // A committed journal whose files are not replaced yet.
  Image image;
  {
    Machine machine;
    machine.boot();
    ASSERT_TRUE(machine.store->commit(states[0]));
    machine.fail_from = "rename";  // the transaction is committed by then
    machine.failure = {"EIO from then on", {EIO, false}, true};
    ASSERT_FALSE(machine.store->commit(states[1]));
    for (const auto& [name, inode] : machine.disk->durable_names) {
      image[name] = machine.disk->inodes[inode].durable;
    }
  }
  ASSERT_TRUE(image.contains(std::string(kJournalFileName)));
  for (std::size_t at = 0;; ++at) {
    auto disk = std::make_shared<Disk>(image);
    std::size_t operations = 0;
    const auto store = Store::open(std::make_unique<MemoryFs>(disk, [&](const std::string&) {
      return operations++ == at ? MemoryFs::Fault{EIO, false} : MemoryFs::Fault();
    }));
    EXPECT_EQ(open_and_load(disk), states[1]) << "failed at operation " << at;
    if (operations <= at) break;  // went through without the fault
    EXPECT_FALSE(store) << at;
  }
}

}  // namespace
}  // namespace pinfold::checkpoint::testing
