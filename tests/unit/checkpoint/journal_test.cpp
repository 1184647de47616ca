#include "pinfold/checkpoint/journal.hpp"

#include <fmt/format.h>
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
            "pinfold-journal 4 00ec124b79882e01 61\n"
            ".pinfold_pods - 3\n{}\n"
            "cpu_manager_state 8090d54f7f16580b 3\nnew");
}

TEST(Journal, SumsRecordsAsIfWithTheirPadding) {
  const Changes large = {{"cpu_manager_state", {std::nullopt, std::string(kJournalBlock, 'c')}}};
  const std::string zeros(kJournalBlock, '\0');
  for (const std::string& records :
       {std::string(), encode_record(kSample), encode_record(large) + encode_record(kSample), zeros,
        zeros + encode_record(kSample), encode_record(kSample) + "torn", std::string("\0\0", 2),
        std::string(13, '\0'), "1234567" + std::string(9, '\0')}) {
    EXPECT_EQ(journal_sum(records), content_sum(records)) << records.size();
  }
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
  for (const char* const version : {" 5 ", " 1 ", " 17 "}) {
    std::string other = written(kSample);
    other.replace(other.find(" 4 "), 3, version);
    EXPECT_EQ(decode_journal(other).error().code, ErrorCode::kUnsupported) << version;
    EXPECT_EQ(decode_journal(other.substr(0, other.size() - 1)), kNone) << version;
    EXPECT_EQ(decode_journal(encode_record(kSample) + other).error().code, ErrorCode::kUnsupported)
        << version;
  }
  std::string other = written(kSample);
  other.replace(other.find(" 4 "), 3, " 17 ");
  const std::string message = decode_journal(other).error().message;
  EXPECT_EQ(message.find("journal: version '17', expected 2 to 4: "), 0U) << message;
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

TEST(Journal, ReadsVersion3) {
  std::string record = written(kSample);
  record.replace(record.find(" 4 "), 3, " 3 ");
  EXPECT_EQ(decode_journal(record), (std::vector<Record>{{3, kSample}}));
}

const Changes kEdited = {
    {"cpu_manager_state", {content_sum("old one"), Edits{{0, 3, "new"}, {4, 0, "!"}}}}};

TEST(Journal, HasEditsInTheirDocumentedForm) {
  EXPECT_EQ(written(kEdited),
            "pinfold-journal 4 784be2bb2a3d07b1 54\n"
            "cpu_manager_state 7a39c7f5aeedebc9 +2\n"
            "0 3 3\nnew4 0 1\n!");
  EXPECT_EQ(decode_journal(encode_record(kEdited)), records_of({kEdited}));
}

TEST(Journal, HasNoEditsBeforeVersion4) {
  std::string record = written(kEdited);
  record.replace(record.find(" 4 "), 3, " 3 ");
  EXPECT_EQ(decode_journal(record), kNone);
}

TEST(Journal, EndsBeforeMalformedEdits) {
  for (const std::string_view edits :
       {"+\n", "+x\n", "+1\n", "+1\n0 0 1\n", "+1\n0 0\n", "+1\n-1 0 0\n", "+1\n0 x 0\n",
        "+2\n0 0 0\n", "+1\n0 0 0\nrest", "+18446744073709551615\n0 0 0\n"}) {
    const std::string body = fmt::format("a - {}", edits);
    const std::string record =
        fmt::format("pinfold-journal 4 {:016x} {}\n{}", content_sum(body), body.size(), body);
    EXPECT_EQ(decode_journal(record), kNone) << edits;
  }
}

Record edits_of(std::string_view before, Edits edits) {
  return {kJournalVersion, {{"a", {content_sum(before), std::move(edits)}}}};
}

TEST(Journal, AppliesEditsInTheirOrder) {
  Contents contents;
  ASSERT_TRUE(apply_record({kJournalVersion, {{"a", {std::nullopt, "abcdef"}}}}, contents));
  ASSERT_TRUE(apply_record(edits_of("abcdef", {{1, 2, "X"}, {1, 0, "Y"}}), contents));
  EXPECT_EQ(contents, (Contents{{"a", "aXdYef"}}));
  ASSERT_TRUE(apply_record(edits_of("aXdYef", {{0, 6, ""}}), contents));
  EXPECT_EQ(contents, (Contents{{"a", ""}}));
}

TEST(Journal, AppliesNoEditsToOtherContents) {
  const std::vector<Record> bad = {
      edits_of("abd", {{1, 1, ""}}),                          // another sum
      edits_of("abc", {{4, 0, ""}}),                          // beyond the end
      edits_of("abc", {{2, 2, ""}}),                          //
      edits_of("abc", {{2, 1, ""}, {1, 0, ""}}),              //
      edits_of("abc", {{1, ~std::uint64_t{0}, ""}}),          // no overflow
      {kJournalVersion, {{"b", {content_sum(""), Edits{}}}}}  // no contents
  };
  for (std::size_t i = 0; i < bad.size(); ++i) {
    Contents contents = {{"a", "abc"}};
    const auto applied = apply_record(bad[i], contents);
    ASSERT_FALSE(applied) << i;
    EXPECT_EQ(applied.error().code, ErrorCode::kCorrupt);
    EXPECT_EQ(contents, (Contents{{"a", "abc"}})) << i;
  }
}

/// Entries as in a state file, with a number before and after them that depends on them.
std::string sample_file(int first, int last, int without = -1) {
  std::string text = fmt::format("{{\"free\":{},\"entries\":{{", (last - first) * 7919 + without);
  for (int i = first; i < last; ++i) {
    if (i == without) continue;
    text += fmt::format("\"7a90481b-0000-4000-8000-{:012}\":{{\"main\":\"{}\"}},", i, i);
  }
  return text + fmt::format("}},\"checksum\":{}}}", (last - first) * 104729 + without);
}

TEST(Difference, OfOneEntryIsSmall) {
  const std::string before = sample_file(0, 250);
  const struct {
    const char* name;
    std::string after;
  } cases[] = {
      {"added at the end", sample_file(0, 251)},
      {"removed at the end", sample_file(0, 249)},
      {"removed at the front", sample_file(1, 250)},
      {"removed in the middle", sample_file(0, 250, 100)},
      {"the same", before},
  };
  for (const auto& [name, after] : cases) {
    for (const bool forth : {true, false}) {
      const auto change = forth ? difference(before, after) : difference(after, before);
      ASSERT_TRUE(std::holds_alternative<Edits>(change)) << name;
      std::size_t inserted = 0;
      for (const Edit& edit : std::get<Edits>(change)) inserted += edit.insert.size();
      EXPECT_LE(inserted, 200U) << name;
      EXPECT_LE(std::get<Edits>(change).size(), 4U) << name;
    }
  }
}

TEST(Difference, OfFewCharactersHasOnlyThese) {
  const std::string before = sample_file(0, 250);
  std::string after = before;
  after.insert(5000, "12345");
  const auto one = [](const std::string& from, const std::string& to) {
    const auto change = difference(from, to);
    const Edits* edits = std::get_if<Edits>(&change);
    return edits != nullptr && edits->size() == 1 ? edits->front() : Edit{};
  };
  EXPECT_EQ(one(before, after).insert, "12345");
  EXPECT_EQ(one(before, after).drop, 0U);
  EXPECT_EQ(one(after, before).insert, "");
  EXPECT_EQ(one(after, before).drop, 5U);
}

TEST(Difference, IsTheWholeOfWhatHasLittleInCommon) {
  const std::string after(1000, 'a');
  EXPECT_EQ(difference("", after), (std::variant<std::string, Edits>(after)));
  EXPECT_EQ(difference(std::string(1000, 'b'), after), (std::variant<std::string, Edits>(after)));
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
