#include "pinfold/text/go_text.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace pinfold::go {
namespace {

TEST(GoAtoi, ReadsWhatGoReads) {
  const struct {
    const char* text;
    std::int64_t value;
  } cases[] = {{"0", 0}, {"-1", -1}, {"+7", 7}, {"007", 7}, {"9223372036854775807", INT64_MAX},
               {"-0", 0}};
  for (const auto& c : cases) EXPECT_EQ(atoi(c.text).value(), c.value) << c.text;
}

TEST(GoAtoi, RejectsWithGoText) {
  for (const char* text : {"", "x", "+", "-", "+-1", "-+1", "1 ", "8.0", "0x1", "1_0"}) {
    const auto value = atoi(text);
    ASSERT_FALSE(value) << text;
    EXPECT_EQ(value.error().message, "strconv.Atoi: parsing " + quote(text) + ": invalid syntax");
  }
  EXPECT_EQ(atoi("9223372036854775808").error().message,
            "strconv.Atoi: parsing \"9223372036854775808\": value out of range");
}

TEST(GoParseBool, ReadsWhatGoReads) {
  for (const char* text : {"1", "t", "T", "TRUE", "true", "True"}) {
    EXPECT_TRUE(parse_bool(text).value()) << text;
  }
  for (const char* text : {"0", "f", "F", "FALSE", "false", "False"}) {
    EXPECT_FALSE(parse_bool(text).value()) << text;
  }
  for (const char* text : {"", "2", "yes", "True ", "tRUE"}) {
    const auto value = parse_bool(text);
    ASSERT_FALSE(value) << text;
    EXPECT_EQ(value.error().message,
              "strconv.ParseBool: parsing " + quote(text) + ": invalid syntax");
  }
}

TEST(GoQuote, EscapesAsGoDoes) {
  EXPECT_EQ(quote("a \"b\" \\"), R"("a \"b\" \\")");
  EXPECT_EQ(quote("\a\b\f\n\r\t\v"), R"("\a\b\f\n\r\t\v")");
  EXPECT_EQ(quote(std::string_view("\0\x1f\x7f", 3)), R"("\x00\x1f\x7f")");
  EXPECT_EQ(quote("\u00b5s"), "\"\u00b5s\"");
  EXPECT_EQ(quote("\ufeffx\u00ad\u2028\U000e0001\u20ac"),
            "\"\\ufeffx\\u00ad\\u2028\\U000e0001\u20ac\"");
  EXPECT_EQ(quote("\xff"
                  "a\xc3"),
            R"("\xffa\xc3")");
}

}  // namespace
}  // namespace pinfold::go
