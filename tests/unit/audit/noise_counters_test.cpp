#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "pinfold/noise/counters.hpp"
#include "pinfold/noise/osnoise.hpp"

namespace pinfold::noise {
namespace {

constexpr const char* kInterrupts =
    "            CPU0       CPU3       \n"
    "  24:       1204         55   PCI-MSIX-0000:00:04.0   0-edge      virtio1-config\n"
    " LOC:     105521     260011   Local timer interrupts\n"
    " ERR:          0\n";

TEST(CountTable, HasTheRowsThatCountCpus) {
  const CountTable table = parse_counts(kInterrupts);
  EXPECT_EQ(table.cpus, (std::vector{CpuId{0}, CpuId{3}}));
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0].name, "24");
  EXPECT_EQ(table.rows[0].counts, (std::vector<std::uint64_t>{1204, 55}));
  EXPECT_EQ(table.rows[0].description, "PCI-MSIX-0000:00:04.0   0-edge      virtio1-config");
  EXPECT_EQ(table.rows[1].name, "LOC");
}

TEST(CountTable, ReadsSoftirqs) {
  const CountTable table = parse_counts("     CPU0  CPU1\n  NET_RX:  5  7\n");
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.rows[0], (CountRow{"NET_RX", "", {5, 7}}));
}

TEST(CountTable, IsEmptyWithoutItsHeading) {
  for (const std::string text : {"", "x\n 1: 1\n", "CPUx\n 1: 1\n", "CPU1 CPU0\n 1: 1 2\n",
                                 "CPU99999999\n 1: 1\n", "CPU-1\n 1: 1\n"}) {
    EXPECT_TRUE(parse_counts(text).rows.empty()) << text;
  }
}

TEST(LostTimes, AreMicroseconds) {
  const auto times = parse_lost_times(
      "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu1 1 2 3 4 5 6 7\nintr 5\n", 100);
  ASSERT_EQ(times.size(), 1U);
  using us = std::chrono::microseconds;
  EXPECT_EQ(times.at(CpuId{0}), (LostTimes{us(60'000), us(70'000), us(80'000)}));
}

TEST(Runs, AreTheLastNumberOfACpusLine) {
  const auto runs = parse_runs(
      "version 15\ntimestamp 42\ncpu0 0 0 7 6 5 4 3000 2000 99\ndomain0 1 2\ncpu2 1 2 3\n");
  EXPECT_EQ(runs, (std::map<CpuId, std::uint64_t>{{CpuId{0}, 99}}));
}

TEST(ThreadTimes, NeedThreeNumbers) {
  const auto times = parse_thread_times("5123000 9000 12\n");
  ASSERT_TRUE(times);
  using ns = std::chrono::nanoseconds;
  EXPECT_EQ(*times, (ThreadTimes{ns(5'123'000), ns(9000), 12}));
  for (const char* const text : {"", "1 2", "1 2 x", "-1 2 3"}) {
    EXPECT_FALSE(parse_thread_times(text)) << text;
  }
}

struct TraceCase {
  const char* line;
  TracedInterruption traced;
};

TEST(Osnoise, ReadsEveryEvent) {
  using ns = std::chrono::nanoseconds;
  const std::vector<TraceCase> cases = {
      {" <idle>-0 [003] d.h1. 12.5: irq_noise: local_timer:236 start 12.400 duration 1500 ns\n",
       {SourceKind::kTimer, CpuId{3}, "local_timer", 236, ns(12'400'000'000), ns(1500)}},
      {" x-1 [000] d.h1. 12.5: irq_noise: reschedule:253 start 12.4 duration 9 ns",
       {SourceKind::kKernelInterrupt, CpuId{0}, "reschedule", 253, ns(12'400'000'000), ns(9)}},
      {" x-1 [000] d.h1. 12.5: irq_noise: virtio2-input.0:38 start 12.4 duration 9 ns",
       {SourceKind::kInterrupt, CpuId{0}, "virtio2-input.0", 38, ns(12'400'000'000), ns(9)}},
      {" a-[9]-7 [010] ..s1. 12.5: softirq_noise:    TIMER:1 start 12.4 duration 20 ns",
       {SourceKind::kSoftirq, CpuId{10}, "TIMER", 1, ns(12'400'000'000), ns(20)}},
      {" x-1 [000] ..... 12.5: thread_noise: kworker/3:1:99 start 12.4 duration 25000 ns",
       {SourceKind::kWorkqueue, CpuId{0}, "kworker/3:1", 99, ns(12'400'000'000), ns(25'000)}},
      {" x-1 [000] ..... 12.5: thread_noise:     sshd:700 start 12.4 duration 1 ns",
       {SourceKind::kTask, CpuId{0}, "sshd", 700, ns(12'400'000'000), ns(1)}},
      {" x-1 [002] d.Z.. 12.5: nmi_noise: start 12.400000000 duration 90 ns",
       {SourceKind::kKernelInterrupt, CpuId{2}, "NMI", 0, ns(12'400'000'000), ns(90)}},
  };
  for (const auto& [line, traced] : cases) {
    const auto parsed = parse_osnoise(line);
    ASSERT_TRUE(parsed) << line;
    EXPECT_EQ(*parsed, traced) << line;
  }
}

TEST(Osnoise, IsSummedOverTheTimeOfTheTrace) {
  const char* const trace =
      "# tracer: osnoise\n"
      " a-1 [002] d.h1. 10.0: irq_noise: local_timer:236 start 10.000000000 duration 2000 ns\n"
      " a-1 [003] d.h1. 10.0: irq_noise: local_timer:236 start 10.000000000 duration 2000 ns\n"
      " a-1 [002] d.h1. 10.5: irq_noise: local_timer:236 start 10.500000000 duration 2000 ns\n"
      " a-1 [002] ..s1. 10.5: softirq_noise: TIMER:1 start 10.600000000 duration 1000 ns\n"
      " a-1 [002] ..... 10.9: thread_noise: dsp:50 start 10.700000000 duration 9000 ns\n"
      " a-1 [002] ..... 12.0: thread_noise: sshd:60 start 11.999990000 duration 10000 ns\n";
  const auto report = traced_noise(trace, {50}, {CpuSet{2}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->duration, std::chrono::seconds(2));
  ASSERT_EQ(report->cpus.size(), 1U);
  const CpuNoise& noise = report->cpus[0];
  ASSERT_EQ(noise.sources.size(), 3U);
  EXPECT_EQ(noise.sources[0].name, "local_timer");
  EXPECT_DOUBLE_EQ(noise.sources[0].per_second, 1);
  EXPECT_DOUBLE_EQ(*noise.sources[0].lost_us, 2);
  EXPECT_DOUBLE_EQ(noise.per_second, 1.5);
  EXPECT_DOUBLE_EQ(noise.lost_us, 7.5);
  EXPECT_EQ(noise.score, quiet_score(1.5, 7.5));
}

/// Such a trace is not silence: something else was traced, or nothing.
TEST(Osnoise, RejectsATraceWithoutEvents) {
  const std::string event = " x-1 [002] d.h1. 9.5: irq_noise: a:1 start 9.4 duration 0 ns\n";
  for (const std::string& trace :
       {std::string(), std::string("x\n"), std::string("# tracer: nop\n"),
        std::string(" x-1 [002] d.h1. 1.0: sched_switch: prev=1\n"), event, event + event}) {
    const auto report = traced_noise(trace, {}, {CpuSet{2}});
    ASSERT_FALSE(report) << trace;
    EXPECT_EQ(report.error().code, ErrorCode::kInvalidArgument) << trace;
    EXPECT_THAT(report.error().message, testing::HasSubstr("expected the trace file of tracefs"));
  }
}

TEST(Osnoise, ACpuWithoutEventsIsQuietIfAnotherOneHasSome) {
  const auto report = traced_noise(
      " x-1 [003] d.h1. 9.5: irq_noise: a:1 start 9.0 duration 5 ns\n"
      " x-1 [003] d.h1. 9.5: irq_noise: a:1 start 9.5 duration 5 ns\n",
      {}, {CpuSet{2}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->cpus.at(0).score, 100);
}

TEST(Osnoise, NamesADevicesInterruptByItsNumber) {
  const auto report = traced_noise(
      " x-1 [002] d.h1. 9.5: irq_noise: eth0:38 start 9.0 duration 5 ns\n"
      " x-1 [002] d.h1. 9.5: irq_noise: local_timer:236 start 9.5 duration 5 ns\n",
      {}, {CpuSet{2}, {}, CpuSet{0, 2}});
  ASSERT_TRUE(report) << report.error().message;
  const auto& sources = report->cpus.at(0).sources;
  ASSERT_EQ(sources.size(), 2U);
  EXPECT_EQ(sources[1].kind, SourceKind::kTimer);
  EXPECT_EQ(sources[0].name, "38");
  EXPECT_EQ(sources[0].detail, "eth0");
  EXPECT_THAT(sources[0].remedy, testing::HasSubstr("echo 0 > /proc/irq/38/smp_affinity_list"));
}

TEST(Osnoise, RejectsOtherLines) {
  for (const char* const line :
       {"", "# tracer: nop", " x-1 [000] ..... 12.5: sched_switch: prev=1",
        " x-1 [000] ..... 12.5: irq_noise: local_timer:236 start 12.4",
        " x-1 [000] ..... 12.5: irq_noise: local_timer start 12.4 duration 5 ns",
        " x-1 [000] ..... 12.5: irq_noise: t:1 start 12.4 duration -5 ns",
        " x-1 000 ..... 12.5: irq_noise: t:1 start 12.4 duration 5 ns"}) {
    EXPECT_FALSE(parse_osnoise(line)) << line;
  }
}

}  // namespace
}  // namespace pinfold::noise
