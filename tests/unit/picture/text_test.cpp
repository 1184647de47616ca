#include "pinfold/picture/text.hpp"

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

TEST(Wrapped, BreaksBehindSeparators) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(wrapped("", 3), Lines{""});
  EXPECT_EQ(wrapped("0-1,4,6-15", 6), (Lines{"0-1,4,", "6-15"}));
  EXPECT_EQ(wrapped("kube-system/dns-7db6", 13), (Lines{"kube-system/", "dns-7db6"}));
  EXPECT_EQ(wrapped("shop/db 4, shop/mq 4", 16), (Lines{"shop/db 4, ", "shop/mq 4"}));
  EXPECT_EQ(wrapped("is Burstable, not", 13), (Lines{"is Burstable,", "not"}));
  EXPECT_EQ(wrapped("dns-7db6", 5), (Lines{"dns-", "7db6"}));
  EXPECT_EQ(wrapped("abcdef", 4), (Lines{"abcd", "ef"}));
  EXPECT_EQ(wrapped("─│─", 2), (Lines{"─│", "─"}));
  EXPECT_EQ(wrapped("ab", 0), (Lines{"a", "b"}));
  EXPECT_EQ(wrapped(paint({.colour = true}, Paint::kRed, "has 1,2"), 4),
            (Lines{"\x1b[31mhas \x1b[0m", "\x1b[31m1,2\x1b[0m"}));
}

TEST(WrappedLines, BreakBetweenWordsOfATerminalsLines) {
  const Style style{.width = 20};
  EXPECT_EQ(wrapped_lines("", style), "");
  EXPECT_EQ(wrapped_lines("one two\n", style), "one two\n");
  EXPECT_EQ(wrapped_lines("  with container main: cpu 6 -> 4\nnext\n", style),
            "  with container\n    main: cpu 6 -> 4\nnext\n");
  EXPECT_EQ(wrapped_lines("cpu  main  took CPUs 2-5 of 14\n", style, 11),
            "cpu  main  took CPUs\n          2-5 of 14\n");
  EXPECT_EQ(wrapped_lines("a_word_that_is_longer_than_a_line and more\n", style),
            "a_word_that_is_longer_than_a_line\n  and more\n");
  EXPECT_EQ(wrapped_lines("─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─\n", style), "─ ─ ─ ─ ─ ─ ─ ─ ─ ─\n  ─\n");
  EXPECT_EQ(wrapped_lines("  pinfold defragment --for web.yaml\n", style),
            "  pinfold defragment --for web.yaml\n");
  EXPECT_EQ(wrapped_lines("run 'pinfold repair dir' as root, now\n", style),
            "run\n  'pinfold repair dir'\n  as root, now\n");
  EXPECT_EQ(wrapped_lines("a long 'pinfold repair this dir' x\n", style),
            "a long\n  'pinfold repair this dir'\n  x\n");
  EXPECT_EQ(wrapped_lines("one two three four five six\n", {.width = 20, .wraps = false}),
            "one two three four five six\n");
}

TEST(FactsText, BreaksBetweenFactsAndThenInThem) {
  const Style style{.width = 20};
  EXPECT_EQ(facts_text({"pool: 0-1", "pods: 2"}, style), "pool: 0-1   pods: 2\n");
  EXPECT_EQ(facts_text({"pool: 0-1", "pods: 20000"}, style), "pool: 0-1\npods: 20000\n");
  EXPECT_EQ(facts_text({"pool: 0,2,4,6,8,10,12,14", "pods: 2"}, style),
            "pool: 0,2,4,6,8,\n  10,12,14\npods: 2\n");
}

TEST(TextTable, WrapsCellsWhereItIsTooWide) {
  TextTable table(
      {{"POD", TextTable::Align::kLeft, true}, {"QOS"}, {"CPUS", TextTable::Align::kLeft, true}});
  table.add({"shop/database-0", "Guaranteed", "0,2,4,6,8,10,12,14"});
  table.add({"a/b", "Burstable", "any"});
  EXPECT_EQ(table.render({.width = 40}),
            "POD            QOS         CPUS\n"
            "shop/          Guaranteed  0,2,4,6,8,10,\n"
            "database-0                 12,14\n"
            "a/b            Burstable   any\n");
  EXPECT_EQ(table.render({.width = 60}),
            "POD              QOS         CPUS\n"
            "shop/database-0  Guaranteed  0,2,4,6,8,10,12,14\n"
            "a/b              Burstable   any\n");
  EXPECT_EQ(table.render({.width = 40, .wraps = false}), table.render({.width = 60}));
}

TEST(HumanBytes, KeepsWholeNumbersWhole) {
  struct {
    std::uint64_t bytes;
    const char* text;
  } cases[] = {
      {0, "0"},
      {1023, "1023"},
      {1024, "1Ki"},
      {1536, "1.5Ki"},
      {std::uint64_t{16} << 30U, "16Gi"},
      {17149054976, "16Gi"},    // slightly less
      {107321753600, "100Gi"},  // 99.95 Gi
      {346833518592, "323Gi"},
      {std::uint64_t{1} << 63U, "8Ei"},
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
