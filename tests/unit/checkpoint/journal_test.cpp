#include "pinfold/checkpoint/journal.hpp"

#include <gtest/gtest.h>

namespace pinfold::checkpoint {
namespace {

const Changes kSample = {{".pinfold_pods", {std::nullopt, "{}\n"}},
                         {"cpu_manager_state", {sum64("old"), "new"}}};
const std::vector<Changes> kNone;

/// Without what fills up the block.
std::string written(const Changes& changes) {
  const std::string record = encode_record(changes);
  return record.substr(0, record.find('\0'));
}

TEST(Journal, HasItsDocumentedForm) {
  EXPECT_EQ(written(kSample),
            "pinfold-journal 2 04da7273ecc9946f 61\n"
            ".pinfold_pods - 3\n{}\n"
            "cpu_manager_state 7d77077ff7253b63 3\nnew");
}

TEST(Journal, BeginsEachRecordWithABlock) {
  EXPECT_EQ(encode_record(kSample).size(), kJournalBlock);
  const Changes large = {{"cpu_manager_state", {std::nullopt, std::string(kJournalBlock, 'c')}}};
  EXPECT_EQ(encode_record(large).size(), 2 * kJournalBlock);
  EXPECT_EQ(decode_journal(encode_record(large) + encode_record(kSample)),
            (std::vector{large, kSample}));
}

TEST(Journal, EndsBeforeEveryTruncationAndEveryChangedBit) {
  const std::string first = encode_record(kSample);
  const std::string second = written(kSample);
  EXPECT_EQ(decode_journal(first + second), (std::vector{kSample, kSample}));
  for (std::size_t size = 0; size < second.size(); ++size) {
    EXPECT_EQ(decode_journal(first + second.substr(0, size)), std::vector{kSample}) << size;
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = second;
      damaged[size] = static_cast<char>(damaged[size] ^ (1 << bit));
      EXPECT_NE(decode_journal(damaged), std::vector{kSample})
          << "byte " << size << ", bit " << bit;
    }
  }
}

TEST(Journal, EndsBeforeLinesWithoutTheirFields) {
  for (const std::string_view text :
       {"", "\n", "x\n", "pinfold-journal\n", "pinfold-journal 0\n", "\n \n"}) {
    EXPECT_EQ(decode_journal(text), kNone) << text;
  }
}

TEST(Journal, TellsAnotherVersionFromATornOne) {
  std::string later = written(kSample);
  later.replace(later.find(" 2 "), 3, " 3 ");
  EXPECT_EQ(decode_journal(later).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(decode_journal(later.substr(0, later.size() - 1)), kNone);
}

}  // namespace
}  // namespace pinfold::checkpoint
