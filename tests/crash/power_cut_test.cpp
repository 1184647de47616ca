// Cuts the power at every operation of a long sequence of transactions, with every outcome for
// what was not synced, and opens the store on what is left.

#include <gtest/gtest.h>

#include <set>

#include "memory_fs.hpp"
#include "pinfold/checkpoint/kubelet_files.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "sequence.hpp"

namespace pinfold::checkpoint::testing {
namespace {

/// Writes a state; the way that is under test.
using Commit = std::function<Result<void>(Fs&, const Files&)>;

struct Tally {
  std::size_t cuts = 0;        ///< operations before which the power was cut
  std::size_t images = 0;      ///< different disks that were opened
  std::size_t violations = 0;  ///< disks with another state than the acknowledged or the next
  std::string first_violation;
};

std::string describe(const Image& image) {
  std::string text;
  for (const auto& [name, bytes] : image)
    text += name + ": " + ::testing::PrintToString(bytes) + "\n";
  return text;
}

/// Opens the store on everything that a power cut can leave behind: the state must be one of the
/// two. With `again`, the power is cut a second time at every operation of that opening.
class Reboot {
 public:
  Reboot(Tally& tally, const Files& before, const Files& after, bool again)
      : tally_(tally), before_(before), after_(after), again_(again) {}

  void cut(const Disk& disk, const std::string& where) {
    ++tally_.cuts;
    disk.for_each_image([&](const Image& image) {
      if (seen_.insert(image).second) try_image(image, where);
    });
  }

 private:
  void try_image(const Image& image, const std::string& where) {
    ++tally_.images;
    auto disk = std::make_shared<Disk>(image);
    MemoryFs::Hook hook;
    Reboot second(tally_, before_, after_, false);
    if (again_) {
      hook = [&](const std::string& operation) {
        second.cut(*disk, where + ", again before " + operation);
        return MemoryFs::Fault();
      };
    }
    auto store = Store::open(std::make_unique<MemoryFs>(disk, hook));
    const auto files = store ? store->load() : Result<Files>(tl::unexpect, store.error());
    if (files && (*files == before_ || *files == after_)) return;
    if (tally_.violations++ > 0) return;
    tally_.first_violation = where +
                             (files ? ": a third state\n" : ": " + files.error().message + "\n") +
                             describe(image);
  }

  Tally& tally_;
  const Files& before_;
  const Files& after_;
  bool again_;
  std::set<Image> seen_;
};

Tally cut_everywhere(const std::vector<Files>& states, const Commit& commit, bool again) {
  Tally tally;
  auto disk = std::make_shared<Disk>();
  Reboot* reboot = nullptr;
  MemoryFs fs(disk, [&](const std::string& operation) {
    if (reboot != nullptr) reboot->cut(*disk, "before " + operation);
    return MemoryFs::Fault();
  });
  EXPECT_TRUE(commit(fs, states[0]));
  EXPECT_TRUE(fs.sync_directory());
  for (std::size_t i = 1; i < states.size(); ++i) {
    Reboot during(tally, states[i - 1], states[i], again);
    reboot = &during;
    const auto done = commit(fs, states[i]);
    EXPECT_TRUE(done) << done.error().message;
    Reboot acknowledged(tally, states[i], states[i], again);
    acknowledged.cut(*disk, "after commit " + std::to_string(i));
    reboot = nullptr;
  }
  return tally;
}

/// Passes operations on to a file system that is owned elsewhere.
class Borrowed final : public Fs {
 public:
  explicit Borrowed(Fs& fs) : fs_(fs) {}
  Result<std::optional<std::string>> read(const std::string& name) override {
    return fs_.read(name);
  }
  Result<std::vector<std::string>> list() override { return fs_.list(); }
  Result<std::unique_ptr<File>> create(const std::string& name) override {
    return fs_.create(name);
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    return fs_.rename(from, to);
  }
  Result<void> remove(const std::string& name) override { return fs_.remove(name); }
  Result<void> sync_directory() override { return fs_.sync_directory(); }

 private:
  Fs& fs_;
};

/// Our store, kept open over all transactions.
Commit store_commit(
    std::shared_ptr<std::optional<Store>> store = std::make_shared<std::optional<Store>>()) {
  return [store](Fs& fs, const Files& files) -> Result<void> {
    if (!*store) {
      auto opened = Store::open(std::make_unique<Borrowed>(fs));
      if (!opened) return fail(opened.error());
      store->emplace(*std::move(opened));
    }
    return (*store)->commit(files);
  };
}

TEST(PowerCut, LeavesTheAcknowledgedStateOrTheOneInFlight) {
  const auto states = make_sequence(1000);
  const Tally tally = cut_everywhere(states, store_commit(), false);
  EXPECT_EQ(tally.violations, 0U) << tally.first_violation;
  EXPECT_GT(tally.cuts, 10000U);
  RecordProperty("cuts", std::to_string(tally.cuts));
  RecordProperty("images", std::to_string(tally.images));
  std::printf("%zu cuts, %zu different disks\n", tally.cuts, tally.images);
}

TEST(PowerCut, MayComeAgainDuringRecovery) {
  const auto states = make_sequence(12);
  const Tally tally = cut_everywhere(states, store_commit(), true);
  EXPECT_EQ(tally.violations, 0U) << tally.first_violation;
  std::printf("%zu cuts, %zu different disks\n", tally.cuts, tally.images);
}

// ---- the test itself must be able to fail
// --------------------------------------------------------

struct Unsafe {
  bool sync_files;
  bool sync_names;
};

/// What the kubelet does, more or less: each file for itself.
Commit unsafe_commit(Unsafe how) {
  return [how](Fs& fs, const Files& files) -> Result<void> {
    const std::pair<std::string_view, const std::string&> all[] = {
        {kCpuFileName, *files.cpu}, {kMemoryFileName, *files.memory}, {kPodsFileName, *files.pods}};
    for (const auto& [name, bytes] : all) {
      auto file = fs.create(".tmp");
      if (!file) return fail(file.error());
      if (auto done = (*file)->write(bytes); !done) return fail(done.error());
      if (how.sync_files) {
        if (auto done = (*file)->sync(); !done) return done;
      }
      if (auto done = fs.rename(".tmp", std::string(name)); !done) return done;
      if (how.sync_names) {
        if (auto done = fs.sync_directory(); !done) return done;
      }
    }
    return {};
  };
}

TEST(PowerCut, IsNoticedWithAWriterThatHasNoJournal) {
  const Tally tally = cut_everywhere(make_sequence(20), unsafe_commit({true, true}), false);
  EXPECT_GT(tally.violations, 0U);
}

TEST(PowerCut, IsNoticedWithAWriterThatDoesNotSyncNames) {
  auto states = make_sequence(1);
  states.push_back(states.back());
  states[1] = states[0];
  states[1].pods = "only this one changes";  // a single file, so that the journal is not missed
  states[2] = states[1];
  const Tally tally = cut_everywhere(states, unsafe_commit({true, false}), false);
  EXPECT_GT(tally.violations, 0U);
}

TEST(PowerCut, IsNoticedWithAWriterThatDoesNotSyncContents) {
  auto states = make_sequence(1);
  states[1] = states[0];
  states[1].pods = "only this one changes";
  const Tally tally = cut_everywhere(states, unsafe_commit({false, true}), false);
  EXPECT_GT(tally.violations, 0U);
}

}  // namespace
}  // namespace pinfold::checkpoint::testing
