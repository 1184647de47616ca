#include "block_log.hpp"

#include <gtest/gtest.h>

namespace pinfold::guest {
namespace {

LogEntry written(std::uint64_t offset, char byte, bool forced = false) {
  return {false, forced, offset, std::string(kSectorBytes, byte)};
}
LogEntry flushed() { return {true, false, 0, {}}; }

/// The first byte of each of the first `sectors` sectors; '.' for zero.
std::string look(const Pages& disk, std::size_t sectors = 4) {
  std::string seen;
  for (std::size_t i = 0; i < sectors; ++i) {
    char byte = 0;
    disk.read(i * kSectorBytes, &byte, 1);
    seen += byte == 0 ? '.' : byte;
  }
  return seen;
}

std::vector<std::size_t> positions(const std::vector<Cut>& cuts, WriteLoss loss) {
  std::vector<std::size_t> found;
  for (const Cut& cut : cuts) {
    if (cut.loss == loss) found.push_back(cut.position);
  }
  return found;
}

constexpr WriteLoss kAllLosses[] = {WriteLoss::kNone, WriteLoss::kAll, WriteLoss::kSome,
                                    WriteLoss::kTorn};
const std::vector<WriteLoss> kLosses(std::begin(kAllLosses), std::end(kAllLosses));

TEST(Pages, CopyOnWrite) {
  Pages below;
  below.write(4000, std::string(200, 'a'));  // across a page boundary
  Pages over(&below);
  over.write(4090, "bbbbbbbbbb");
  std::string seen(204, '?');
  over.read(3998, seen.data(), seen.size());
  EXPECT_EQ(seen, std::string(2, '\0') + std::string(90, 'a') + std::string(10, 'b') +
                      std::string(100, 'a') + std::string(2, '\0'));
  below.read(4090, seen.data(), 10);
  EXPECT_EQ(seen.substr(0, 10), "aaaaaaaaaa");
}

TEST(Pages, HaveEqualSumsExactlyIfTheirBytesAreEqual) {
  Pages one;
  one.write(0, "ab");
  Pages other;
  other.write(1, "b");
  EXPECT_NE(one.sum(), other.sum());
  other.write(0, "a");
  EXPECT_EQ(one.sum(), other.sum());
  other.write(8192, std::string(10, '\0'));  // as if never written
  EXPECT_EQ(one.sum(), other.sum());
  Pages over(&one);
  EXPECT_EQ(over.sum(), one.sum());
  over.write(0, "x");
  EXPECT_NE(over.sum(), one.sum());
  over.write(0, "a");
  EXPECT_EQ(over.copy().sum(), one.sum());
}

TEST(ListCuts, CutsAfterEveryWriteAndAtMarks) {
  const BlockLog log = {written(0, 'a'), written(512, 'b'), flushed(), written(0, 'c')};
  const auto cuts = list_cuts(log, {3}, kLosses);
  EXPECT_EQ(positions(cuts, WriteLoss::kNone), (std::vector<std::size_t>{1, 2, 3, 4}));
  // Before the flush, writes can be lost; at the mark after it, none.
  EXPECT_EQ(positions(cuts, WriteLoss::kAll), (std::vector<std::size_t>{2}));
}

TEST(ListCuts, LosesUnflushedWritesAtMarks) {
  const BlockLog log = {written(0, 'a')};
  for (const WriteLoss loss : {WriteLoss::kAll, WriteLoss::kSome, WriteLoss::kTorn}) {
    EXPECT_EQ(positions(list_cuts(log, {1}, kLosses), loss), (std::vector<std::size_t>{1}));
  }
}

TEST(ListCuts, TearsAForcedWriteInFlight) {
  const BlockLog log = {written(0, 'a', true), flushed()};
  EXPECT_EQ(positions(list_cuts(log, {}, kLosses), WriteLoss::kTorn),
            (std::vector<std::size_t>{1}));
  EXPECT_TRUE(positions(list_cuts(log, {1}, kLosses), WriteLoss::kTorn).empty());
}

TEST(Replay, LosesOnlyUnflushedWrites) {
  const BlockLog log = {written(0, 'a'), flushed(), written(0, 'b'), written(512, 'c', true),
                        written(1024, 'd')};
  Pages base;
  base.write(1536, "z");
  Replay replay(base, log, kSectorBytes);
  EXPECT_EQ(look(replay.after({0, WriteLoss::kNone}, true)), "...z");
  EXPECT_EQ(look(replay.after({1, WriteLoss::kNone}, false)), "a..z");
  EXPECT_EQ(look(replay.after({1, WriteLoss::kAll}, false)), "...z");
  EXPECT_EQ(look(replay.after({5, WriteLoss::kNone}, false)), "bcdz");
  EXPECT_EQ(look(replay.after({5, WriteLoss::kAll}, false)), "ac.z");
}

TEST(Replay, LosesARandomSubset) {
  BlockLog log;
  for (int i = 0; i < 40; ++i)
    log.push_back(written(std::uint64_t{512} * static_cast<unsigned>(i), 'x'));
  Pages base;
  Replay replay(base, log, kSectorBytes);
  const std::string first = look(replay.after({39, WriteLoss::kSome}, false), 40);
  EXPECT_EQ(look(replay.after({39, WriteLoss::kSome}, false), 40), first);
  const auto kept = std::count(first.begin(), first.end(), 'x');
  EXPECT_GT(kept, 5);
  EXPECT_LT(kept, 35);
  EXPECT_NE(look(replay.after({40, WriteLoss::kSome}, false), 40), first);
}

TEST(Replay, TearsBetweenSectors) {
  const BlockLog log = {{false, true, 0, std::string(64 * kSectorBytes, 'x')}};
  Pages base;
  Replay replay(base, log, kSectorBytes);
  const std::string torn = look(replay.after({1, WriteLoss::kTorn}, false), 64);
  const auto kept = std::count(torn.begin(), torn.end(), 'x');
  EXPECT_GT(kept, 10);
  EXPECT_LT(kept, 54);
  EXPECT_EQ(look(replay.after({1, WriteLoss::kTorn}, true), 64), std::string(64, 'x'))
      << "acknowledged";
}

TEST(Replay, TearsNothingWithinASector) {
  const BlockLog log = {{false, true, 0, std::string(64 * kSectorBytes, 'x')}};
  Pages base;
  Replay replay(base, log, 2 * kSectorBytes);
  const std::string torn = look(replay.after({1, WriteLoss::kTorn}, false), 64);
  for (std::size_t i = 0; i < torn.size(); i += 2) EXPECT_EQ(torn[i], torn[i + 1]) << i;
  const auto kept = std::count(torn.begin(), torn.end(), 'x');
  EXPECT_GT(kept, 10);
  EXPECT_LT(kept, 54);
}

}  // namespace
}  // namespace pinfold::guest
