#include "pinfold/harness/witness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

/// Judges from where tasks ran whether exclusive CPUs were exclusive.
namespace pinfold::harness {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kMs = "000000";  // appended to a number of ms, gives ns

/// Two containers and a sandbox that exist from the beginning on.
const std::string kGroups =
    "g 0 podA/c\n"
    "g 1 podB/c\n"
    "g 2 podB/pause\n"
    "x 0 0 /bin/app\n"
    "x 1 0 /bin/app\n"
    "x 2 0 /pause\n";

/// A line "r GROUP CPU FROM TO RAN" with times in ms.
std::string ran(int group, int cpu, int from, int to, int ms) {
  const auto time = [](int value) { return std::to_string(value) + (value == 0 ? "" : kMs); };
  return "r " + std::to_string(group) + " " + std::to_string(cpu) + " " + time(from) + " " +
         time(to) + " " + time(ms) + "\n";
}
std::string marks(const std::vector<int>& at_ms) {
  std::string text;
  for (std::size_t i = 0; i < at_ms.size(); ++i) {
    text += "m " + std::to_string(i) + " " + std::to_string(at_ms[i]) + kMs + "\n";
  }
  return text;
}

WitnessFindings judge(const std::string& text, const std::vector<ExclusiveCpus>& owned,
                      const ExclusiveCpus& lasting = {}) {
  const auto record = parse_witness(text);
  if (!record) {
    ADD_FAILURE() << record.error().message;
    return {};
  }
  return judge_witness(*record, owned, lasting);
}

const ExclusiveCpus kOwned = {{"podA/c", CpuSet{2, 3}}};

TEST(Witness, NothingIsWrongIfEachIsWhereItBelongs) {
  const auto found = judge(kGroups + marks({1, 100}) + ran(0, 2, 1, 90, 50) + ran(1, 1, 1, 90, 50) +
                               ran(0, 3, 20, 30, 10),
                           {kOwned, kOwned});
  EXPECT_THAT(found.intruders, IsEmpty());
  EXPECT_THAT(found.misplaced, IsEmpty());
  EXPECT_EQ(found.owners, 1U);
}

TEST(Witness, FindsATaskOnExclusiveCpusOfAnother) {
  const auto found = judge(kGroups + marks({1, 100}) + ran(1, 2, 10, 20, 2) + ran(1, 3, 30, 40, 1),
                           {kOwned, kOwned});
  EXPECT_THAT(found.intruders, ElementsAre("podB/c ran 3.000 ms on CPUs 2-3 of podA/c"));
}

TEST(Witness, ToleratesAMillisecondInAll) {
  const std::string text = kGroups + marks({1, 100});
  EXPECT_THAT(judge(text + ran(1, 2, 10, 20, 1), {kOwned, kOwned}).intruders, IsEmpty());
  EXPECT_THAT(judge(text + ran(1, 2, 10, 20, 1) + "r 1 2 30000000 30000001 1\n", {kOwned, kOwned})
                  .intruders,
              ElementsAre(HasSubstr("1.000 ms on CPU 2 of podA/c")));
}

TEST(Witness, FindsAContainerOutsideItsCpus) {
  const auto found =
      judge(kGroups + marks({1, 100}) + "r 0 5 10000000 10000001 1\n", {kOwned, kOwned});
  EXPECT_THAT(found.misplaced, ElementsAre("podA/c ran 0.000 ms on CPU 5, outside its CPUs"));
}

TEST(Witness, ASandboxIsNoContainer) {
  const auto found = judge(kGroups + marks({1, 100}) + ran(2, 2, 10, 20, 5), {kOwned, kOwned});
  EXPECT_THAT(found.intruders, IsEmpty());
  EXPECT_EQ(found.by_sandboxes, 5'000'000);
}

TEST(Witness, ContainersOfAPodShareItsCpus) {
  const ExclusiveCpus pod = {{"podB", CpuSet{2, 3}}};
  const std::string text = kGroups + "g 3 podB/d\nx 3 0 /bin/app\n" + marks({1, 100});
  EXPECT_THAT(judge(text + ran(1, 2, 10, 20, 5) + ran(3, 2, 30, 40, 5), {pod, pod}).intruders,
              IsEmpty());
  EXPECT_THAT(judge(text + ran(0, 2, 10, 20, 5), {pod, pod}).intruders,
              ElementsAre("podA/c ran 5.000 ms on CPU 2 of podB"));
  EXPECT_THAT(judge(text + ran(3, 4, 10, 20, 5), {pod, pod}).misplaced,
              ElementsAre("podB/d ran 5.000 ms on CPU 4, outside its CPUs"));
}

TEST(Witness, AContainerOfAPodHasItsCpusAlone) {
  const ExclusiveCpus both = {{"podB", CpuSet{2, 3}}, {"podB/d", CpuSet{3}}};
  const std::string text = kGroups + "g 3 podB/d\nx 3 0 /bin/app\n" + marks({1, 100});
  const auto found = judge(
      text + ran(1, 3, 10, 20, 5) + ran(3, 3, 30, 40, 5) + ran(1, 2, 10, 20, 5), {both, both});
  EXPECT_THAT(found.intruders, ElementsAre("podB/c ran 5.000 ms on CPU 3 of podB/d"));
  EXPECT_THAT(found.misplaced, IsEmpty());
}

/// The container begins at 50 ms, between the marks.
const std::string kBorn =
    "g 0 podA/c\ng 1 podB/c\nx 1 0 /bin/app\nm 0 1000000\nx 0 50000000 /bin/app\nm 1 100000000\n";

TEST(Witness, ANewContainerHasItsCpusFromItsFirstProgramOn) {
  EXPECT_THAT(judge(kBorn + ran(1, 2, 10, 50, 30), {{}, kOwned}).intruders, IsEmpty());
  EXPECT_THAT(judge(kBorn + ran(1, 2, 50, 60, 5), {{}, kOwned}).intruders,
              ElementsAre(HasSubstr("podB/c ran 5.000 ms")));
  EXPECT_THAT(judge(kBorn + ran(0, 7, 50, 51, 1), {{}, kOwned}).misplaced,
              ElementsAre(HasSubstr("podA/c ran 1.000 ms on CPU 7")));
}

TEST(Witness, AContainerThatBecomesExclusiveCountsFromTheNextMarkOn) {
  const std::string text =
      kGroups + marks({1, 100, 200}) + ran(1, 2, 10, 20, 5) + ran(0, 7, 30, 40, 5);
  EXPECT_THAT(judge(text, {{}, kOwned, kOwned}).intruders, IsEmpty());
  EXPECT_THAT(judge(text, {{}, kOwned, kOwned}).misplaced, IsEmpty());
  EXPECT_THAT(judge(text + ran(1, 2, 110, 120, 5), {{}, kOwned, kOwned}).intruders,
              ElementsAre(HasSubstr("podB/c")));
}

TEST(Witness, WhatEndsHasNothingAnyMore) {
  const std::string text = kGroups + marks({1, 100}) + "e 0 50000000\n";
  EXPECT_THAT(judge(text + ran(1, 2, 50, 60, 5), {kOwned, kOwned}).intruders, IsEmpty());
  EXPECT_THAT(judge(text + ran(1, 2, 40, 50, 5), {kOwned, kOwned}).intruders,
              ElementsAre(HasSubstr("podB/c")));
}

/// From CPUs 2-3 to CPUs 3-4 between two marks.
TEST(Witness, InAHandOverTheOldOwnerLeavesBeforeTheNewOneComes) {
  const std::vector<ExclusiveCpus> owned = {kOwned, {{"podA/c", CpuSet{3, 4}}}};
  const std::string text = kGroups + marks({1, 100});
  // podA/c leaves CPU 2 before podB/c comes, and podB/c leaves CPU 4 before podA/c comes.
  const std::string right = text + ran(0, 2, 10, 40, 5) + ran(1, 2, 45, 90, 5) +
                            ran(1, 4, 10, 50, 5) + ran(0, 4, 55, 90, 5);
  EXPECT_THAT(judge(right, owned).intruders, IsEmpty());
  const auto waits = judge(right + ran(0, 7, 41, 42, 1), owned);
  EXPECT_THAT(waits.misplaced, IsEmpty());
  const std::string too_early =
      text + ran(0, 2, 10, 20, 5) + ran(1, 2, 25, 30, 5) + ran(0, 2, 35, 40, 5);
  EXPECT_THAT(judge(too_early, owned).intruders,
              ElementsAre("podB/c ran 5.000 ms on CPU 2 of podA/c"));
  const std::string too_late = text + ran(0, 4, 10, 20, 5) + ran(1, 4, 25, 30, 5);
  EXPECT_THAT(judge(too_late, owned).intruders,
              ElementsAre("podB/c ran 5.000 ms on CPU 4 of podA/c"));
  EXPECT_THAT(judge(text + ran(1, 3, 25, 30, 5), owned).intruders,
              ElementsAre("podB/c ran 5.000 ms on CPU 3 of podA/c"));
}

TEST(Witness, LastingCpusCountAsLongAsTheirGroupLives) {
  const std::string text =
      "g 0 podA/c\ng 1 podB/c\nx 1 0 /bin/app\nx 0 50000000 /bin/app\ne 0 60000000\n";
  EXPECT_THAT(judge(text + ran(1, 2, 40, 50, 5), {}, kOwned).intruders, IsEmpty());
  EXPECT_THAT(judge(text + ran(1, 2, 60, 70, 5), {}, kOwned).intruders, IsEmpty());
  EXPECT_THAT(judge(text + ran(1, 2, 50, 60, 5), {}, kOwned).intruders,
              ElementsAre(HasSubstr("podB/c")));
  EXPECT_THAT(judge(text + ran(0, 5, 50, 60, 5), {}, kOwned).misplaced,
              ElementsAre(HasSubstr("podA/c")));
  EXPECT_EQ(judge(text, {}, kOwned).owners, 1U);
}

TEST(Witness, AContainerThatNeverRanIsNoProof) {
  EXPECT_EQ(judge("g 0 podA/c\n" + marks({1, 2}), {kOwned, kOwned}).owners, 0U);
}

TEST(ParseWitness, SaysWhichLineIsWrong) {
  const char* const wrong[] = {
      "",                          // an empty line
      "g 1 podA/c",                // not the next number
      "g 0",                       // no name
      "x 0 5 /bin/app",            // no such group
      "r 0 1 2 3 4",               // no such group
      "m 1 5",                     // not the next number
      "m 0 -5",                    // negative
      "m 0 99999999999999999999",  // too large
      "m 0 5 x",                   // something after it
      "q 0",                       // unknown
      "e 0 1",                     // nothing that could end
  };
  for (const char* const line : wrong) {
    const auto record = parse_witness(std::string(line) + "\n");
    ASSERT_FALSE(record.has_value()) << line;
    EXPECT_EQ(record.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(record.error().message, HasSubstr("line 1: '" + std::string(line) + "'"));
  }
}

TEST(ParseWitness, RefusesWhatCannotBe) {
  const std::string group = "g 0 podA/c\n";
  const std::string wrong[] = {
      group + "r 0 1 5 3 1\n",               // it ends before it begins
      group + "r 0 1 5 7 3\n",               // it ran longer than that
      group + "r 0 70000 5 7 1\n",           // no such CPU
      group + "r 0 1 5 7 1\nr 0 1 6 8 1\n",  // two at once
      group + "x 0 5 /a\nx 0 6 /a\n",        // it lives already
      group + "x 0 5 /a\ne 0 4\n",           // it ends before it begins
      group + "x 0 5 /a\ne 0 6\ne 0 7\n",    // twice
      "m 0 5\nm 1 4\n",                      // time goes back
  };
  for (const std::string& text : wrong) EXPECT_FALSE(parse_witness(text).has_value()) << text;
}

}  // namespace
}  // namespace pinfold::harness
