#include "pinfold/text/message.hpp"

#include <gtest/gtest.h>

#include <array>

namespace pinfold {
namespace {

TEST(MessageEscaped, LeavesPrintableTextAndEscapesTheRest) {
  const struct {
    const char* text;
    const char* escaped;
  } cases[] = {
      {"", ""},
      {"web-1 (µs, 10%) 'x'", "web-1 (µs, 10%) 'x'"},
      {"\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"},
      {"a\nb\tc\rd\x7f", "a\\nb\\x09c\\x0dd\\x7f"},
      {"\xc2\x9b"
       "31m",
       "\\u009b31m"},
      // NOLINTNEXTLINE(misc-misleading-bidirectional): it must not reach a terminal
      {"\xe2\x80\xaegpj", "\\u202egpj"},
      {"\xff\xc3", "\\xff\\xc3"},
  };
  for (const auto& c : cases) EXPECT_EQ(escaped(c.text), c.escaped);
}

TEST(MessageNearest, FindsMisspeltWords) {
  constexpr std::array<std::string_view, 5> kKnown = {"limits", "requests", "name", "status",
                                                      "start"};
  const struct {
    const char* word;
    const char* nearest;
  } cases[] = {
      {"limit", "limits"},      {"Limits", "limits"},
      {"reqeusts", "requests"}, {"nmae", "name"},
      {"statsu", "status"},     {"strat", "start"},
      {"limits", "limits"},     {"cpu", ""},
      {"nam", "name"},          {"names", "name"},
      {"nane", "name"},         {"long-name", ""},
      {"completely-else", ""},  {"", ""},
  };
  for (const auto& c : cases) EXPECT_EQ(nearest(c.word, kKnown), c.nearest) << c.word;
  EXPECT_EQ(nearest(std::string(200, 'a'), kKnown), "");
  EXPECT_EQ(did_you_mean("limit", kKnown), ", did you mean 'limits'?");
  EXPECT_EQ(did_you_mean("cpu", kKnown), "");
}

}  // namespace
}  // namespace pinfold
