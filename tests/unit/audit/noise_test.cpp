#include "pinfold/noise/noise.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "pinfold/fields/json.hpp"
#include "pinfold/noise/fields.hpp"
#include "pinfold/noise/remedy.hpp"

namespace pinfold::noise {
namespace {

constexpr const char* kOwner = "/sys/fs/cgroup/pinfold/podx/app";

NoiseSample sample_at(int seconds) {
  NoiseSample sample;
  sample.at = std::chrono::seconds(seconds);
  return sample;
}

CountTable table_of(const std::string& name, std::uint64_t on_cpu2, std::uint64_t on_cpu3) {
  return {{CpuId{2}, CpuId{3}}, {{name, "device", {on_cpu2, on_cpu3}}}};
}

ThreadSample thread_of(pid_t id, const std::string& command, const std::string& group,
                       std::uint64_t runs) {
  ThreadSample sample;
  sample.task.process = id;
  sample.task.thread = id;
  sample.task.parent = 1;
  sample.task.started = id;
  sample.task.command = command;
  sample.task.cpu = CpuId{2};
  sample.task.group = group;
  sample.times = {std::chrono::microseconds(10 * runs), std::chrono::nanoseconds(0), runs};
  return sample;
}

ThreadSample kernel_thread_of(pid_t id, const std::string& command, std::uint64_t runs) {
  ThreadSample sample = thread_of(id, command, "/sys/fs/cgroup", runs);
  sample.task.is_kernel = true;
  return sample;
}

/// Measures CPU 2, which belongs to kOwner.
CpuNoise noise_between(const NoiseSample& before, const NoiseSample& after) {
  const NoiseReport report = measure(before, after, {CpuSet{2}, {{CpuId{2}, kOwner}}, {}});
  return report.cpus.at(0);
}

TEST(Noise, IsZeroOfEqualSamples) {
  const CpuNoise noise = noise_between(sample_at(1), sample_at(2));
  EXPECT_EQ(noise, CpuNoise{CpuId{2}});
  EXPECT_EQ(noise.score, 100);
}

TEST(Noise, IsZeroIfNoTimePassed) {
  NoiseSample after = sample_at(1);
  after.interrupts = table_of("24", 5, 5);
  EXPECT_EQ(noise_between(sample_at(1), after), CpuNoise{CpuId{2}});
}

TEST(Noise, CountsInterruptsOfEachCpuPerSecond) {
  NoiseSample before = sample_at(10);
  NoiseSample after = sample_at(12);
  before.interrupts = table_of("24", 100, 7);
  after.interrupts = table_of("24", 150, 9);
  const CpuNoise noise = noise_between(before, after);
  ASSERT_EQ(noise.sources.size(), 1U);
  EXPECT_EQ(noise.sources[0].kind, SourceKind::kInterrupt);
  EXPECT_EQ(noise.sources[0].detail, "device");
  EXPECT_DOUBLE_EQ(noise.sources[0].per_second, 25);
  EXPECT_FALSE(noise.sources[0].lost_us);
  EXPECT_DOUBLE_EQ(noise.per_second, 25);
}

TEST(Noise, CountsAnInterruptThatIsNewFromZeroAndOneThatWasResetAsNothing) {
  NoiseSample before = sample_at(0);
  NoiseSample after = sample_at(1);
  before.interrupts = table_of("24", 100, 0);
  after.interrupts = table_of("24", 3, 0);
  after.interrupts.rows.push_back({"25", "", {4, 0}});
  const CpuNoise noise = noise_between(before, after);
  ASSERT_EQ(noise.sources.size(), 1U);
  EXPECT_EQ(noise.sources[0].name, "25");
}

TEST(Noise, KnowsKindsOfInterrupts) {
  NoiseSample after = sample_at(1);
  after.interrupts = {{CpuId{2}},
                      {{"LOC", "Local timer interrupts", {4}},
                       {"27", "GICv3 27 Level arch_timer", {3}},
                       {"30", "GICv3 30 Level eth0", {2}},
                       {"RES", "Rescheduling interrupts", {1}}}};
  std::vector<SourceKind> kinds;
  for (const NoiseSource& one : noise_between(sample_at(0), after).sources) {
    kinds.push_back(one.kind);
  }
  EXPECT_EQ(kinds, (std::vector{SourceKind::kTimer, SourceKind::kTimer, SourceKind::kInterrupt,
                                SourceKind::kKernelInterrupt}));
}

TEST(Noise, CountsSoftirqsOnceWithTheirInterrupts) {
  NoiseSample after = sample_at(1);
  after.interrupts = table_of("24", 10, 0);
  after.softirqs = table_of("NET_RX", 10, 0);
  const CpuNoise noise = noise_between(sample_at(0), after);
  EXPECT_EQ(noise.sources.size(), 2U);
  EXPECT_DOUBLE_EQ(noise.per_second, 10);
}

TEST(Noise, AddsTheTimeThatTheKernelTook) {
  using us = std::chrono::microseconds;
  NoiseSample before = sample_at(0);
  NoiseSample after = sample_at(2);
  before.lost[CpuId{2}] = {us(10'000), us(10'000), us(0)};
  after.lost[CpuId{2}] = {us(30'000), us(10'000), us(40'000)};
  const CpuNoise noise = noise_between(before, after);
  EXPECT_DOUBLE_EQ(noise.lost_us, 30'000);
  ASSERT_EQ(noise.sources.size(), 1U);
  EXPECT_EQ(noise.sources[0].kind, SourceKind::kHypervisor);
  EXPECT_EQ(noise.sources[0].lost_us, 20'000);
}

TEST(Noise, LeavesOutTheOwnersThreads) {
  NoiseSample after = sample_at(1);
  after.threads = {thread_of(50, "dsp", kOwner, 9)};
  EXPECT_TRUE(noise_between(sample_at(0), after).sources.empty());
}

TEST(Noise, NamesThreadsOfOthers) {
  NoiseSample before = sample_at(0);
  NoiseSample after = sample_at(1);
  before.threads = {thread_of(60, "sshd", "/sys/fs/cgroup/system.slice/ssh.service", 2)};
  after.threads = {thread_of(60, "sshd", "/sys/fs/cgroup/system.slice/ssh.service", 5),
                   kernel_thread_of(9, "kworker/2:1-events", 2),
                   kernel_thread_of(8, "ksoftirqd/2", 1),
                   thread_of(61, "dsp2", std::string(kOwner) + "2", 1)};
  const CpuNoise noise = noise_between(before, after);
  ASSERT_EQ(noise.sources.size(), 4U);
  EXPECT_EQ(noise.sources[0].name, "sshd");
  EXPECT_DOUBLE_EQ(noise.sources[0].per_second, 3);
  EXPECT_EQ(noise.sources[0].lost_us, 30);
  EXPECT_EQ(noise.sources[0].detail, "/sys/fs/cgroup/system.slice/ssh.service");
  EXPECT_EQ(noise.sources[1].kind, SourceKind::kWorkqueue);
  EXPECT_EQ(noise.sources[1].detail, "") << "a thread of the kernel is in no group that matters";
  EXPECT_EQ(noise.sources[2].kind, SourceKind::kKernelThread);
  EXPECT_EQ(noise.sources[3].kind, SourceKind::kTask) << "a group whose name only begins so";
  EXPECT_DOUBLE_EQ(noise.per_second, 7);
}

TEST(Noise, CountsAThreadIdThatWasUsedAgainFromZero) {
  NoiseSample before = sample_at(0);
  NoiseSample after = sample_at(1);
  before.threads = {thread_of(60, "old", "/g", 100)};
  after.threads = {thread_of(60, "new", "/g", 3)};
  after.threads[0].task.started = 1000;
  EXPECT_DOUBLE_EQ(noise_between(before, after).per_second, 3);
}

TEST(Noise, TellsExecutedCommandsFromTheContainersOwnProcesses) {
  NoiseSample after = sample_at(1);
  ThreadSample child = thread_of(51, "worker", kOwner, 1);
  child.task.parent = 50;
  ThreadSample probe_child = thread_of(71, "cat", kOwner, 4);
  probe_child.task.parent = 70;
  after.threads = {thread_of(50, "dsp", kOwner, 1), child, thread_of(70, "probe", kOwner, 2),
                   probe_child};
  const CpuNoise noise = noise_between(sample_at(0), after);
  ASSERT_EQ(noise.sources.size(), 2U);
  EXPECT_EQ(noise.sources[0].kind, SourceKind::kExec);
  EXPECT_EQ(noise.sources[0].name, "cat");
  EXPECT_EQ(noise.sources[1].name, "probe");
}

TEST(Noise, SpreadsWhatEndedInTheMeantimeOverTheOwnersCpus) {
  NoiseSample before = sample_at(0);
  NoiseSample after = sample_at(1);
  before.runs = {{CpuId{2}, 10}, {CpuId{3}, 10}};
  after.runs = {{CpuId{2}, 16}, {CpuId{3}, 14}};
  after.threads = {thread_of(50, "dsp", kOwner, 4)};
  const NoiseReport report =
      measure(before, after, {CpuSet{2, 3}, {{CpuId{2}, kOwner}, {CpuId{3}, kOwner}}, {}});
  for (const CpuNoise& noise : report.cpus) {
    ASSERT_EQ(noise.sources.size(), 1U) << noise.cpu.value;
    EXPECT_EQ(noise.sources[0].name, "ended");
    EXPECT_DOUBLE_EQ(noise.per_second, 3) << noise.cpu.value;
  }
}

TEST(QuietScore, LosesTenPointsPerTenfold) {
  EXPECT_EQ(quiet_score(0, 0), 100);
  EXPECT_EQ(quiet_score(9, 0), 90);
  EXPECT_EQ(quiet_score(99, 9), 70);
  EXPECT_EQ(quiet_score(0, 999), 70);
  EXPECT_EQ(quiet_score(1e12, 1e6), 0);
}

TEST(QuietScore, NeverGrowsWithMoreNoise) {
  int last = 100;
  for (std::uint32_t count = 0; count < 1'000'000; count = count * 2 + 1) {
    const double noise = count;
    const int score = quiet_score(noise, noise);
    EXPECT_LE(score, last) << noise;
    last = score;
  }
}

struct RemedyCase {
  NoiseSource source;
  const char* part;
};

TEST(Remedy, NamesWhatRemovesEachSource) {
  const auto source = [](SourceKind kind, const char* name, const char* detail = "") {
    return NoiseSource{kind, name, detail, 1, std::nullopt};
  };
  const std::vector<RemedyCase> cases = {
      {source(SourceKind::kInterrupt, "24"), "echo 0-1 > /proc/irq/24/smp_affinity_list"},
      {source(SourceKind::kTimer, "LOC"), "nohz_full=2"},
      {source(SourceKind::kTimer, "LOC"), "timerslack_ns"},
      {source(SourceKind::kKernelInterrupt, "TLB"), "kernel.numa_balancing=0"},
      {source(SourceKind::kSoftirq, "RCU"), "rcu_nocbs=2"},
      {source(SourceKind::kSoftirq, "HRTIMER"), "nohz_full=2"},
      {source(SourceKind::kWorkqueue, "kworker/u8:1"), "/sys/devices/virtual/workqueue/cpumask"},
      {source(SourceKind::kWorkqueue, "kworker/2:0-mm"), "nohz_full=2"},
      {source(SourceKind::kKernelThread, "rcuop/2"), "rcu_nocbs=2"},
      {source(SourceKind::kKernelThread, "kswapd0"), "quiet: system"},
      {source(SourceKind::kTask, "sshd", "/sys/fs/cgroup/system.slice/ssh.service"),
       "set-property --runtime ssh.service AllowedCPUs=0-1"},
      {source(SourceKind::kExec, "probe"), "execCPUAffinity"},
      {source(SourceKind::kHypervisor, "steal"), "on the host"},
  };
  for (const auto& [one, part] : cases) {
    const std::string remedy = remedy_of(one, CpuId{2}, CpuSet{0, 1});
    EXPECT_NE(remedy.find(part), std::string::npos) << one.name << ": " << remedy;
    EXPECT_EQ(remedy.find('{'), std::string::npos) << remedy;
  }
}

TEST(NoiseJson, IsReadAsItWasWritten) {
  NoiseReport report{std::chrono::seconds(1)};
  report.cpus = {
      {CpuId{2}, 3, 4, 87, {{SourceKind::kTimer, "LOC", "timer", 3, std::nullopt, "r"}}}};
  const auto read = fields::read<NoiseReport>(fields::to_json(report));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, report);
}

}  // namespace
}  // namespace pinfold::noise
