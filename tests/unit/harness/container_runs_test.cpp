#include "container_runs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recorded_switches.hpp"
#include "switch_trace.hpp"

/// The reader of tracefs ring buffers, and the runs that are derived from them.
namespace pinfold::guest {
namespace {

using Kind = TaskEventKind;
using testing::ElementsAre;

TraceFormats recorded_formats() {
  TraceFormats formats;
  std::transform(std::begin(test::kRecordedFormats), std::end(test::kRecordedFormats),
                 formats.begin(), parse_trace_format);
  return formats;
}

DecodedPage decode(const std::string& page) { return decode_page(recorded_formats(), 3, page); }

void append(std::string& bytes, std::uint64_t value, std::size_t size) {
  bytes.append(reinterpret_cast<const char*>(&value), size);  // little endian
}

/// A page with the header that the kernel gives `data`.
std::string page_of(std::uint64_t time, const std::string& data, std::uint64_t flags = 0) {
  std::string page;
  append(page, time, 8);
  append(page, data.size() | flags, 8);
  return page + data;
}

/// An event of 28 bytes: a task exits.
std::string exit_event(std::uint32_t delta, std::uint32_t task) {
  std::string event;
  append(event, 7U | delta << 5U, 4);
  append(event, 369, 2);
  event.append(22, '\0');
  append(event, task, 4);
  return event;
}

using End = std::pair<int, std::int64_t>;  ///< a task and its time

std::vector<End> ends_in(const DecodedPage& page) {
  std::vector<End> ends;
  for (const TaskEvent& event : page.events) {
    if (event.kind == Kind::kExit) ends.emplace_back(event.task, event.time);
  }
  return ends;
}

TEST(SwitchTrace, ReadsWhatAKernelHasRecorded) {
  const DecodedPage page = decode(test::recorded_page(test::kRecordedCpu0));
  EXPECT_FALSE(page.is_malformed);
  EXPECT_EQ(page.lost, 0U);
  ASSERT_EQ(page.events.size(), 7U);
  EXPECT_EQ(page.events[0], (TaskEvent{45677915933962, 3, Kind::kMark, 0, 0, 0, ""}));
  EXPECT_EQ(page.events[1], (TaskEvent{45677916354814, 3, Kind::kSwitch, 18511, 18521, 0, ""}));
  EXPECT_EQ(page.events[3],
            (TaskEvent{45677932658995, 3, Kind::kFork, 18593, 18521, 0x1200000, ""}));
  EXPECT_EQ(page.events[6], (TaskEvent{45677970814215, 3, Kind::kMark, 1, 0, 0, ""}));
}

TEST(SwitchTrace, ReadsGroupsAndPrograms) {
  const DecodedPage page = decode(test::recorded_page(test::kRecordedCpu1));
  const auto find = [&page](Kind kind) {
    const auto found = std::find_if(page.events.begin(), page.events.end(),
                                    [kind](const TaskEvent& one) { return one.kind == kind; });
    return found == page.events.end() ? TaskEvent() : *found;
  };
  EXPECT_EQ(find(Kind::kAttach),
            (TaskEvent{45677948144930, 3, Kind::kAttach, 18593, 0, 0, "/kubepods/podA/c"}));
  EXPECT_EQ(find(Kind::kExec),
            (TaskEvent{45677948885303, 3, Kind::kExec, 18593, 18593, 0, "/bin/sleep"}));
  EXPECT_EQ(find(Kind::kExit), (TaskEvent{45677970388976, 3, Kind::kExit, 18593, 0, 0, ""}));
}

TEST(SwitchTrace, AddsUpTimes) {
  std::string extend;
  append(extend, 30U | 5U << 5U, 4);
  append(extend, 2, 4);  // 2 * 2^27 + 5
  std::string absolute;
  append(absolute, 31U | 9U << 5U, 4);
  append(absolute, 4, 4);
  std::string discarded;  // its time counts, its data does not
  append(discarded, 29U | 6U << 5U, 4);
  append(discarded, 8, 4);
  append(discarded, 0, 4);
  const DecodedPage page =
      decode(page_of(100, exit_event(1, 7) + extend + exit_event(1, 8) + discarded +
                              exit_event(0, 9) + absolute + exit_event(0, 10)));
  EXPECT_FALSE(page.is_malformed);
  const std::int64_t extended = 101 + (2LL << 27) + 5 + 1;
  EXPECT_THAT(ends_in(page), ElementsAre(End(7, 101), End(8, extended), End(9, extended + 6),
                                         End(10, (4LL << 27) + 9)));
}

TEST(SwitchTrace, NoticesLostEvents) {
  constexpr std::uint64_t kMissed = 1U << 31U;
  constexpr std::uint64_t kStored = 1U << 30U;
  EXPECT_EQ(decode(page_of(100, exit_event(1, 7), kMissed)).lost, 1U);
  std::string counted = page_of(100, exit_event(1, 7), kMissed | kStored);
  append(counted, 42, 8);
  EXPECT_EQ(decode(counted).lost, 42U);
  EXPECT_EQ(ends_in(decode(counted)).size(), 1U);
}

TEST(SwitchTrace, APageThatIsCutOffIsMalformed) {
  const std::string whole = page_of(100, exit_event(1, 7));
  EXPECT_FALSE(decode(whole).is_malformed);
  EXPECT_TRUE(decode(whole.substr(0, 12)).is_malformed);
  EXPECT_TRUE(decode(whole.substr(0, whole.size() - 1)).is_malformed);
  EXPECT_TRUE(decode(page_of(100, exit_event(1, 7).substr(0, 10))).is_malformed);
}

TEST(SwitchTrace, SaysWhatAKernelDoesNotHave) {
  TraceFormats formats = recorded_formats();
  EXPECT_EQ(missing_trace_field(formats), "");
  formats[static_cast<std::size_t>(Kind::kFork)].fields.erase("clone_flags");
  EXPECT_EQ(missing_trace_field(formats), "task/task_newtask: clone_flags");
  formats[static_cast<std::size_t>(Kind::kSwitch)] = parse_trace_format("");
  EXPECT_EQ(missing_trace_field(formats), "sched/sched_switch");
}

/// A guest with a runtime in task 10 and a container in task 20.
class ContainerRunsTest : public testing::Test {
 protected:
  void SetUp() override {
    runs_.know({10, 10, "/system", "/usr/bin/runtime"});
    runs_.know({20, 20, "/kubepods/podA/c", "/bin/app"});
    mark(0);
  }

  void mark(int number) { runs_.add({at_, 0, Kind::kMark, number, 0, 0, ""}); }
  void run(std::int64_t at, int cpu, int before, int now) {
    runs_.add({at_ = at, cpu, Kind::kSwitch, now, before, 0, ""});
  }
  void fork(int parent, int child, std::uint64_t flags = 0) {
    runs_.add({at_, 0, Kind::kFork, child, parent, flags, ""});
  }
  void attach(int task, const std::string& group, int hierarchy = 0) {
    runs_.add({at_, 0, Kind::kAttach, task, hierarchy, 0, group});
  }
  void exec(std::int64_t at, int cpu, int task, const std::string& program) {
    runs_.add({at_ = at, cpu, Kind::kExec, task, task, 0, program});
  }
  void exit(int task) { runs_.add({at_, 0, Kind::kExit, task, 0, 0, ""}); }
  /// Returns the lines that begin with a letter.
  [[nodiscard]] std::string lines(char what) const {
    std::string found;
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = runs_.text().find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      if (runs_.text()[begin] == what) found += runs_.text().substr(begin, end + 1 - begin);
    }
    return found;
  }

  std::int64_t at_ = 1000;
  std::optional<std::string> asked_ = "/kubepods/podB/c";
  ContainerRuns runs_{"/kubepods", 0, [this](int) { return asked_; }};
};

TEST_F(ContainerRunsTest, ReducesWhatAKernelHasRecorded) {
  ContainerRuns runs("/kubepods", 0, [](int) { return std::nullopt; });
  runs.know({18521, 18521, "/", "/usr/bin/python3"});
  std::vector<TaskEvent> events =
      decode_page(recorded_formats(), 0, test::recorded_page(test::kRecordedCpu0)).events;
  const auto more =
      decode_page(recorded_formats(), 1, test::recorded_page(test::kRecordedCpu1)).events;
  events.insert(events.end(), more.begin(), more.end());
  std::stable_sort(events.begin(), events.end(),
                   [](const TaskEvent& a, const TaskEvent& b) { return a.time < b.time; });
  for (const TaskEvent& event : events) runs.add(event);
  runs.finish(45677970814215);
  EXPECT_EQ(runs.text(),
            "m 0 45677915933962\n"
            "g 0 podA/c\n"
            "x 0 45677948885303 /bin/sleep\n"
            "r 0 1 45677948885303 45677970388976 927801\n"
            "e 0 45677970388976\n"
            "m 1 45677970814215\n");
  EXPECT_EQ(runs.gaps(), 3U);  // where events of other processes are left out
  EXPECT_EQ(runs.unknown(), 3U);
}

TEST_F(ContainerRunsTest, JoinsRunsOfAGroupUntilAnotherOneRuns) {
  runs_.know({30, 30, "/kubepods/podB/c", "/bin/app"});
  run(1100, 2, 0, 20);
  run(1150, 2, 20, 10);  // the runtime does not count
  run(1200, 2, 10, 20);
  run(1300, 2, 20, 30);
  run(1400, 2, 30, 20);
  run(1450, 2, 20, 0);
  runs_.finish(2000);
  EXPECT_EQ(lines('r'), "r 0 2 1100 1300 150\nr 1 2 1300 1400 100\nr 0 2 1400 1450 50\n");
  EXPECT_EQ(runs_.gaps() + runs_.unknown(), 0U);
}

TEST_F(ContainerRunsTest, WhatRunsFromBeforeTheRecordCountsFromItsBeginning) {
  run(1100, 2, 20, 0);
  runs_.finish(1100);
  EXPECT_EQ(lines('r'), "r 0 2 1000 1100 100\n");
}

TEST_F(ContainerRunsTest, AContainerBeginsWithItsProgram) {
  run(1100, 1, 0, 10);
  fork(10, 40);
  run(1200, 1, 10, 40);
  attach(40, "/kubepods/podB/c");
  run(1300, 1, 40, 0);
  run(1400, 1, 0, 40);
  exec(1500, 1, 40, "/proc/self/fd/7");  // the runtime itself
  exec(1600, 1, 40, "/bin/app");
  run(1700, 1, 40, 0);
  EXPECT_EQ(lines('x'), "x 0 0 /bin/app\nx 1 1600 /bin/app\n");
  runs_.finish(1800);
  EXPECT_EQ(lines('r'), "r 1 1 1600 1700 100\n");
}

TEST_F(ContainerRunsTest, AContainerEndsWithItsLastTask) {
  run(1100, 1, 0, 20);
  fork(20, 21);
  exit(20);
  EXPECT_EQ(lines('e'), "");
  run(1200, 1, 20, 21);
  run(1300, 1, 21, 0);
  exit(21);
  EXPECT_EQ(lines('e'), "e 0 1300\n");
  EXPECT_EQ(lines('r'), "r 0 1 1200 1300 100\n");  // an exiting task runs only kernel code
}

TEST_F(ContainerRunsTest, ThreadsFollowTheirProcess) {
  constexpr std::uint64_t kThread = 0x10000;
  fork(20, 22, kThread);
  attach(20, "/kubepods/podA/c/below");
  run(1100, 1, 0, 22);
  run(1200, 1, 22, 0);
  runs_.finish(1300);
  EXPECT_EQ(lines('g'), "g 0 podA/c\ng 1 podA/c/below\n");
  EXPECT_EQ(lines('x'), "x 0 0 /bin/app\nx 1 1000 -\n");
  EXPECT_EQ(lines('r'), "r 1 1 1100 1200 100\n");
}

TEST_F(ContainerRunsTest, AnotherHierarchyDoesNotCount) {
  attach(20, "/elsewhere", 4);
  run(1100, 1, 0, 20);
  run(1200, 1, 20, 0);
  runs_.finish(1300);
  EXPECT_EQ(lines('r'), "r 0 1 1100 1200 100\n");
}

TEST_F(ContainerRunsTest, AsksForTheGroupOfATaskThatIsForkedIntoOne) {
  constexpr std::uint64_t kIntoGroup = 0x200000000;
  fork(10, 50, kIntoGroup);
  EXPECT_EQ(lines('g'), "g 0 podA/c\ng 1 podB/c\n");
  asked_.reset();
  fork(10, 51, kIntoGroup);
  run(1100, 1, 0, 51);
  run(1200, 1, 51, 0);
  EXPECT_EQ(runs_.unknown(), 1U);
}

TEST_F(ContainerRunsTest, TakesTheGroupThatTheReaderHasAskedFor) {
  constexpr std::uint64_t kIntoGroup = 0x200000000;
  asked_.reset();
  runs_.add({at_, 0, Kind::kFork, 51, 10, kIntoGroup, "/kubepods/podB/c"});
  runs_.add({at_, 1, Kind::kExec, 51, 51, 0, "/bin/app"});
  EXPECT_EQ(lines('x'), "x 0 0 /bin/app\nx 1 1000 /bin/app\n");
}

TEST_F(ContainerRunsTest, AChildTellsTheGroupOfAParentThatHasEnded) {
  constexpr std::uint64_t kIntoGroup = 0x200000000;
  asked_.reset();
  fork(10, 51, kIntoGroup);
  run(1100, 1, 0, 51);
  asked_ = "/kubepods/podB/c";
  fork(51, 52);
  run(1200, 1, 51, 0);
  EXPECT_EQ(runs_.unknown(), 0U);
  EXPECT_EQ(lines('g'), "g 0 podA/c\ng 1 podB/c\n");
}

TEST_F(ContainerRunsTest, MarksCutWhatRuns) {
  run(1100, 1, 0, 20);
  at_ = 1200;
  mark(1);
  run(1300, 1, 20, 0);
  runs_.finish(1400);
  EXPECT_EQ(lines('m'), "m 0 1000\nm 1 1200\n");
  EXPECT_EQ(lines('r'), "r 0 1 1100 1200 100\nr 0 1 1200 1300 100\n");
}

TEST_F(ContainerRunsTest, NoticesWhatIsMissing) {
  run(1100, 1, 0, 10);
  run(1200, 1, 20, 0);  // task 20 was never scheduled
  EXPECT_EQ(runs_.gaps(), 1U);
  run(1150, 2, 0, 10);  // too late
  EXPECT_EQ(runs_.gaps(), 2U);
  EXPECT_EQ(runs_.first_gap(), "task 20 stopped running on CPU 1 when task 10 ran there");
  run(1300, 3, 99, 0);
  EXPECT_EQ(runs_.unknown(), 1U);
}

// No event reports the switch from the task that takes the CPU offline to the idle task.
TEST_F(ContainerRunsTest, ACpuThatWasOfflineBeginsWithItsIdleTask) {
  runs_.know({40, 40, "/", "", 2});
  run(1100, 2, 20, 40);
  run(1900, 2, 0, 20);
  EXPECT_EQ(runs_.gaps(), 0U);
  run(2000, 2, 20, 40);
  run(2100, 2, 41, 20);  // without the idle task in between
  EXPECT_EQ(runs_.gaps(), 1U);
}

TEST_F(ContainerRunsTest, AThreadThatExecutesTakesTheNumberOfItsProcess) {
  constexpr std::uint64_t kThread = 0x10000;
  fork(20, 22, kThread);
  run(1100, 1, 0, 22);
  exit(20);
  run(1200, 1, 20, 10);  // before the event
  run(1300, 1, 10, 20);
  runs_.add({at_, 1, Kind::kExec, 20, 22, 0, "/bin/other"});
  run(1400, 1, 20, 0);
  EXPECT_EQ(runs_.gaps(), 0U);
  exit(20);
  EXPECT_EQ(lines('x'), "x 0 0 /bin/app\n");
  EXPECT_EQ(lines('r'), "r 0 1 1100 1400 200\n");
  EXPECT_EQ(lines('e'), "e 0 1400\n");
}

TEST(ContainerRuns, WhatEndsBeforeTheFirstMarkNeedNotBeKnown) {
  ContainerRuns runs("/kubepods", 0, [](int) { return std::nullopt; });
  runs.add({1000, 0, Kind::kSwitch, 0, 0, 0, ""});
  runs.add({1010, 0, Kind::kSwitch, 77, 0, 0, ""});
  runs.add({1020, 0, Kind::kSwitch, 0, 77, 0, ""});
  runs.add({1030, 0, Kind::kMark, 0, 0, 0, ""});
  EXPECT_EQ(runs.unknown(), 0U);
}

TEST(ContainerRuns, BelowTheRootOfTheHierarchyGroupsInGroupsCount) {
  ContainerRuns runs("", 0, [](int) { return std::nullopt; });
  runs.know({1, 1, "/harness", "/init"});
  runs.know({2, 2, "/a/b", "/bin/app"});
  EXPECT_EQ(runs.text(), "g 0 a/b\nx 0 0 /bin/app\n");
}

}  // namespace
}  // namespace pinfold::guest
