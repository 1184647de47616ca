// The store in a real directory.

#include "pinfold/checkpoint/store.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <set>

#include "pinfold/checkpoint/kubelet_files.hpp"
#include "sequence.hpp"
#include "temp_dir.hpp"

namespace pinfold::checkpoint::testing {
namespace {

namespace fs = std::filesystem;

const std::string kJournal = encode_record({{"cpu_manager_state", {content_sum("old"), "new"}}});

std::string temp(std::string_view name) { return std::string(kTempPrefix) + std::string(name); }

class StoreInFolder : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path file(std::string_view name) const {
    return fs::path(folder_.path()) / name;
  }

  /// A reader sees in advance the state that opening returns.
  [[nodiscard]] Store open() const {
    const auto seen = read_files(*open_directory(folder_.path()).value());
    Store store = Store::open(folder_.path()).value();
    EXPECT_EQ(seen, store.load());
    return store;
  }

  void write(std::string_view name, const std::string& bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
  }

  [[nodiscard]] std::string read(std::string_view name) const {
    std::ifstream in(file(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  test::TempDir folder_{fs::temp_directory_path()};  ///< on a disk
};

TEST_F(StoreInFolder, KeepsFilesAcrossProcesses) {
  const Files files{"c", "m", "p"};
  {
    Store store = open();
    EXPECT_EQ(store.load(), Files());
    ASSERT_TRUE(store.commit(files));
    EXPECT_EQ(store.load(), files);
  }
  EXPECT_EQ(open().load(), files);
  EXPECT_EQ(read(kCpuFileName), "c");
  EXPECT_EQ(read(kMemoryFileName), "m");
  EXPECT_EQ(read(kPodsFileName), "p");
  EXPECT_EQ(fs::status(file(kCpuFileName)).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_FALSE(fs::exists(file(kJournalFileName)));
}

TEST_F(StoreInFolder, DoesNotWriteFilesThatDoNotChange) {
  Store store = open();
  ASSERT_TRUE(store.commit({"c", "m", "p"}));
  ASSERT_TRUE(store.checkpoint_and_remove_journal());
  const auto inode = [&](std::string_view name) {
    struct stat status = {};
    EXPECT_EQ(::stat(file(name).c_str(), &status), 0) << name;
    return status.st_ino;
  };
  const auto cpu = inode(kCpuFileName);
  const auto memory = inode(kMemoryFileName);
  ASSERT_TRUE(store.commit({"c", std::nullopt, "p2"}));
  ASSERT_TRUE(store.checkpoint_and_remove_journal());
  EXPECT_EQ(inode(kCpuFileName), cpu);
  EXPECT_EQ(inode(kMemoryFileName), memory);
  EXPECT_EQ(store.load(), (Files{"c", "m", "p2"}));
}

TEST_F(StoreInFolder, RemovesItsOwnTemporaryFilesOnly) {
  const std::string ours = temp(kCpuFileName);
  write(ours, "half");
  write(".cpu_manager_state123", "a temporary file of the kubelet");
  (void)open();
  EXPECT_FALSE(fs::exists(file(ours)));
  EXPECT_TRUE(fs::exists(file(".cpu_manager_state123")));
}

TEST_F(StoreInFolder, RollsASoundJournalForward) {
  write(kCpuFileName, "oldest");  // a power cut has undone two renames
  write(kPodsFileName, "pods");
  write(kJournalFileName, encode_record({{"cpu_manager_state", {content_sum("oldest"), "old"}},
                                         {".pinfold_pods", {std::nullopt, "pods"}}}) +
                              kJournal);
  EXPECT_EQ(open().load(), (Files{"new", std::nullopt, "pods"}));
  EXPECT_EQ(read(kCpuFileName), "new");
  EXPECT_FALSE(fs::exists(file(kJournalFileName)));
}

TEST_F(StoreInFolder, DropsATornRecordAndAllLaterOnes) {
  write(kCpuFileName, "old");
  const std::string next = encode_record({{"cpu_manager_state", {content_sum("new"), "newer"}}});
  std::string torn = next;
  torn[next.find("newer")] = '#';
  write(kJournalFileName, kJournal + torn + next);
  EXPECT_EQ(open().load(), (Files{"new", std::nullopt, std::nullopt}));
  EXPECT_FALSE(fs::exists(file(kJournalFileName)));
}

TEST_F(StoreInFolder, ReplacesFilesThatAPowerCutTore) {
  write(kCpuFileName, R"({"policyName":"sta)");
  write(kMemoryFileName, std::string(40, '\0'));
  write(kJournalFileName, encode_record({{"cpu_manager_state", {content_sum("old"), "new"}},
                                         {"memory_manager_state", {std::nullopt, "m"}}}));
  EXPECT_EQ(open().load(), (Files{"new", "m", std::nullopt}));
}

TEST_F(StoreInFolder, SetsAStaleJournalAside) {
  const std::string theirs = R"({"written by":"a kubelet since"})";
  write(kCpuFileName, theirs);
  write(kMemoryFileName, "{torn");
  write(kPodsFileName, "pods");
  write(kJournalFileName, encode_record({{"cpu_manager_state", {content_sum("old"), "new"}},
                                         {"memory_manager_state", {std::nullopt, "m"}},
                                         {".pinfold_pods", {content_sum("pods"), "more pods"}}}));
  EXPECT_EQ(open().load(), (Files{theirs, "m", "more pods"}));
  EXPECT_TRUE(fs::exists(file(kStaleJournalFileName)));
  EXPECT_FALSE(fs::exists(file(kJournalFileName)));
}

TEST_F(StoreInFolder, RestoresNoFileThatAnotherProgramHasRemoved) {
  write(kJournalFileName, kJournal);  // the transaction replaced a file
  EXPECT_EQ(open().load(), Files());
  EXPECT_TRUE(fs::exists(file(kStaleJournalFileName)));
}

TEST_F(StoreInFolder, ReadsWhileAWriterHasTheLock) {
  Store writer = open();
  ASSERT_TRUE(writer.commit({"c", "m", "p"}));
  const auto names = [&] {
    std::set<std::string> out;
    for (const auto& entry : fs::directory_iterator(folder_.path())) out.insert(entry.path());
    return out;
  };
  const auto before = names();
  Store reader = Store::open_read_only(folder_.path()).value();
  EXPECT_EQ(reader.load(), (Files{"c", "m", "p"}));
  const auto committed = reader.commit({"c2", "m", "p"});
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().code, ErrorCode::kUnsupported);
  EXPECT_FALSE(reader.write_side_file(".pinfold_metrics", "x"));
  EXPECT_EQ(names(), before);
  ASSERT_TRUE(writer.commit({"c2", "m", "p"}));
  EXPECT_EQ(Store::open_read_only(folder_.path()).value().load(), (Files{"c2", "m", "p"}));
}

TEST_F(StoreInFolder, CheckpointsTheJournalOnRequest) {
  Store store = open();
  ASSERT_TRUE(store.commit({"c", "m", "p"}));
  EXPECT_TRUE(fs::exists(file(kJournalFileName)));
  for (const auto name : {kCpuFileName, kMemoryFileName, kPodsFileName}) {
    EXPECT_FALSE(fs::exists(file(name))) << name;
  }
  const auto directory = open_directory(folder_.path()).value();
  EXPECT_EQ(read_files(*directory), (Files{"c", "m", "p"}));
  ASSERT_TRUE(store.checkpoint_and_remove_journal());
  EXPECT_FALSE(fs::exists(file(kJournalFileName)));
  EXPECT_EQ(read(kCpuFileName), "c");
  EXPECT_EQ(read(kPodsFileName), "p");
  ASSERT_TRUE(store.checkpoint_and_remove_journal());
}

TEST_F(StoreInFolder, KeepsAJournalThatIsNotLargeWhenItSettles) {
  Store store = open();
  ASSERT_TRUE(store.commit({"c", "m", "p"}));
  ASSERT_TRUE(store.checkpoint_journal());
  const auto journal = fs::file_size(file(kJournalFileName));
  EXPECT_EQ(read(kCpuFileName), "c");
  EXPECT_EQ(read(kMemoryFileName), "m");
  EXPECT_EQ(read(kPodsFileName), "p");
  ASSERT_TRUE(store.commit({"c2", std::nullopt, "p"}));
  EXPECT_GT(fs::file_size(file(kJournalFileName)), journal);
  EXPECT_EQ(read(kCpuFileName), "c");
  ASSERT_TRUE(store.checkpoint_journal());
  EXPECT_EQ(read(kCpuFileName), "c2");
  const auto directory = open_directory(folder_.path()).value();
  EXPECT_EQ(read_files(*directory), (Files{"c2", "m", "p"}));
  ASSERT_TRUE(store.commit({"c3", "m3", std::string(Store::kKeptJournal, 'p')}));
  ASSERT_TRUE(store.checkpoint_journal());
  EXPECT_FALSE(fs::exists(file(kJournalFileName)));
  EXPECT_EQ(read(kCpuFileName), "c3");
}

/// Another program has written since, so its file counts, as with a journal that is not settled.
TEST_F(StoreInFolder, SetsAKeptJournalAsideIfAnotherProgramHasWritten) {
  const test::TempDir copy;
  {
    Store store = open();
    ASSERT_TRUE(store.commit({"[1]", "[2]", "p"}));
    ASSERT_TRUE(store.checkpoint_journal());
    fs::copy(folder_.path(), copy.path(), fs::copy_options::recursive);
  }
  copy.write(std::string(kCpuFileName), "{}");
  const auto store = Store::open(copy.path());
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_TRUE(fs::exists(copy / std::string(kStaleJournalFileName)));
  const auto directory = open_directory(copy.path()).value();
  EXPECT_EQ(directory->read(std::string(kCpuFileName)), "{}");
  EXPECT_EQ(directory->read(std::string(kMemoryFileName)), "[2]");
}

TEST_F(StoreInFolder, WritesNoFileWithAForeignName) {
  write(kJournalFileName, encode_record({{"../escaped", {std::nullopt, "x"}}}));
  (void)open();
  EXPECT_FALSE(fs::exists(file("../escaped")));
  EXPECT_TRUE(fs::exists(file(kStaleJournalFileName)));
}

TEST_F(StoreInFolder, RefusesAJournalOfALaterVersionAndLeavesEverythingAlone) {
  std::string journal = kJournal;
  journal.replace(journal.find(" 4 "), 3, " 5 ");
  write(kJournalFileName, journal);
  write(kCpuFileName, "old");
  write(temp(kCpuFileName), "new");
  const auto store = Store::open(folder_.path());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(store.error().message,
            "open state directory '" + folder_.path() +
                "': journal: version '5', expected 2 to 4: open the state directory with the "
                "Pinfold version that wrote it");
  EXPECT_EQ(read(kJournalFileName), journal);
  EXPECT_EQ(read(kCpuFileName), "old");
  EXPECT_EQ(read(temp(kCpuFileName)), "new");
}

/// Each record but the first contains only changes. For any remains of the files after a power cut,
/// the journal gives the state after the last complete record.
TEST_F(StoreInFolder, RestoresEveryStateFromEdits) {
  const std::string entries(20'000, 'e');
  std::vector<Files> states;
  std::string journal;
  {
    Store store = open();
    for (int i = 0; i < 20; ++i) {
      const std::string number = std::to_string(i);
      states.push_back({number + entries + number, entries + number, number + entries});
      ASSERT_TRUE(store.commit(states.back()));
    }
    journal = read(kJournalFileName);
  }
  std::size_t records = 0;
  for (std::size_t at = 0; at < journal.size(); at += kJournalBlock) {
    if (!std::string_view(journal).substr(at).starts_with("pinfold-journal ")) continue;
    ++records;
    if (records == 1) continue;
    EXPECT_EQ(at, (15 + records - 2) * kJournalBlock) << "one block each, after whole files";
    for (const std::size_t end : {at, at + 20, at + 100}) {  // a torn record is dropped
      write(kJournalFileName, journal.substr(0, end));
      for (const auto name : {kCpuFileName, kMemoryFileName, kPodsFileName}) write(name, "");
      EXPECT_EQ(open().load(), states[records - 2]) << records << ", cut at " << end;
    }
  }
  EXPECT_EQ(records, states.size());
}

/// The sums are right, but the edits belong to other contents.
TEST_F(StoreInFolder, RefusesAJournalThatEditsWhatItDoesNotHave) {
  const std::string edits =
      encode_record({{"cpu_manager_state", {content_sum("other"), Edits{{0, 1, "x"}}}}});
  write(kCpuFileName, "new");
  write(kJournalFileName, kJournal + edits);
  const auto store = Store::open(folder_.path());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(store.error().message.find("edits contents of 'cpu_manager_state' that differ"),
            std::string::npos)
      << store.error().message;
  EXPECT_EQ(read(kJournalFileName), kJournal + edits);
}

/// The golden file has two transactions, over a CPU file without pods.
class JournalOfVersion2 : public StoreInFolder {
 protected:
  void SetUp() override {
    std::ifstream in(PINFOLD_CRASH_DIR "/journal_version_2", std::ios::binary);
    journal_ = {std::istreambuf_iterator<char>(in), {}};
    ASSERT_EQ(journal_.size(), 2 * kJournalBlock);
  }

  static std::string cpu(const std::string& shared, const std::string& rest) {
    return R"({"policyName":"static","defaultCpuSet":")" + shared + "\"," + rest + "}";
  }

  std::string journal_;
  const std::string old_cpu_ = cpu("0-7", R"("checksum":14413152)");
  const Files first_{cpu("0-5", R"("entries":{"pod-a":{"c":"6-7"}},"checksum":1)"),
                     R"({"policyName":"Static","machineState":{},"checksum":3})", "first\n"};
  const Files second_{
      cpu("0-3", R"("entries":{"pod-a":{"c":"6-7"},"pod-b":{"c":"4-5"}},"checksum":2)"),
      first_.memory, "second\n"};
};

TEST_F(JournalOfVersion2, IsRolledForward) {
  write(kCpuFileName, old_cpu_);
  write(kJournalFileName, journal_);
  EXPECT_EQ(open().load(), second_);
  EXPECT_EQ(read(kCpuFileName), *second_.cpu);
  EXPECT_FALSE(fs::exists(file(kJournalFileName)));
  EXPECT_FALSE(fs::exists(file(kStaleJournalFileName)));
}

TEST_F(JournalOfVersion2, ShowsItsPodsWithoutALock) {
  write(kJournalFileName, journal_);
  EXPECT_EQ(read_files(*open_directory(folder_.path()).value())->pods, "second\n");
}

TEST_F(JournalOfVersion2, IsRolledForwardOverFilesOfItsTransactions) {
  write(kCpuFileName, *first_.cpu);
  write(kMemoryFileName, *first_.memory);
  write(kPodsFileName, "first\n");
  write(kJournalFileName, journal_);
  EXPECT_EQ(open().load(), second_);
}

TEST_F(JournalOfVersion2, DropsATornRecord) {
  std::string flipped = journal_;
  flipped[journal_.find("pod-b")] = 'q';
  std::string zeros = journal_;
  zeros.replace(kJournalBlock + 100, kJournalBlock - 100, kJournalBlock - 100, '\0');
  for (const auto& torn : {journal_.substr(0, kJournalBlock + 200), flipped, zeros}) {
    write(kCpuFileName, old_cpu_);
    write(kJournalFileName, torn);
    EXPECT_EQ(open().load(), first_);
    EXPECT_FALSE(fs::exists(file(kStaleJournalFileName)));
    fs::remove(file(kMemoryFileName));
  }
}

TEST_F(JournalOfVersion2, IsSetAsideIfAnotherProgramHasWrittenSince) {
  const std::string theirs = cpu("0-6", R"("checksum":4)");
  write(kCpuFileName, theirs);
  write(kJournalFileName, journal_);
  EXPECT_EQ(open().load(), (Files{theirs, std::nullopt, "second\n"}));
  EXPECT_EQ(read(kStaleJournalFileName), journal_);
}

TEST_F(StoreInFolder, NamesTheFileItCannotOpen) {
  const auto missing = Store::open(folder_.path() + "/none");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound) << missing.error().message;
}

}  // namespace
}  // namespace pinfold::checkpoint::testing
