#include "pinfold/noise/noise.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

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

/// The CPUs that are measured are never where to move something to.
TEST(Remedy, NeverNamesTheMeasuredCpus) {
  NoiseSample after = sample_at(1);
  after.interrupts = table_of("36", 5, 5);
  after.threads = {thread_of(60, "sshd", "/sys/fs/cgroup/system.slice/ssh.service", 5),
                   kernel_thread_of(9, "kswapd0", 5)};
  const auto remedies = [&](const CpuSet& housekeeping) {
    std::string all;
    const NoiseReport report = measure(sample_at(0), after, {CpuSet{2, 3}, {}, housekeeping});
    for (const CpuNoise& noise : report.cpus) {
      for (const NoiseSource& source : noise.sources) all += source.remedy + "\n";
    }
    return all;
  };
  const std::string some = remedies(CpuSet::range(0, 3));
  EXPECT_THAT(some, testing::HasSubstr("echo 0-1 > /proc/irq/36/smp_affinity_list"));
  EXPECT_THAT(some, testing::HasSubstr("ssh.service AllowedCPUs=0-1'"));
  EXPECT_THAT(some, testing::HasSubstr("'taskset -pc 0-1 $(pgrep -x kswapd0)'"));
  EXPECT_THAT(some, testing::Not(testing::HasSubstr("-3")));
  EXPECT_THAT(remedies(CpuSet{2, 3}), testing::HasSubstr("echo CPUS > /proc/irq/36/"));
}

TEST(Remedy, HasNoNameInACommandThatAShellWouldRead) {
  const NoiseSource thread{SourceKind::kKernelThread, "rcu$(reboot)", "", 1, std::nullopt};
  EXPECT_THAT(remedy_of(thread, CpuId{2}, CpuSet{0}), testing::HasSubstr("taskset -pc 0 PID"));
  const NoiseSource task{SourceKind::kTask, "a", "/user.slice/a';reboot;'.service", 1,
                         std::nullopt};
  EXPECT_THAT(remedy_of(task, CpuId{2}, CpuSet{0}), testing::HasSubstr("--runtime UNIT Allowed"));
}

/// Rows of a virtual and a physical PC with Linux 6.1 to 7.1, and of an arm64 server with 6.12.
constexpr const char* kRowsOfX86 =
    "           CPU0       CPU2\n"
    " 24:          1          0  IO-APIC   5-edge      ACPI:Ged\n"
    "NMI:          0          1   Non-maskable interrupts\n"
    "LOC:          0          1   Local timer interrupts\n"
    "SPU:          0          1   Spurious interrupts\n"
    "PMI:          0          1   Performance monitoring interrupts\n"
    "IWI:          0          1   IRQ work interrupts\n"
    "RTR:          0          1   APIC ICR read retries\n"
    "PLT:          0          1   Platform interrupts\n"
    "RES:          0          1   Rescheduling interrupts\n"
    "CAL:          0          1   Function call interrupts\n"
    "TLB:          0          1   TLB shootdowns\n"
    "TRM:          0          1   Thermal event interrupts\n"
    "THR:          0          1   Threshold APIC interrupts\n"
    "DFR:          0          1   Deferred Error APIC interrupts\n"
    "MCE:          0          1   Machine check exceptions\n"
    "MCP:          0          1   Machine check polls\n"
    "HYP:          0          1   Hypervisor callback interrupts\n"
    "HRE:          0          1   Hyper-V reenlightenment interrupts\n"
    "HVS:          0          1   Hyper-V stimer0 interrupts\n"
    "ERR:          0\n"
    "PIN:          0          1   Posted-interrupt notification event\n"
    "NPI:          0          1   Nested posted-interrupt event\n"
    "PIW:          0          1   Posted-interrupt wakeup event\n"
    "PMN:          0          1   Posted MSI notification event\n"
    "VPMI:         0          1   Perf Guest Mediated PMI\n";
constexpr const char* kRowsOfArm64 =
    "           CPU0       CPU2\n"
    " 11:          0          1     GICv3  27 Level     arch_timer\n"
    " 14:          0          1     GICv3  23 Level     arm-pmu\n"
    " 31:          0          1   ITS-MSI 16384 Edge      virtio0-config\n"
    "IPI0:         0          1       Rescheduling interrupts\n"
    "IPI1:         0          1       Function call interrupts\n"
    "IPI2:         0          1       CPU stop interrupts\n"
    "IPI3:         0          1       CPU stop NMIs\n"
    "IPI4:         0          1       Timer broadcast interrupts\n"
    "IPI5:         0          1       IRQ work interrupts\n"
    "IPI6:         0          1       CPU backtrace interrupts\n"
    "IPI7:         0          1       KGDB roundup interrupts\n"
    "Err:          0\n";

/// Returns the remedies of the rows of a table that count something on CPU 2, by row.
std::map<std::string, std::string> remedies_of_rows(const char* rows) {
  NoiseSample after = sample_at(1);
  after.interrupts = parse_counts(rows);
  std::map<std::string, std::string> remedies;
  for (const NoiseSource& source : noise_between(sample_at(0), after).sources) {
    remedies[source.name] = source.remedy;
  }
  return remedies;
}

TEST(Remedy, EachRowOfInterruptsHasOne) {
  const auto of_x86 = remedies_of_rows(kRowsOfX86);
  const auto of_arm64 = remedies_of_rows(kRowsOfArm64);
  EXPECT_EQ(of_x86.size(), 23U);
  EXPECT_EQ(of_arm64.size(), 11U);
  for (const auto& remedies : {of_x86, of_arm64}) {
    for (const auto& [row, remedy] : remedies) {
      EXPECT_NE(remedy, "") << row;
      EXPECT_EQ(remedy.find('{'), std::string::npos) << row << ": " << remedy;
    }
  }
}

TEST(Remedy, IsTheSameForTheSameInterruptOfEachArchitecture) {
  const auto of_x86 = remedies_of_rows(kRowsOfX86);
  const auto of_arm64 = remedies_of_rows(kRowsOfArm64);
  EXPECT_EQ(of_arm64.at("IPI0"), of_x86.at("RES"));
  EXPECT_EQ(of_arm64.at("IPI1"), of_x86.at("CAL"));
  EXPECT_EQ(of_arm64.at("IPI5"), of_x86.at("IWI"));
  EXPECT_THAT(of_x86.at("VPMI"), testing::HasSubstr("no setting is known"));
  std::set<std::string> different;
  for (const auto& [row, remedy] : of_arm64) different.insert(remedy);
  EXPECT_EQ(different.size(), of_arm64.size() - 1) << "both CPU stops have the same";
}

TEST(Remedy, KnowsTheHandlersThatTracesName) {
  for (const auto& [handler, part] : {std::pair{"reschedule", "wake threads here"},
                                      {"call_function_single", "call functions"},
                                      {"irq_work", "caused by other interrupts"},
                                      {"deferred_error", "the part to replace"}}) {
    const NoiseSource source{SourceKind::kKernelInterrupt, handler, "", 1, std::nullopt};
    EXPECT_THAT(remedy_of(source, CpuId{2}, {}), testing::HasSubstr(part)) << handler;
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
