#include "pinfold/checkpoint/journal.hpp"

#include <gtest/gtest.h>

namespace pinfold::checkpoint {
namespace {

const Changes kSample = {{"a", {std::nullopt, 1}}, {"b", {2, 0xfedcba9876543210U}}};

TEST(Journal, HasItsDocumentedForm) {
  EXPECT_EQ(encode_journal({{"cpu_manager_state", {std::nullopt, 0x08be08be08be08beU}}}),
            "pinfold-journal 1 e3a6d19f543763ee 37\ncpu_manager_state - 08be08be08be08be\n");
}

TEST(Journal, ReadsWhatItWrote) {
  EXPECT_EQ(decode_journal(encode_journal(kSample)), kSample);
  EXPECT_EQ(decode_journal(encode_journal({})), Changes());
}

TEST(Journal, RejectsEveryTruncationAndEveryChangedBit) {
  const std::string whole = encode_journal(kSample);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(decode_journal(whole.substr(0, size))) << size;
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[size] = static_cast<char>(damaged[size] ^ (1 << bit));
      EXPECT_NE(decode_journal(damaged), kSample) << "byte " << size << ", bit " << bit;
    }
  }
  EXPECT_FALSE(decode_journal(whole + "\n"));
}

TEST(Journal, RejectsLinesWithoutTheirFields) {
  for (const std::string_view text :
       {"\n", "x\n", "pinfold-journal\n", "pinfold-journal 1\n", "\n \n"}) {
    EXPECT_EQ(decode_journal(text).error().code, ErrorCode::kCorrupt) << text;
  }
}

TEST(Journal, TellsALaterVersionFromATornOne) {
  std::string later = encode_journal(kSample);
  later.replace(later.find(" 1 "), 3, " 2 ");
  EXPECT_EQ(decode_journal(later).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(decode_journal(later.substr(0, later.size() - 1)).error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace pinfold::checkpoint
