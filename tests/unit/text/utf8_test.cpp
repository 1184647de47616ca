#include "pinfold/text/utf8.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pinfold::utf8 {
namespace {

TEST(Utf8, DecodesWhatItAppendsAtEachChangeOfLength) {
  const struct {
    char32_t rune;
    std::string bytes;
  } cases[] = {
      {0, std::string(1, '\0')},
      {0x7F, "\x7f"},
      {0x80, "\xc2\x80"},
      {0x7FF, "\xdf\xbf"},
      {0x800, "\xe0\xa0\x80"},
      {0xD7FF, "\xed\x9f\xbf"},
      {0xE000, "\xee\x80\x80"},
      {0xFFFF, "\xef\xbf\xbf"},
      {0x10000, "\xf0\x90\x80\x80"},
      {0x10FFFF, "\xf4\x8f\xbf\xbf"},
  };
  for (const auto& c : cases) {
    std::string bytes;
    append(bytes, c.rune);
    EXPECT_EQ(bytes, c.bytes) << static_cast<unsigned>(c.rune);
    const Rune rune = decode(bytes + "x");
    EXPECT_TRUE(rune.valid) << static_cast<unsigned>(c.rune);
    EXPECT_EQ(rune.value, c.rune);
    EXPECT_EQ(rune.size, bytes.size());
  }
}

TEST(Utf8, FindsTheFirstByteThatIsInvalid) {
  const struct {
    const char* what;
    std::string bytes;
  } cases[] = {
      {"a byte that only goes on", "\x80"},
      {"overlong, two bytes", "\xc1\xbf"},
      {"overlong, three bytes", "\xe0\x9f\xbf"},
      {"overlong, four bytes", "\xf0\x8f\xbf\xbf"},
      {"the first surrogate", "\xed\xa0\x80"},
      {"the last surrogate", "\xed\xbf\xbf"},
      {"above the last rune", "\xf4\x90\x80\x80"},
      {"no such lead", "\xf5\x80\x80\x80"},
      {"cut off", "\xe0\xa0"},
      {"does not go on", "\xe0\xa0x"},
  };
  for (const auto& c : cases) EXPECT_EQ(find_invalid("\xc3\xa9y" + c.bytes), 3U) << c.what;
  EXPECT_EQ(find_invalid("\xc3\xa9y"), std::string::npos);
  EXPECT_EQ(decode("\xff").size, 1U) << "one byte is stepped over";
}

}  // namespace
}  // namespace pinfold::utf8
