#include "text.hpp"

#include <gtest/gtest.h>

namespace pinfold::tools {
namespace {

TEST(DisplayWidth, CountsCharactersAndNoColours) {
  EXPECT_EQ(display_width(""), 0U);
  EXPECT_EQ(display_width("a─│"), 3U);
  EXPECT_EQ(display_width(paint({.colour = true}, Paint::kRed, "abc")), 3U);
  EXPECT_EQ(display_width("\x1b[31"), 0U);  // truncated
}

TEST(Paint, IsLeftOutWithoutColour) {
  EXPECT_EQ(paint({}, Paint::kRed, "abc"), "abc");
  EXPECT_EQ(paint({.colour = true}, Paint::kRed, "abc"), "\x1b[31mabc\x1b[0m");
  EXPECT_EQ(paint({.colour = true}, Paint::kPlain, "abc"), "abc");
}

TEST(CutToScreen, KeepsColoursAndCountsWhatIsHidden) {
  const std::string red = paint({.colour = true}, Paint::kRed, "abcdef");
  EXPECT_EQ(cut_to_screen(red + "\n─│x", 2, 3),
            (std::vector<std::string>{"\x1b[31mabc\x1b[0m", "─│x"}));
  EXPECT_EQ(cut_to_screen("1\n2\n3\n", 2, 80), (std::vector<std::string>{"1", "(2 lines more)"}));
  EXPECT_EQ(cut_to_screen("1\n2\n", 2, 80), (std::vector<std::string>{"1", "2"}));
}

TEST(HumanBytes, KeepsWholeNumbersWhole) {
  struct {
    std::uint64_t bytes;
    const char* text;
  } cases[] = {
      {0, "0"},
      {1023, "1023 B"},
      {1024, "1 KiB"},
      {1536, "1.5 KiB"},
      {std::uint64_t{16} << 30U, "16 GiB"},
      {17149054976, "16.0 GiB"},  // slightly less
      {std::uint64_t{1} << 63U, "8 EiB"},
  };
  for (const auto& c : cases) EXPECT_EQ(human_bytes(c.bytes), c.text) << c.bytes;
}

TEST(TextTable, AlignsColumnsAndDropsEmptyOnes) {
  TextTable table({{"id", TextTable::Align::kRight}, {"nothing"}, {"name"}, {"end"}});
  table.add({"7", "", "─", "x"});
  table.add_painted({"128", "", paint({.colour = true}, Paint::kRed, "four")});
  EXPECT_EQ(table.render({}, 1),
            "  id  name  end\n"
            "   7  ─     x\n"
            " 128  \x1b[31mfour\x1b[0m\n");
}

TEST(TextTable, EscapesControlCharacters) {
  TextTable table({{"name"}});
  table.add({"\x1b[2Jx"});
  EXPECT_EQ(table.render({}), "name\n\\x1b[2Jx\n");
  EXPECT_EQ(paint({.colour = true}, Paint::kRed, "\x1b]x"), "\x1b[31m\\x1b]x\x1b[0m");
  EXPECT_EQ(paint({}, Paint::kRed, "\x1b]x"), "\\x1b]x");
}

TEST(Counted, KnowsThePlural) {
  EXPECT_EQ(counted(1, "socket"), "1 socket");
  EXPECT_EQ(counted(0, "socket"), "0 sockets");
}

}  // namespace
}  // namespace pinfold::tools
