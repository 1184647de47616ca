// Makes every operation of a commit fail in every way in which a disk can fail.

#include <gtest/gtest.h>

#include <cerrno>
#include <span>

#include "memory_fs.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "sequence.hpp"

namespace pinfold::checkpoint::testing {
namespace {

struct Failure {
  const char* name;
  MemoryFs::Fault fault;
  bool lasting;  ///< all later operations fail too
};
constexpr Failure kFailures[] = {
    {"EIO", {EIO, false}, false},
    {"ENOSPC", {ENOSPC, false}, false},
    {"EDQUOT", {EDQUOT, false}, false},
    {"EROFS from then on", {EROFS, false}, true},
    {"EIO from then on", {EIO, false}, true},
    {"short write", {0, true}, false},
};

/// A disk with a store whose operations can be made to fail.
struct Machine {
  std::shared_ptr<Disk> disk = std::make_shared<Disk>();
  std::size_t operations = 0;
  std::size_t fail_at = SIZE_MAX;
  std::string fail_from;  ///< if not empty: fail_at becomes the first operation with this prefix
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

std::size_t count_operations(const Files& before, bool is_settled, const Files& after) {
  Machine machine;
  machine.boot();
  EXPECT_TRUE(machine.store->commit(before));
  if (is_settled) {
    EXPECT_TRUE(machine.store->checkpoint_and_remove_journal());
  }
  machine.operations = 0;
  EXPECT_TRUE(machine.store->commit(after));
  EXPECT_TRUE(machine.store->checkpoint_and_remove_journal());
  return machine.operations;
}

/// Returns the state that a new process finds on a disk. Opens a copy, because the disk may already
/// have a store.
std::optional<Files> open_and_load(const Disk& disk) {
  MemoryFs reader(std::make_shared<Disk>(disk));
  const auto seen = read_files(reader);
  auto store = Store::open(std::make_unique<MemoryFs>(std::make_shared<Disk>(disk)));
  EXPECT_TRUE(store) << store.error().message;
  if (!store) return std::nullopt;
  Files files = store->load().value();
  EXPECT_EQ(seen, files) << "a reader sees what an opening gives";
  return files;
}

/// How many commits ended in each way.
struct Counts {
  std::size_t succeeded = 0;  ///< despite a fault
  std::size_t failed = 0;
  std::size_t undecided = 0;  ///< failed commits whose record could not be dropped
};

void expect_error_of(const Failure& failure, const Error& error) {
  EXPECT_EQ(error.code, ErrorCode::kIo);
  EXPECT_EQ(error.sys_errno, failure.fault.sys_errno) << error.message;
  EXPECT_TRUE(error.message.starts_with("commit: ")) << error.message;
}

/// The result of the commit says which state is stored, or that this is unknown. `at` counts from
/// the start of the commit of the second of three states to the end of its settling.
void fail_once(std::span<const Files, 3> states, bool is_settled, std::size_t at,
               const Failure& failure, Counts& counts) {
  const Files& before = states[0];
  const Files& after = states[1];
  const Files& next = states[2];
  SCOPED_TRACE(std::string(failure.name) + " at operation " + std::to_string(at));
  Machine machine;
  machine.boot();
  ASSERT_TRUE(machine.store->commit(before));
  if (is_settled) {
    ASSERT_TRUE(machine.store->checkpoint_and_remove_journal());
  }
  machine.operations = 0;
  machine.fail_at = at;
  machine.failure = failure;
  const auto done = machine.store->commit(after);
  (void)machine.store->checkpoint_and_remove_journal();
  if (failure.fault.short_write) {
    EXPECT_TRUE(done) << done.error().message;  // not an error, just less to write
  }
  if (!done) expect_error_of(failure, done.error());
  const bool undecided =
      !done && done.error().message.find("could not be dropped") != std::string::npos;
  EXPECT_TRUE(!undecided || failure.lasting) << done.error().message;
  ++(done ? counts.succeeded : counts.failed);
  if (undecided) ++counts.undecided;
  const auto agrees = [&](const Files& files) {
    return files == (done ? after : before) || (undecided && files == after);
  };
  std::set<std::string> seen;
  machine.disk->for_each_image(seen, [&](const Image& image) {
    const auto files = open_and_load(Disk(image));
    EXPECT_TRUE(files && agrees(*files)) << "after a power cut";
  });
  machine.fail_at = SIZE_MAX;
  const auto loaded = machine.store->load();
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_TRUE(*loaded == (done ? after : before))
      << "a record that could not be dropped is dropped now";
  EXPECT_EQ(open_and_load(*machine.disk), *loaded);
  ASSERT_TRUE(machine.store->commit(next));
  EXPECT_EQ(open_and_load(*machine.disk), next);
}

TEST(DiskFault, FailsTheCommitExactlyIfTheOldStateRemains) {
  const auto states = make_sequence(24);
  std::size_t cases = 0;
  Counts once;
  Counts lasting;
  const auto fail_everywhere = [&](std::span<const Files, 3> three, bool is_settled) {
    const std::size_t operations = count_operations(three[0], is_settled, three[1]);
    for (std::size_t at = 0; at < operations; ++at) {
      for (const Failure& failure : kFailures) {
        fail_once(three, is_settled, at, failure, failure.lasting ? lasting : once);
        ++cases;
      }
    }
  };
  for (std::size_t i = 2; i < states.size(); ++i) {
    fail_everywhere(std::span<const Files, 3>(&states[i - 2], 3), i % 2 == 0);
  }
  EXPECT_GT(cases, 500U);
  EXPECT_GT(once.succeeded, 0U);
  EXPECT_GT(once.failed, 0U);
  EXPECT_EQ(once.undecided, 0U);
  EXPECT_GT(lasting.succeeded, 0U);
  EXPECT_GT(lasting.undecided, 0U);
  EXPECT_GT(lasting.failed, lasting.undecided) << "what fails before the record is decided";
}

/// After a failed sync the record may be lost, although the cache still shows it.
TEST(DiskFault, InTheSyncOfTheJournalDropsTheRecord) {
  const Files old{"c", "m", "p"};
  for (const bool has_records : {false, true}) {
    SCOPED_TRACE(has_records ? "after other records" : "in a new journal");
    Machine machine;
    machine.boot();
    ASSERT_TRUE(machine.store->commit(old));
    if (!has_records) {
      ASSERT_TRUE(machine.store->checkpoint_and_remove_journal());
    }
    machine.fail_from = "sync .pinfold_journal";
    const auto done = machine.store->commit({"c2", "m2", "p2"});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message, "commit: fsync '.pinfold_journal': Input/output error");
    EXPECT_EQ(machine.store->load(), old);
    std::set<std::string> seen;
    machine.disk->for_each_image(seen, [&](const Image& image) {
      EXPECT_EQ(open_and_load(Disk(image)), old) << "after a power cut";
    });
    ASSERT_TRUE(machine.store->commit({"c3", "m3", "p3"}));
    EXPECT_EQ(open_and_load(*machine.disk), (Files{"c3", "m3", "p3"}));
  }
}

TEST(DiskFault, AfterTheCommitIsReportedUntilItIsRepaired) {
  Machine machine;
  machine.boot();
  ASSERT_TRUE(machine.store->commit({"c", "m", "p"}));
  ASSERT_TRUE(machine.store->checkpoint_and_remove_journal());
  machine.fail_from = "rename";
  machine.failure = {"ENOSPC from then on", {ENOSPC, false}, true};
  const Files next{"c2", "m2", "p2"};
  ASSERT_TRUE(machine.store->commit(next));
  for (int i = 0; i < 2; ++i) {
    const auto settled = machine.store->checkpoint_and_remove_journal();
    ASSERT_FALSE(settled) << "the disk is still full";
    EXPECT_EQ(settled.error().sys_errno, ENOSPC);
    EXPECT_EQ(machine.disk->inodes[machine.disk->names.at("cpu_manager_state")].now, "c");
  }
  EXPECT_EQ(open_and_load(*machine.disk), next);
  machine.fail_at = SIZE_MAX;
  EXPECT_TRUE(machine.store->checkpoint_and_remove_journal());
  EXPECT_EQ(machine.disk->inodes[machine.disk->names.at("cpu_manager_state")].now, "c2");
  EXPECT_FALSE(machine.disk->names.contains(std::string(kJournalFileName)));
  EXPECT_TRUE(machine.store->commit({"c3", "m3", "p3"}));
  EXPECT_TRUE(machine.store->checkpoint_and_remove_journal());
}

/// Every operation that makes the state files durable fails once; afterwards none of them counts as
/// done.
TEST(DiskFault, WhileTheJournalIsCheckpointedIsReportedAndLosesNothing) {
  const Files first{"c", "m", "p"};
  const Files second{"c2", "m", "p2"};
  for (const Failure& failure : kFailures) {
    if (failure.fault.short_write) continue;
    for (std::size_t at = 0;; ++at) {
      SCOPED_TRACE(std::string(failure.name) + " at operation " + std::to_string(at));
      Machine machine;
      machine.boot();
      ASSERT_TRUE(machine.store->commit(first));
      ASSERT_TRUE(machine.store->commit(second));
      machine.operations = 0;
      machine.fail_at = at;
      machine.failure = failure;
      const auto done = machine.store->checkpoint_and_remove_journal();
      if (machine.operations <= at) {
        EXPECT_TRUE(done);
        EXPECT_GT(at, 5U);
        break;
      }
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().sys_errno, failure.fault.sys_errno) << done.error().message;
      const auto holds_second = [&] {
        std::set<std::string> seen;
        machine.disk->for_each_image(seen, [&](const Image& image) {
          EXPECT_EQ(open_and_load(Disk(image)), second) << "after a power cut";
        });
      };
      holds_second();
      machine.fail_at = SIZE_MAX;
      ASSERT_TRUE(machine.store->checkpoint_and_remove_journal());
      holds_second();
      for (const std::string_view name : {"cpu_manager_state", "memory_manager_state"}) {
        const auto& inode = machine.disk->inodes[machine.disk->names.at(std::string(name))];
        EXPECT_EQ(inode.durable, inode.now) << name << " is believed to be durable";
      }
    }
  }
}

TEST(DiskFault, BeforeTheJournalNeedsNoRecovery) {
  Machine machine;
  machine.boot();
  const Files before{"c", "m", "p"};
  ASSERT_TRUE(machine.store->commit(before));
  ASSERT_TRUE(machine.store->checkpoint_and_remove_journal());
  machine.fail_from = "create .pinfold_journal";
  machine.failure = {"ENOSPC from then on", {ENOSPC, false}, true};
  EXPECT_EQ(machine.store->commit({"c2", "m2", "p2"}).error().sys_errno, ENOSPC);
  EXPECT_EQ(machine.store->load(), before) << "the disk is still full";
}

/// Operations that need no space still work: files are removed, renamed and synced.
TEST(DiskFault, OfAFullDiskIsDecidedAtOnce) {
  const Files old{"c", "m", "p"};
  for (const bool has_records : {false, true}) {
    SCOPED_TRACE(has_records ? "after other records" : "in a new journal");
    for (std::size_t at = 0; at < 3; ++at) {
      auto disk = std::make_shared<Disk>();
      std::size_t operations = 0;
      bool is_full = false;
      auto store = Store::open(std::make_unique<MemoryFs>(disk, [&](const std::string& operation) {
        const bool needs_space = operation.starts_with("create") ||
                                 operation.starts_with("reserve") || operation.starts_with("write");
        const bool fails = is_full && needs_space && operations++ >= at;
        return MemoryFs::Fault{fails ? ENOSPC : 0, false};
      }));
      ASSERT_TRUE(store->commit(old));
      if (!has_records) {
        ASSERT_TRUE(store->checkpoint_and_remove_journal());
      }
      is_full = true;
      const Files next{"c2", "m2", "p2"};
      const auto done = store->commit(next);
      if (!done) {
        EXPECT_EQ(done.error().message.find("could not be dropped"), std::string::npos)
            << done.error().message;
      }
      EXPECT_EQ(store->load(), done ? next : old);
      EXPECT_EQ(open_and_load(*disk), done ? next : old);
    }
  }
}

TEST(DiskFault, LeavesTheOldSideFileAndNoTemporaryOne) {
  constexpr std::string_view kName = ".pinfold_side";
  for (const std::string operation : {"create", "write", "rename"}) {
    SCOPED_TRACE(operation);
    Machine machine;
    machine.boot();
    ASSERT_TRUE(machine.store->write_side_file(kName, "old"));
    machine.fail_from = operation;
    machine.failure = {"ENOSPC", {ENOSPC, false}, false};
    const auto done = machine.store->write_side_file(kName, "new and longer");
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().sys_errno, ENOSPC);
    EXPECT_TRUE(done.error().message.starts_with("write side file '.pinfold_side': "))
        << done.error().message;
    EXPECT_EQ(machine.store->read_side_file(kName), "old");
    EXPECT_FALSE(machine.disk->names.contains(".pinfold_tmp..pinfold_side"));
    ASSERT_TRUE(machine.store->write_side_file(kName, "new"));
    EXPECT_EQ(machine.store->read_side_file(kName), "new");
  }
}

TEST(DiskFault, DuringRecoveryIsReportedAndLosesNothing) {
  const auto states = make_sequence(4);
  // The journal is committed; the files are not replaced yet.
  Image image;
  {
    Machine machine;
    machine.boot();
    ASSERT_TRUE(machine.store->commit(states[0]));
    machine.fail_from = "rename";
    machine.failure = {"EIO from then on", {EIO, false}, true};
    ASSERT_TRUE(machine.store->commit(states[1])) << "the point of no return comes before";
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
    EXPECT_EQ(open_and_load(*disk), states[1]) << "failed at operation " << at;
    if (operations <= at) break;  // completed without reaching the fault
    EXPECT_FALSE(store) << at;
  }
}

}  // namespace
}  // namespace pinfold::checkpoint::testing
