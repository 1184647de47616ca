#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "on_model.hpp"
#include "random_rows.hpp"
#include "run_program.hpp"
#include "table.hpp"

/// The model kernel against the table that Linux uses to test its cpusets.
namespace pinfold::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

/// Returns the script, from a Debian package that is downloaded once.
std::string kernel_script() {
  const Outcome built = run_shell(PINFOLD_VM_IMAGES " --tests selftests-6.1");
  EXPECT_EQ(built.status, 0) << built.err;
  const std::string folder = built.out.substr(0, built.out.find('\n'));
  std::ifstream in(folder + "/test_cpuset_prs.sh");
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(KernelTable, TheModelAgreesWithEveryRow) {
  const auto rows = parse_table(kernel_script());
  ASSERT_TRUE(rows.has_value()) << rows.error().message;
  std::size_t agreeing = 0;
  for (const TableRow& row : *rows) {
    const auto played = play_on_model(row);
    const std::string problem =
        played ? difference(row, *played) : "set up: " + played.error().message;
    agreeing += static_cast<std::size_t>(problem.empty());
    EXPECT_EQ(problem, "") << row.text << "\nthe model: " << (played ? to_string(*played) : "");
  }
  fmt::print("{} of {} rows agree\n", agreeing, rows->size());
  EXPECT_GE(rows->size(), 60U) << "the table of Linux 6.1 has more rows";
}

TEST(KernelTable, ADifferenceIsSeen) {
  const TableRow row = parse_row("S+ C0-1 . . C2-3 S+ C4-5 . . 0 A2:0-1 A1:P0").value();
  const Played played = play_on_model(row).value();
  ASSERT_EQ(difference(row, played), "");
  const auto differs = [&](const char* results) {
    return difference(parse_row("S+ C0-1 . . C2-3 S+ C4-5 . . " + std::string(results)).value(),
                      played);
  };
  EXPECT_EQ(differs("1 A2:0-1"), "0 cells failed, expected 1");
  EXPECT_EQ(differs("0 A2:0"), "effective CPUs of A1/A2: '0-1', expected '0'");
  EXPECT_EQ(differs("0 A3:0"), "effective CPUs of A1/A2/A3: 'no file', expected '0'");
  EXPECT_EQ(differs("0 . B1:P1"), "state of B1: P0, expected P1");
  EXPECT_EQ(to_string(played), "0 A1:0-1,A2:0-1,B1:2-3 A1:P0,A2:P0,B1:P0");
}

TEST(KernelTable, ParsesTheKernelsNotation) {
  const auto rows = parse_table(
      "SETUP=\"C1-3:P1:S+ C3:P2 T\"\n"
      "TEST_MATRIX=(\n"
      "\t# a comment\n\n"
      "\t\"  S+ $SETUP . O2-0 . . . 1 A1:1,3,B1: A1:P1,A2:P-2\"\n"
      ")\n");
  ASSERT_TRUE(rows.has_value()) << rows.error().message;
  ASSERT_EQ(rows->size(), 1U);
  const TableRow& row = rows->front();
  using Kind = TableAction::Kind;
  const TableActions before = {
      {{Kind::kControllers, "", "+cpuset"}},
      {{Kind::kCpus, "A1", "1-3"},
       {Kind::kPartition, "A1", "root"},
       {Kind::kControllers, "A1", "+cpuset"}},
      {{Kind::kCpus, "A1/A2", "3"}, {Kind::kPartition, "A1/A2", "isolated"}},
      {{Kind::kProcess, "A1/A2/A3", "0"}},
      {}};
  EXPECT_EQ(row.before, before);
  EXPECT_EQ(row.after, (TableActions{{{Kind::kOnline, "A1", "2-0"}}, {}, {}, {}}));
  EXPECT_EQ(row.failures, 1);
  EXPECT_THAT(row.effective, ElementsAre(Pair("A1", CpuSet{1, 3}), Pair("B1", CpuSet{})));
  EXPECT_THAT(row.states, ElementsAre(Pair("A1", 1), Pair("A1/A2", -2)));
  EXPECT_EQ(row.text, "S+ C1-3:P1:S+ C3:P2 T . O2-0 . . . 1 A1:1,3,B1: A1:P1,A2:P-2");
}

TEST(KernelTable, RejectsWhatIsNoTable) {
  const auto error_of = [](const std::string& row) {
    const auto rows = parse_table("TEST_MATRIX=(\n" + row + "\n)\n");
    return rows ? "" : rows.error().message;
  };
  const struct {
    const char* row;
    const char* problem;
  } cases[] = {
      {"S+", "line 2: 'S+': expected a row in quotes"},
      {"\"S+ . .\"", "line 2: 'S+ . . ': expected 10 to 12 columns"},
      {"\"$X\"", "line 2: '$X': expected a variable of the script"},
      {"\"S- . . . . . . . . 0\"", "'S-': expected S+"},
      {"\"S+ C . . . . . . . 0\"", "'C': expected C and a list of CPUs"},
      {"\"S+ P3 . . . . . . . 0\"", "'P3': expected P0, P1 or P2"},
      {"\"S+ Tx . . . . . . . 0\"", "'Tx': expected T"},
      {"\"S+ O1 . . . . . . . 0\"", "'O1': expected O, a CPU, and -0 or -1"},
      {"\"S+ X1 . . . . . . . 0\"", "'X1': expected an action: S, C, P, T or O"},
      {"\"S+ . . . . . . . . x\"", "'x': expected a number"},
      {"\"S+ . . . . . . . . 0 C1:0\"", "'C1': expected one of the groups A1, A2, A3 and B1"},
      {"\"S+ . . . . . . . . 0 A1:0,A1:1\"", "expected each group once"},
      {"\"S+ . . . . . . . . 0 0-1\"", "'0-1': expected GROUP:VALUE,..."},
      {"\"S+ . . . . . . . . 0 . A1:P3\"", "'P3': expected P-2 to P2"},
      {"\"S+ . . . . . . . . 0 . A1:1\"", "'1': expected P and a state"},
  };
  for (const auto& each : cases) EXPECT_THAT(error_of(each.row), HasSubstr(each.problem));
  EXPECT_EQ(parse_table("echo").error().message, "the script has no TEST_MATRIX");
  EXPECT_EQ(parse_table("TEST_MATRIX=(\n").error().message, "TEST_MATRIX has no end");
  EXPECT_EQ(state_of("root invalid (reason)").value(), -1);
  EXPECT_FALSE(state_of("rooted").has_value());
}

/// After any actions, the CPUs of a valid partition belong to it alone.
TEST(KernelTable, NoTwoGroupsOfTheModelHaveTheCpusOfAPartition) {
  int within = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const TableRow row = random_row(seed);
    std::string beyond;
    const auto played = play_on_model(row, &beyond);
    ASSERT_TRUE(played.has_value()) << row.text << ": " << played.error().message;
    if (!beyond.empty()) continue;
    ++within;
    for (const auto& [group, state] : played->states) {
      if (state <= 0) continue;
      for (const auto& [other, cpus] : played->effective) {
        if (other.starts_with(group)) continue;  // the group itself, or below it
        EXPECT_FALSE(played->effective.at(group).intersects(cpus)) << row.text << "\n"
                                                                   << to_string(*played);
      }
    }
  }
  EXPECT_GT(within, 1000) << "most rows should not be beyond the model";
}

}  // namespace
}  // namespace pinfold::test
