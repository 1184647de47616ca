#include "pinfold/text/unit_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// Units and environment files, line by line.
namespace pinfold {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Assignments = std::vector<std::pair<std::string, std::string>>;

TEST(UnitFile, HasSettings) {
  EXPECT_THAT(
      parse_unit_file("A=no section\n[Service]\n A = b c \n#C=d\n;E=f\nG\n=h\nA=\n[ X ]\nI=j=k"),
      ElementsAre(UnitSetting{"Service", "A", "b c"}, UnitSetting{"Service", "A", ""},
                  UnitSetting{" X ", "I", "j=k"}));
  EXPECT_THAT(parse_unit_file(""), IsEmpty());
}

TEST(UnitFile, ContinuesLines) {
  for (const char* const end : {"\n", "\r\n", "\r"}) {
    std::string text = "[S]|A=0-1 \\|# a comment|  4-5|B=c\\\\|D=\\";
    for (std::size_t at; (at = text.find('|')) != std::string::npos;) text.replace(at, 1, end);
    EXPECT_THAT(parse_unit_file(text),
                ElementsAre(UnitSetting{"S", "A", "0-1  4-5"}, UnitSetting{"S", "B", "c\\\\"},
                            UnitSetting{"S", "D", ""}))
        << text;
  }
}

TEST(EnvironmentFile, HasAssignments) {
  const struct {
    const char* text;
    Assignments assignments;
  } cases[] = {
      {"# no\n; no\n A = b c \t\nB=\nC\nD=x", {{"A", "b c"}, {"B", ""}, {"D", "x"}}},
      {"A=\"\n --x 1\n --y=2\n\"\nB=2\r\n", {{"A", "\n --x 1\n --y=2\n"}, {"B", "2"}}},
      {"A='a\\n' \"b\\\"\\x\"  c\n", {{"A", "a\\nb\"\\xc"}}},
      {"A=a\\\nb\\ \n", {{"A", "ab "}}},
      {"A=\"a\\\nb\"\nB=\"open\n", {{"A", "ab"}, {"B", "open\n"}}},
      {"A=a'b'\nB=#c\n", {{"A", "a'b'"}, {"B", "#c"}}},
  };
  for (const auto& one : cases) EXPECT_EQ(parse_environment_file(one.text), one.assignments);
}

TEST(UnitWords, HaveEscapes) {
  EXPECT_THAT(split_unit_words(R"( a "b 'c'"d '\x41\s\101' \q "" \xz e)"),
              ElementsAre("a", "b 'c'd", "A A", "\\q", "", "\\xz", "e"));
  EXPECT_THAT(split_unit_words("'open \\"), ElementsAre("open \\"));
}

TEST(Specifiers, OfTheUnitAreKnown) {
  EXPECT_EQ(expand_specifiers("%%a %n %N %j %E%t %q %", "k3s-agent.service"),
            "%a k3s-agent.service k3s-agent agent /etc/run %q %");
}

TEST(Specifiers, OfAnInstanceAreItsParts) {
  constexpr const char* kAll = "%n|%N|%p|%P|%i|%I|%j|%J";
  EXPECT_EQ(expand_specifiers(kAll, "my-kubelet@dev-sda\\x2d1.service"),
            "my-kubelet@dev-sda\\x2d1.service|my-kubelet@dev-sda\\x2d1|my-kubelet|my/kubelet|"
            "dev-sda\\x2d1|dev/sda-1|kubelet|kubelet");
  EXPECT_EQ(expand_specifiers("%p %i.", "kubelet.service"), "kubelet .");
  EXPECT_EQ(expand_specifiers("%p %i.", "kubelet@.service"), "kubelet .");
}

TEST(Specifiers, OfAnUnknownUnitStay) {
  EXPECT_EQ(expand_specifiers("%n %N %p %i %j %t", ""), "%n %N %p %i %j /run");
}

}  // namespace
}  // namespace pinfold
