#include "pinfold/text/kubelet_words.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pinfold {
namespace {

TEST(KubeletWords, SaysInPlainWordsWhatGoSays) {
  constexpr const char* kRegex =
      "quantities must match the regular expression "
      "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  const struct {
    std::string text;
    const char* words;
  } cases[] = {
      {"json: cannot unmarshal number into Go struct field CPUManagerCheckpointV1.defaultCpuSet of "
       "type string",
       "defaultCpuSet: expected a text in quotes, not a number"},
      {"json: cannot unmarshal array into Go struct field CPUManagerCheckpointV1.entries of type "
       "map[string]string",
       "entries: expected an object {...}, not a list"},
      {"json: cannot unmarshal number into Go struct field MemoryManagerCheckpointV1.machineState "
       "of "
       "type state.NUMANodeMap",
       "machineState: expected an object {...}, not a number"},
      {"json: cannot unmarshal string into Go struct field "
       "MemoryTable.machineState.memoryMap.total "
       "of type uint64",
       "machineState.memoryMap.total: expected a whole number of 0 or more, not a text"},
      {"json: cannot unmarshal string into Go struct field CPUManagerCheckpointV3.checksum of type "
       "checksum.Checksum",
       "checksum: expected a whole number of 0 or more, not a text"},
      {"json: cannot unmarshal number 1.5 into Go struct field M.a of type []int",
       "a: expected a list, not the number 1.5"},
      {"json: cannot unmarshal string into Go value of type state.CPUManagerCheckpointV1",
       "expected an object {...}, not a text"},
      {"unexpected end of JSON input", "the file is empty or ends too early"},
      {R"(invalid character '\n' in string literal)",
       R"(not valid JSON: '\n' within a text in quotes)"},
      {R"(invalid character '\'' looking for beginning of value)",
       R"(not valid JSON: '\'' where a value is expected)"},
      {"invalid character '1' after object key:value pair",
       "not valid JSON: '1' where a comma or } is expected"},
      {"invalid character '1' after object key", "not valid JSON: '1' where a colon is expected"},
      {"invalid character 'U' in literal true (expecting 'u')",
       "not valid JSON: 'U' within the word true"},
      {"invalid character '[' exceeded max depth",
       "not valid JSON: '[' at the 10000th level of nesting"},
      {R"(strconv.Atoi: parsing "0:1": invalid syntax)", R"("0:1" is not a whole number)"},
      {R"(strconv.Atoi: parsing "a\"b": invalid syntax)", R"("a\"b" is not a whole number)"},
      {R"(strconv.Atoi: parsing "99999999999999999999": value out of range)",
       R"("99999999999999999999" is too large a number)"},
      {R"(strconv.ParseBool: parsing "yes": invalid syntax)", R"("yes" is neither true nor false)"},
      {kRegex, "expected an amount such as 2, 500m or 1Gi"},
      {"unable to parse quantity's suffix",
       "expected an amount without a unit or with one of Ki Mi Gi Ti Pi Ei, m k M G T P E"},
      {R"(time: unknown unit "sec" in duration "10sec")",
       R"("10sec" is no duration such as 100ms, 10s or 1h30m)"},
      {R"(time: invalid duration "x")", R"("x" is no duration such as 100ms, 10s or 1h30m)"},
  };
  for (const auto& c : cases) {
    const std::string expected = std::string(c.words) + " (kubelet: " + c.text + ")";
    EXPECT_EQ(in_plain_words(c.text), expected);
    EXPECT_EQ(in_plain_words("'f': " + c.text + "; next"), "'f': " + expected + "; next");
  }
}

TEST(KubeletWords, TranslatesOnce) {
  const std::string once = in_plain_words(
      "'f': invalid character 'U' in literal true (expecting 'u'); unexpected end of JSON input");
  EXPECT_EQ(in_plain_words(once), once);
  const std::string start =
      R"(cpus '0:1': expected a list (kubelet: start (x): strconv.Atoi: parsing "0:1": invalid syntax))";
  EXPECT_EQ(in_plain_words(start), start);
}

TEST(KubeletWords, LeavesAllOtherTextsAlone) {
  for (const char* text :
       {"", "start: cpumanager: unknown policy: \"Static\"", "json: cannot unmarshal", "strconv.",
        "strconv.Atoi: parsing", "strconv.Atoi: parsing \"x: invalid syntax", "invalid character",
        "invalid character 'a", "invalid character 'a' somewhere",
        "json: cannot unmarshal a into Go value", "time: unknown unit \"s\"", "time: unknown unit ",
        "invalid character 'a' in literal"}) {
    EXPECT_EQ(in_plain_words(text), text);
  }
}

}  // namespace
}  // namespace pinfold
