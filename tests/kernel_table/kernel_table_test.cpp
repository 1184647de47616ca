#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "on_model.hpp"
#include "random_rows.hpp"
#include "run_program.hpp"
#include "table.hpp"

/// The model kernel against the tables that Linux uses to test its cpusets.
namespace pinfold::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

/// Returns the script, from a Debian package that is downloaded once.
std::string kernel_script(const std::string& tests) {
  const Outcome built = run_shell(PINFOLD_VM_IMAGES " --tests " + tests);
  EXPECT_EQ(built.status, 0) << built.err;
  const std::string folder = built.out.substr(0, built.out.find('\n'));
  std::ifstream in(folder + "/test_cpuset_prs.sh");
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Plays every row of a table; expects at least `count` of them.
void expect_model_agrees(const std::string& tests, std::size_t count) {
  const auto rows = parse_table(kernel_script(tests));
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
  EXPECT_GE(rows->size(), count) << "the table has more rows";
}

TEST(KernelTable, TheModelAgreesWithEveryRow) { expect_model_agrees("selftests-6.1", 60); }

TEST(KernelTable, TheModelAgreesWithEveryRowOfLinux7) { expect_model_agrees("selftests-sid", 131); }

TEST(KernelTable, NoRowOfLinux7IsBeyondTheModel) {
  const auto rows = parse_table(kernel_script("selftests-sid"));
  ASSERT_TRUE(rows.has_value()) << rows.error().message;
  for (const TableRow& row : *rows) {
    std::string beyond;
    (void)play_on_model(row, &beyond);
    EXPECT_EQ(beyond, "") << row.text;
  }
}

/// The same rows on both: what a conflict with a sibling costs a partition.
TEST(KernelTable, AConflictCostsAPartitionItsStateBeforeLinux7AndItsCpusSince) {
  const auto states = [](const char* row, TableKind kind) {
    return to_string(play_on_model(parse_row(row, kind).value()).value());
  };
  EXPECT_EQ(states("S+ C0-1:P1 . . P1:C2-3 C0-2 . . . 0", TableKind::kInPartition),
            "0 A1:0-2,B1:2-3 A1:P-1,B1:P-1");
  EXPECT_EQ(states("C0-1:P1 . . P1:C2-3 C0-2 . . . 0", TableKind::kAtRoot),
            "0 A1:0-1,A2:0-1,A3:0-1,B1:2-3,XA1:0-1,XA2:,XA3:,XB1:2-3 "
            "A1:P1,A2:P0,A3:P0,B1:P1 ");
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

TEST(KernelTable, ParsesLinux7sNotation) {
  const auto rows = parse_table(
      "TEST_MATRIX=(\n"
      "\t\"  CX1-2:P2 C . . X O2=1 . T 1 A1:1,3|XA2:2:B1|A3 \\\n"
      "\t\tA1:P2|A2:P-1:B1:P1 1-2|1\"\n"
      ")\n"
      "REMOTE_TEST_MATRIX=(\n"
      "\t\" . . X3 . . . . . . . . . c11:3 c22:P0 .\"\n"
      ")\n");
  ASSERT_TRUE(rows.has_value()) << rows.error().message;
  ASSERT_EQ(rows->size(), 2U);
  const TableRow& row = rows->front();
  using Kind = TableAction::Kind;
  EXPECT_EQ(row.kind, TableKind::kAtRoot);
  EXPECT_EQ(row.before, (TableActions{{{Kind::kCpus, "A1", "1-2"},
                                       {Kind::kExclusive, "A1", "1-2"},
                                       {Kind::kPartition, "A1", "isolated"}},
                                      {{Kind::kCpus, "A1/A2", ""}},
                                      {},
                                      {}}));
  EXPECT_EQ(row.after, (TableActions{{{Kind::kExclusive, "A1", ""}},
                                     {{Kind::kOnline, "A1/A2", "2-1"}},
                                     {},
                                     {{Kind::kProcess, "B1", "0"}}}));
  EXPECT_EQ(row.failures, 1);
  EXPECT_THAT(row.effective, ElementsAre(Pair("A1", CpuSet{1, 3}), Pair("A1/A2/A3", CpuSet{})));
  EXPECT_THAT(row.exclusive, ElementsAre(Pair("A1/A2", CpuSet{2})));
  EXPECT_THAT(row.states, ElementsAre(Pair("A1", 2), Pair("A1/A2", -1)));
  EXPECT_EQ(row.isolated, CpuSet{1});
  EXPECT_EQ(rows->back().kind, TableKind::kRemote);
  EXPECT_THAT(rows->back().effective, ElementsAre(Pair("p1/c11", CpuSet{3})));
  EXPECT_EQ(rows->back().isolated, CpuSet{});
}

TEST(KernelTable, ADifferenceOfLinux7IsSeen) {
  const std::string actions = "C1-2:P2 . . . . . . . ";
  const TableRow row = parse_row(actions + "0 XA1:1-2 . 1-2", TableKind::kAtRoot).value();
  const Played played = play_on_model(row).value();
  ASSERT_EQ(difference(row, played), "");
  const auto differs = [&](const std::string& results) {
    return difference(parse_row(actions + results, TableKind::kAtRoot).value(), played);
  };
  EXPECT_EQ(differs("0 XA1:1"), "effective exclusive CPUs of A1: '1-2', expected '1'");
  EXPECT_EQ(differs("0 . . 1"), "isolated CPUs: '1-2', expected '1'");
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
      {"\"S+ . . . . . . . . 0 C1:0\"", "'C1': expected one of the groups A1, A2, A3, B1"},
      {"\"S+ . . . . . . . . 0 A1:0,A1:1\"", "expected each group once"},
      {"\"S+ . . . . . . . . 0 0-1\"", "'0-1': expected GROUP:VALUE,..."},
      {"\"S+ . . . . . . . . 0 . A1:P3\"", "'P3': expected P-2 to P2"},
      {"\"S+ . . . . . . . . 0 . A1:1\"", "'1': expected P and a state"},
  };
  for (const auto& each : cases) EXPECT_THAT(error_of(each.row), HasSubstr(each.problem));
  EXPECT_EQ(parse_table("echo").error().message, "the script has no TEST_MATRIX");
  EXPECT_EQ(parse_table("TEST_MATRIX=(\n").error().message, "TEST_MATRIX has no end");
  const auto linux7_error_of = [](const std::string& row) {
    const auto parsed = parse_row(row, TableKind::kAtRoot);
    return parsed ? "" : parsed.error().message;
  };
  EXPECT_EQ(linux7_error_of("C1"), "'C1': expected 9 to 12 columns");
  EXPECT_EQ(linux7_error_of("S+ . . . . . . . 0"), "'S+': expected an action: X, C, P, T or O");
  EXPECT_EQ(linux7_error_of("O1-0 . . . . . . . 0"), "'O1-0': expected O, a CPU, and =0 or =1");
  EXPECT_EQ(linux7_error_of("Xa . . . . . . . 0"), "'Xa': expected X and a list of CPUs");
  EXPECT_EQ(linux7_error_of(". . . . . . . . 0 A1:0|A1:1"),
            "'A1:0|A1:1': expected each group once");
  EXPECT_EQ(state_of("root invalid (reason)").value(), -1);
  EXPECT_FALSE(state_of("rooted").has_value());
}

/// After any actions, the CPUs of a valid partition belong to it alone.
TEST(KernelTable, NoTwoGroupsOfTheModelHaveTheCpusOfAPartition) {
  const std::vector kinds = {TableKind::kInPartition, TableKind::kAtRoot, TableKind::kRemote};
  std::map<TableKind, int> within;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    const TableRow row = random_row(seed, kinds[seed % kinds.size()]);
    std::string beyond;
    const auto played = play_on_model(row, &beyond);
    const bool may_fail = row.kind != TableKind::kInPartition;  // the set-up
    ASSERT_TRUE(played || may_fail) << row.text << ": " << played.error().message;
    if (!played || !beyond.empty()) continue;
    ++within[row.kind];
    for (const auto& [group, state] : played->states) {
      if (state <= 0) continue;
      for (const auto& [other, cpus] : played->effective) {
        if (other.starts_with(group)) continue;  // the group itself, or below it
        EXPECT_FALSE(played->effective.at(group).intersects(cpus)) << row.text << "\n"
                                                                   << to_string(*played);
      }
    }
  }
  for (const TableKind kind : kinds) {
    EXPECT_GT(within[kind], 500) << "too many rows are beyond the model";
  }
}

}  // namespace
}  // namespace pinfold::test
