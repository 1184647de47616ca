// Cuts the power before every operation of a long sequence of transactions, with every outcome for
// unsynced data, and opens the store on the remaining disk.

#include <gtest/gtest.h>

#include <cerrno>
#include <set>

#include "memory_fs.hpp"
#include "pinfold/checkpoint/kubelet_files.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "sequence.hpp"

namespace pinfold::checkpoint::testing {
namespace {

/// Stores a state with the writer under test.
using Commit = std::function<Result<void>(const Files&)>;
using MakeCommit = std::function<Commit(Fs&)>;

/// Few transactions between two checkpoints of the journal, to try every outcome for all names.
constexpr std::size_t kJournalLimit = 2 * kJournalBlock;

struct Plan {
  std::size_t transactions = 0;
  bool again = false;  ///< cut the power a second time, at every operation of the recovery
  Disk::Contents contents = Disk::Contents::kAlike;
  std::size_t journal_limit = kJournalLimit;
};

struct Tally {
  std::size_t cuts = 0;        ///< operations before which the power was cut
  std::size_t images = 0;      ///< distinct disks that were opened
  std::size_t violations = 0;  ///< disks whose state is neither the acknowledged one nor the next
  std::string first_violation;
};

std::string describe(const Image& image) {
  std::string text;
  for (const auto& [name, bytes] : image)
    text += name + ": " + ::testing::PrintToString(bytes) + "\n";
  return text;
}

/// Opens the store on every image that a power cut can leave: it must have one of two states.
class Reboot {
 public:
  Reboot(Tally& tally, const Files& before, const Files& after, const Plan& plan)
      : tally_(tally), before_(before), after_(after), plan_(plan) {}

  void cut(const Disk& disk, const std::string& where) {
    if (tally_.violations > 0) return;  // one is enough
    ++tally_.cuts;
    disk.for_each_image(
        seen_, [&](const Image& image) { try_image(image, where); }, plan_.contents);
  }

 private:
  void try_image(const Image& image, const std::string& where) {
    ++tally_.images;
    auto disk = std::make_shared<Disk>(image);
    MemoryFs::Hook hook;
    Plan once = plan_;
    once.again = false;
    Reboot second(tally_, before_, after_, once);
    if (plan_.again) {
      hook = [&](const std::string& operation) {
        second.cut(*disk, where + ", again before " + operation);
        return MemoryFs::Fault();
      };
    }
    MemoryFs reader(std::make_shared<Disk>(image));
    const auto seen = read_files(reader);
    auto store = Store::open(std::make_unique<MemoryFs>(disk, hook));
    const auto files = store ? store->load() : Result<Files>(tl::unexpect, store.error());
    if (files && seen == files && (*files == before_ || *files == after_)) return;
    if (tally_.violations++ > 0) return;
    const std::string what = !files          ? files.error().message
                             : seen != files ? "a reader sees another state than an opening gives"
                                             : "a third state";
    tally_.first_violation = where + ": " + what + "\n" + describe(image);
  }

  Tally& tally_;
  const Files& before_;
  const Files& after_;
  const Plan& plan_;
  std::set<std::string> seen_;
};

Tally cut_everywhere(const std::vector<Files>& states, const MakeCommit& make_commit,
                     const Plan& plan = {}) {
  Tally tally;
  auto disk = std::make_shared<Disk>();
  Reboot* reboot = nullptr;
  MemoryFs fs(disk, [&](const std::string& operation) {
    if (reboot != nullptr) reboot->cut(*disk, "before " + operation);
    return MemoryFs::Fault();
  });
  Commit commit = make_commit(fs);
  EXPECT_TRUE(commit(states[0]));
  EXPECT_TRUE(fs.sync_directory());
  for (std::size_t i = 1; i < states.size(); ++i) {
    Reboot during(tally, states[i - 1], states[i], plan);
    reboot = &during;
    const auto done = commit(states[i]);
    EXPECT_TRUE(done) << done.error().message;
    Reboot acknowledged(tally, states[i], states[i], plan);
    acknowledged.cut(*disk, "after commit " + std::to_string(i));
    reboot = nullptr;
  }
  Reboot at_the_end(tally, states.back(), states.back(), plan);
  reboot = &at_the_end;
  commit = nullptr;
  at_the_end.cut(*disk, "after the end");
  reboot = nullptr;
  return tally;
}

/// Forwards operations to a file system that it does not own.
class Borrowed : public Fs {
 public:
  explicit Borrowed(Fs& fs) : fs_(fs) {}
  Result<std::optional<std::string>> read(const std::string& name) override {
    return fs_.read(name);
  }
  Result<std::vector<std::string>> list() override { return fs_.list(); }
  Result<std::unique_ptr<File>> create(const std::string& name) override {
    return fs_.create(name);
  }
  Result<std::unique_ptr<File>> reopen(const std::string& name, std::size_t size) override {
    return fs_.reopen(name, size);
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    return fs_.rename(from, to);
  }
  Result<void> remove(const std::string& name) override { return fs_.remove(name); }
  Result<void> sync_directory() override { return fs_.sync_directory(); }

 private:
  Fs& fs_;
};

/// Pinfold's store, kept open over all transactions; it settles after every third one and
/// checkpoints its journal after every seventh.
Commit store_commit(std::unique_ptr<Fs> fs, std::size_t journal_limit = kJournalLimit) {
  auto store = std::make_shared<Store>(Store::open(std::move(fs), journal_limit).value());
  return [store, count = 0](const Files& files) mutable -> Result<void> {
    if (++count % 3 == 0) {
      PINFOLD_TRY(store->checkpoint_journal());
    }
    if (count % 7 == 0) {
      PINFOLD_TRY(store->checkpoint_and_remove_journal());
    }
    return store->commit(files);
  };
}

void expect_safe(const Plan& plan) {
  const auto safe_commit = [&](Fs& fs) {
    return store_commit(std::make_unique<Borrowed>(fs), plan.journal_limit);
  };
  const Tally tally = cut_everywhere(make_sequence(plan.transactions), safe_commit, plan);
  EXPECT_EQ(tally.violations, 0U) << tally.first_violation;
  EXPECT_GT(tally.cuts, plan.transactions * 5);
  std::printf("%zu cuts, %zu different disks\n", tally.cuts, tally.images);
}

TEST(PowerCut, LeavesTheAcknowledgedOrTheNextState) { expect_safe({1000}); }

/// Each transaction in a store of its own, which leaves its journal to the next one if it can.
TEST(PowerCut, MayCutAJournalThatStays) {
  const auto commit_once = [](Fs& fs) -> Commit {
    return [&fs](const Files& files) -> Result<void> {
      PINFOLD_LET(Store store, Store::open(std::make_unique<Borrowed>(fs)));
      PINFOLD_TRY(store.commit(files));
      return store.leave_journal() ? Result<void>() : store.checkpoint_journal();
    };
  };
  for (const bool again : {false, true}) {
    const std::size_t transactions = again ? 5 : 200;
    const Tally tally =
        cut_everywhere(make_sequence(transactions), commit_once, {transactions, again});
    EXPECT_EQ(tally.violations, 0U) << tally.first_violation;
    EXPECT_GT(tally.cuts, transactions * 3);
  }
}

TEST(PowerCut, MayHaveADifferentOutcomeForEachFile) {
  expect_safe({2, false, Disk::Contents::kEach});
}

/// The third record of a journal reserves room for the fourth.
TEST(PowerCut, MayTearARecordInReservedRoom) {
  expect_safe({100, false, Disk::Contents::kAlike, 6 * kJournalBlock});
}

TEST(PowerCut, MayHappenAgainDuringRecovery) { expect_safe({5, true}); }

/// Commits all states but the last, and the last one up to operation `kill_at`. The process is then
/// dead, and its unsynced writes exist only in the page cache. Returns false if the commit ended
/// earlier.
bool commit_until_killed(const std::shared_ptr<Disk>& disk, const std::vector<Files>& states,
                         std::size_t kill_at) {
  std::size_t operations = 0;
  bool counts = false;
  const auto hook = [&](const std::string&) {
    const bool is_dead = counts && operations++ >= kill_at;
    return is_dead ? MemoryFs::Fault{EROFS, false} : MemoryFs::Fault();
  };
  auto store = Store::open(std::make_unique<MemoryFs>(disk, hook), kJournalLimit).value();
  for (const Files& state : states) {
    counts = &state == &states.back();
    const auto done = store.commit(state);
    EXPECT_TRUE(done || counts);
  }
  const bool killed = operations > kill_at;
  operations = kill_at;  // the destructor must not write either
  return killed;
}

TEST(PowerCut, MayFollowAKillDuringTheRecovery) {
  const auto states = make_sequence(12);
  Tally tally;
  std::size_t forward = 0;
  for (std::size_t i = 1; i < states.size(); ++i) {
    const std::vector<Files> until(states.begin(), states.begin() + static_cast<long>(i) + 1);
    bool killed = true;
    for (std::size_t kill_at = 0; killed; ++kill_at) {
      auto disk = std::make_shared<Disk>();
      killed = commit_until_killed(disk, until, kill_at);
      const std::string where =
          "transaction " + std::to_string(i) + " killed at " + std::to_string(kill_at);
      const Plan plan;
      Reboot during(tally, states[i - 1], states[i], plan);
      auto store = Store::open(std::make_unique<MemoryFs>(disk, [&](const std::string& operation) {
        during.cut(*disk, where + ", cut before " + operation);
        return MemoryFs::Fault();
      }));
      ASSERT_TRUE(store) << store.error().message;
      const Files found = store->load().value();
      EXPECT_TRUE(found == states[i - 1] || found == states[i]) << where;
      if (found == states[i]) ++forward;
      Reboot after(tally, found, found, plan);
      after.cut(*disk, where + ", after the recovery");
    }
  }
  EXPECT_EQ(tally.violations, 0U) << tally.first_violation;
  EXPECT_GT(forward, states.size());
  std::printf("%zu cuts, %zu different disks\n", tally.cuts, tally.images);
}

// Faulty writers, to show that the test can fail.

struct Unsafe {
  bool sync_files;
  bool sync_names;
};

/// Roughly what the kubelet does: writes each file separately.
MakeCommit unsafe_commit(Unsafe how) {
  return [how](Fs& fs) -> Commit {
    return [how, &fs](const Files& files) -> Result<void> {
      const std::pair<std::string_view, const std::string&> all[] = {
          {kCpuFileName, *files.cpu},
          {kMemoryFileName, *files.memory},
          {kPodsFileName, *files.pods}};
      for (const auto& [name, bytes] : all) {
        PINFOLD_LET(auto file, fs.create(".tmp"));
        PINFOLD_TRY(file->write(bytes));
        if (how.sync_files) {
          PINFOLD_TRY(file->sync());
        }
        PINFOLD_TRY(fs.rename(".tmp", std::string(name)));
        if (how.sync_names) {
          PINFOLD_TRY(fs.sync_directory());
        }
      }
      return {};
    };
  };
}

TEST(PowerCut, DetectsAWriterWithoutAJournal) {
  EXPECT_GT(cut_everywhere(make_sequence(20), unsafe_commit({true, true})).violations, 0U);
}

/// Returns states that differ in a single file, so that they need no journal.
std::vector<Files> one_file_changes() {
  auto states = make_sequence(1);
  states[1] = states[0];
  states[1].pods = "only this one changes";
  return states;
}

TEST(PowerCut, DetectsAWriterThatDoesNotSyncNames) {
  EXPECT_GT(cut_everywhere(one_file_changes(), unsafe_commit({true, false})).violations, 0U);
}

TEST(PowerCut, DetectsAWriterThatDoesNotSyncContents) {
  EXPECT_GT(cut_everywhere(one_file_changes(), unsafe_commit({false, true})).violations, 0U);
}

/// A disk that acknowledges a sync of files with a certain name, or of the directory, without
/// syncing.
class Lying final : public Borrowed {
 public:
  Lying(Fs& fs, std::string name) : Borrowed(fs), name_(std::move(name)) {}
  Result<std::unique_ptr<File>> create(const std::string& name) override {
    auto file = Borrowed::create(name);
    if (file && !name_.empty() && name.find(name_) != std::string::npos) {
      return std::make_unique<LyingFile>(*std::move(file));
    }
    return file;
  }
  Result<void> sync_directory() override {
    return name_.empty() ? Result<void>() : Borrowed::sync_directory();
  }

 private:
  class LyingFile final : public File {
   public:
    explicit LyingFile(std::unique_ptr<File> file) : file_(std::move(file)) {}
    Result<std::size_t> write(std::string_view bytes) override { return file_->write(bytes); }
    Result<void> reserve(std::size_t size) override { return file_->reserve(size); }
    Result<void> sync() override { return {}; }

   private:
    std::unique_ptr<File> file_;
  };

  std::string name_;
};

TEST(PowerCut, DetectsAStoreThatOmitsOneKindOfSync) {
  for (const char* const what : {"", "journal", "pinfold_pods", "cpu_manager"}) {
    const Tally tally = cut_everywhere(
        make_sequence(12), [&](Fs& fs) { return store_commit(std::make_unique<Lying>(fs, what)); });
    EXPECT_GT(tally.violations, 0U) << "not synced: " << (*what == '\0' ? "names" : what);
  }
}

}  // namespace
}  // namespace pinfold::checkpoint::testing
