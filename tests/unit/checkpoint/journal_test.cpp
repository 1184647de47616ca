#include "pinfold/checkpoint/journal.hpp"

#include <gtest/gtest.h>

#include <boost/crc.hpp>

namespace pinfold::checkpoint {
namespace {

const Changes kSample = {{".pinfold_pods", {std::nullopt, "{}\n"}},
                         {"cpu_manager_state", {content_sum("old"), "new"}}};
const std::vector<Record> kNone;

std::vector<Record> records_of(const std::vector<Changes>& transactions) {
  std::vector<Record> records;
  for (const Changes& changes : transactions) records.push_back({kJournalVersion, changes});
  return records;
}

/// The record without the block's padding.
std::string written(const Changes& changes) {
  const std::string record = encode_record(changes);
  return record.substr(0, record.find('\0'));
}

TEST(Journal, HasItsDocumentedForm) {
  EXPECT_EQ(written(kSample),
            "pinfold-journal 3 00ec124b79882e01 61\n"
            ".pinfold_pods - 3\n{}\n"
            "cpu_manager_state 8090d54f7f16580b 3\nnew");
}

TEST(Journal, BeginsEachRecordWithABlock) {
  EXPECT_EQ(encode_record(kSample).size(), kJournalBlock);
  const Changes large = {{"cpu_manager_state", {std::nullopt, std::string(kJournalBlock, 'c')}}};
  EXPECT_EQ(encode_record(large).size(), 2 * kJournalBlock);
  EXPECT_EQ(decode_journal(encode_record(large) + encode_record(kSample)),
            records_of({large, kSample}));
}

TEST(Journal, EndsBeforeEveryTruncationAndEveryChangedBit) {
  const std::string first = encode_record(kSample);
  const std::string second = written(kSample);
  EXPECT_EQ(decode_journal(first + second), records_of({kSample, kSample}));
  for (std::size_t size = 0; size < second.size(); ++size) {
    EXPECT_EQ(decode_journal(first + second.substr(0, size)), records_of({kSample})) << size;
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = second;
      damaged[size] = static_cast<char>(damaged[size] ^ (1 << bit));
      EXPECT_NE(decode_journal(damaged), records_of({kSample}))
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

TEST(Journal, RefusesAnotherVersionUnlessItIsTorn) {
  for (const char* const version : {" 4 ", " 1 ", " 17 "}) {
    std::string other = written(kSample);
    other.replace(other.find(" 3 "), 3, version);
    EXPECT_EQ(decode_journal(other).error().code, ErrorCode::kUnsupported) << version;
    EXPECT_EQ(decode_journal(other.substr(0, other.size() - 1)), kNone) << version;
    EXPECT_EQ(decode_journal(encode_record(kSample) + other).error().code, ErrorCode::kUnsupported)
        << version;
  }
}

TEST(Journal, ReadsVersion2WithItsChecksum) {
  const std::string record =
      "pinfold-journal 2 04da7273ecc9946f 61\n"
      ".pinfold_pods - 3\n{}\n"
      "cpu_manager_state 7d77077ff7253b63 3\nnew";
  const Changes changes = {{".pinfold_pods", {std::nullopt, "{}\n"}},
                           {"cpu_manager_state", {content_sum("old", 2), "new"}}};
  EXPECT_EQ(decode_journal(record), (std::vector<Record>{{2, changes}}));
  std::string mixed = record;
  mixed.replace(mixed.find(" 2 "), 3, " 3 ");
  EXPECT_EQ(decode_journal(mixed), kNone) << "a sum of the other version";
}

TEST(ContentSum, IsCrc64Xz) {
  EXPECT_EQ(content_sum("123456789"), 0x995dc9bbdf1939faU);
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    boost::crc_optimal<64, 0x42F0E1EBA9EA3693U, ~std::uint64_t{0}, ~std::uint64_t{0}, true, true>
        expected;
    expected.process_bytes(bytes.data(), bytes.size());
    ASSERT_EQ(content_sum(bytes), expected.checksum()) << bytes.size() << " bytes";
    bytes += static_cast<char>(i * 151 % 256);
  }
}

}  // namespace
}  // namespace pinfold::checkpoint
