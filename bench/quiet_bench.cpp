#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "pinfold/quiet/kept_knobs.hpp"
#include "pinfold/quiet/quiet_knobs.hpp"
#include "temp_dir.hpp"

/// What quiet CPUs add to a container's start on a machine with 128 CPUs, 500 interrupts and 200
/// network queues, simulated by files in memory. Writing a real file of the kernel costs more.
namespace pinfold::quiet {
namespace {

constexpr int kCpus = 128;
constexpr int kInterrupts = 500;
constexpr int kQueues = 200;

/// `wide`: number of interrupts that every CPU may handle; no quiet CPU handles the others.
void write_machine(const test::TempDir& dir, int wide) {
  for (int irq = 0; irq < kInterrupts; ++irq) {
    dir.write(fmt::format("proc/irq/{}/smp_affinity_list", irq), irq < wide ? "0-127\n" : "0-3\n");
  }
  dir.write("proc/irq/default_smp_affinity", "ffffffff,ffffffff,ffffffff,ffffffff\n");
  dir.write("sys/class/net/eth0/device/vendor", "0x8086\n");
  for (int queue = 0; queue < kQueues; ++queue) {
    dir.write(fmt::format("sys/class/net/eth0/queues/rx-{}/rps_cpus", queue),
              "00000000,00000000,00000000,00000000\n");
  }
}

/// Stores a record as the agent does.
QuietKnobs::Keep keep_in(const std::string& path) {
  return [path](const KeptKnobs& kept) {
    std::ofstream(path + ".new") << encode_kept(kept, "boot");
    return std::rename((path + ".new").c_str(), path.c_str()) == 0;
  };
}

QuietDesired quiet_cpus(const CpuSet& cpus) {
  QuietDesired desired{{}, CpuSet::range(0, kCpus - 1), {}};
  desired.cpus.add(QuietLevel::kSystem, cpus);
  return desired;
}

/// A container with two exclusive CPUs starts next to another one.
void start(benchmark::State& state) {
  const test::TempDir dir;
  write_machine(dir, static_cast<int>(state.range(0)));
  QuietKnobs knobs(kernel_knobs(dir.path()), {}, keep_in(dir / "record"));
  const QuietDesired one = quiet_cpus(CpuSet{10, 11});
  const QuietDesired two = quiet_cpus(CpuSet{10, 11, 12, 13});
  knobs.reconcile(one);
  for (auto _ : state) {
    knobs.leave(two);
    knobs.give_back();
    state.PauseTiming();
    knobs.leave(one);
    knobs.give_back();
    state.ResumeTiming();
  }
  state.counters["written"] = benchmark::Counter(static_cast<double>(knobs.report().written) / 2 /
                                                 static_cast<double>(state.iterations()));
}
BENCHMARK(start)->Arg(0)->Arg(20)->Arg(kInterrupts)->Unit(benchmark::kMicrosecond);

enum class Files { kClosed, kOpen };

/// The first start of a service: every knob is read. `files`: kOpen if `quiet` is set for all pods.
void first_start(benchmark::State& state, Files files) {
  const test::TempDir dir;
  for (auto _ : state) {
    state.PauseTiming();
    write_machine(dir, static_cast<int>(state.range(0)));
    auto knobs = std::make_unique<QuietKnobs>(kernel_knobs(dir.path()), KeptKnobs(),
                                              keep_in(dir / "record"));
    if (files == Files::kOpen) knobs->prepare();
    state.ResumeTiming();
    knobs->leave(quiet_cpus(CpuSet{10, 11}));
    knobs->give_back();
    state.PauseTiming();
    knobs.reset();
    state.ResumeTiming();
  }
}
BENCHMARK_CAPTURE(first_start, any_service, Files::kClosed)
    ->Arg(0)
    ->Arg(kInterrupts)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(first_start, with_quiet, Files::kOpen)
    ->Arg(0)
    ->Arg(kInterrupts)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace pinfold::quiet
