// A journal that a closed store leaves to the next one.

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>

#include "memory_fs.hpp"
#include "pinfold/checkpoint/kubelet_files.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "sequence.hpp"

namespace pinfold::checkpoint::testing {
namespace {

const std::string kJournalName(kJournalFileName);
const std::string kMarkName(kSyncedJournalFileName);
const Files kFirst{"[1]", "[2]", "[3]"};
const Files kSecond{"[10]", "[2]", "[30]"};

class LeftJournal : public ::testing::Test {
 protected:
  /// Commits in a store of its own, which leaves its journal.
  void commit(const Files& files) {
    auto store = Store::open(fs()).value();
    EXPECT_TRUE(store.leave_journal());
    const auto done = store.commit(files);
    EXPECT_TRUE(done) << done.error().message;
  }

  /// Opens a store, which closes as usual, and returns the state.
  Files open() {
    const auto seen = read_files(*fs()).value();
    auto store = Store::open(fs()).value();
    EXPECT_EQ(store.load(), seen) << "a reader sees another state";
    return seen;
  }

  std::unique_ptr<Fs> fs() {
    return std::make_unique<MemoryFs>(disk_, [this](const std::string& operation) {
      syncs_ += operation.starts_with("sync ") ? 1U : 0U;
      return MemoryFs::Fault();
    });
  }

  [[nodiscard]] bool exists(const std::string& name) const { return disk_->names.contains(name); }
  [[nodiscard]] std::string& bytes(const std::string& name) {
    return disk_->inodes[disk_->names.at(name)].now;
  }

  std::shared_ptr<Disk> disk_ = std::make_shared<Disk>();
  std::size_t syncs_ = 0;
};

TEST_F(LeftJournal, HasTheStateForReadersAndOpenings) {
  commit(kFirst);
  EXPECT_FALSE(exists(std::string(kCpuFileName))) << "the kubelet's files are older";
  EXPECT_EQ(read_files(*fs()), kFirst);
  commit(kSecond);
  EXPECT_EQ(open(), kSecond);
  EXPECT_FALSE(exists(kJournalName)) << "a store that closes as usual checkpoints it";
  EXPECT_EQ(bytes(std::string(kCpuFileName)), kSecond.cpu);
}

/// A commit syncs the journal and, occasionally, a new journal and the files that it names.
TEST_F(LeftJournal, NeedsAtMostFourSyncsForTwoCommits) {
  const auto states = make_sequence(200);
  std::size_t most = 0;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::size_t before = syncs_;
    auto store = Store::open(fs()).value();
    ASSERT_TRUE(store.commit(states[i]));
    if (!store.leave_journal()) {
      ASSERT_TRUE(store.checkpoint_and_remove_journal());
    }
    most = std::max(most, syncs_ - before);
  }
  std::printf("%zu syncs for %zu commits, at most %zu for one\n", syncs_, states.size(), most);
  EXPECT_LE(syncs_, 2 * states.size());
  EXPECT_LE(most, 8U);
  EXPECT_EQ(open(), states.back());
}

TEST_F(LeftJournal, IsBounded) {
  for (std::size_t i = 0; i <= Store::kMostLeft; ++i) {
    auto store = Store::open(fs()).value();
    ASSERT_TRUE(store.commit({"[" + std::to_string(i) + "]", "m", "p"}));
    EXPECT_EQ(store.leave_journal(), i < Store::kMostLeft) << i;
  }
  EXPECT_FALSE(exists(kJournalName));
}

TEST_F(LeftJournal, IsRecoveredWithoutItsMark) {
  commit(kFirst);
  disk_->names.erase(kMarkName);
  commit(kSecond);
  EXPECT_EQ(bytes(std::string(kCpuFileName)), kFirst.cpu) << "the first one was checkpointed";
  EXPECT_EQ(open(), kSecond);
}

/// A record that a killed process has written may not be on the disk, so it is recovered.
TEST_F(LeftJournal, IsRecoveredIfAKilledProcessHasWritten) {
  commit(kFirst);
  const std::string marked = bytes(kJournalName);
  commit(kSecond);
  const std::string written = bytes(kJournalName);
  bytes(kMarkName) = "";
  EXPECT_EQ(open(), kSecond);
  disk_ = std::make_shared<Disk>();
  commit(kFirst);
  bytes(kJournalName) = written.substr(0, marked.size()) + "pinfold-journal 4 torn";
  EXPECT_EQ(open(), kFirst) << "the torn record was never acknowledged";
  EXPECT_FALSE(exists(kJournalName));
}

TEST_F(LeftJournal, IsSetAsideIfAnotherProgramHasWrittenTheFiles) {
  commit(kFirst);
  open();
  commit(kSecond);
  bytes(std::string(kCpuFileName)) = "{\"foreign\":1}";
  EXPECT_EQ(open().cpu, "{\"foreign\":1}");
  EXPECT_TRUE(exists(std::string(kStaleJournalFileName)));
}

TEST_F(LeftJournal, IsContinuedAfterAFailedCommit) {
  commit(kFirst);
  {
    bool fails = false;
    auto store = Store::open(std::make_unique<MemoryFs>(disk_, [&](const std::string& operation) {
                   const bool is_sync = operation == "sync " + kJournalName;
                   return fails && is_sync ? MemoryFs::Fault{EIO, false} : MemoryFs::Fault();
                 })).value();
    EXPECT_TRUE(store.leave_journal());
    fails = true;
    EXPECT_FALSE(store.commit(kSecond));
    fails = false;
    EXPECT_EQ(store.load(), kFirst);
  }
  EXPECT_EQ(open(), kFirst);
}

}  // namespace
}  // namespace pinfold::checkpoint::testing
