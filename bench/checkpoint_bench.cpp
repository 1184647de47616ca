// The cost of encoding a state and of making a commit durable, compared with the kubelet's work for
// one container on the same disk: two files written, synced and renamed. Uses the directory for
// temporary files; set TMPDIR to measure another disk.

#include <benchmark/benchmark.h>

#include <filesystem>

#include "pinfold/checkpoint/kubelet_files.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "temp_dir.hpp"

namespace pinfold::checkpoint {
namespace {

constexpr std::uint64_t kGi = std::uint64_t{1} << 30U;

struct State {
  CpuCheckpoint cpu;
  MemoryCheckpoint memory;
};

PodUid uid(int pod) {
  const std::string digits = std::to_string(1000 + pod);
  return PodUid("7a90481b-0000-4000-8000-00000000" + digits);
}

/// Returns a state with pods of one container each, with two CPUs and memory, on two NUMA nodes.
State state_of(int pods) {
  State state;
  state.cpu.default_set = CpuSet::range(2 * pods, 2 * pods + 15);
  for (int node = 0; node < 2; ++node) {
    state.memory.machine_state[node] = {
        pods / 2, {{"memory", {512 * kGi, kGi, 511 * kGi, 100 * kGi, 411 * kGi}}}, {node}};
  }
  for (int pod = 0; pod < pods; ++pod) {
    state.cpu.assignments[{uid(pod), "main"}] = CpuSet::range(2 * pod, 2 * pod + 1);
    state.memory.assignments[{uid(pod), "main"}] = {{{pod % 2}, "memory", kGi}};
  }
  return state;
}

Files files_of(const State& state, const std::string& pods) {
  return {encode_cpu(state.cpu, "static", false), encode_memory(state.memory, "Static", false),
          pods};
}

void encode_cpu_state(benchmark::State& bench) {
  const State state = state_of(static_cast<int>(bench.range(0)));
  for (auto _ : bench) benchmark::DoNotOptimize(encode_cpu(state.cpu, "static", false));
}
BENCHMARK(encode_cpu_state)->Arg(50)->Arg(250)->Unit(benchmark::kMicrosecond);

void encode_memory_state(benchmark::State& bench) {
  const State state = state_of(static_cast<int>(bench.range(0)));
  for (auto _ : bench) benchmark::DoNotOptimize(encode_memory(state.memory, "Static", false));
}
BENCHMARK(encode_memory_state)->Arg(50)->Arg(250)->Unit(benchmark::kMicrosecond);

/// Forwards to the disk and counts the syncs.
class Counted final : public Fs {
 public:
  Counted(std::unique_ptr<Fs> fs, std::size_t& syncs) : fs_(std::move(fs)), syncs_(syncs) {}
  Result<std::optional<std::string>> read(const std::string& name) override {
    return fs_->read(name);
  }
  Result<std::vector<std::string>> list() override { return fs_->list(); }
  Result<std::unique_ptr<File>> create(const std::string& name) override {
    auto file = fs_->create(name);
    if (!file) return file;
    return std::make_unique<CountedFile>(*std::move(file), syncs_);
  }
  Result<std::unique_ptr<File>> reopen(const std::string& name, std::size_t size) override {
    auto file = fs_->reopen(name, size);
    if (!file) return file;
    return std::make_unique<CountedFile>(*std::move(file), syncs_);
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    return fs_->rename(from, to);
  }
  Result<void> remove(const std::string& name) override { return fs_->remove(name); }
  Result<void> sync_directory() override {
    ++syncs_;
    return fs_->sync_directory();
  }

 private:
  class CountedFile final : public File {
   public:
    CountedFile(std::unique_ptr<File> file, std::size_t& syncs)
        : file_(std::move(file)), syncs_(syncs) {}
    Result<std::size_t> write(std::string_view bytes) override { return file_->write(bytes); }
    Result<void> reserve(std::size_t size) override { return file_->reserve(size); }
    Result<void> sync() override {
      ++syncs_;
      return file_->sync();
    }

   private:
    std::unique_ptr<File> file_;
    std::size_t& syncs_;
  };

  std::unique_ptr<Fs> fs_;
  std::size_t& syncs_;
};

/// Returns a directory on a disk, not in memory, since the cost of a sync is measured.
test::TempDir temp_dir() { return test::TempDir(std::filesystem::temp_directory_path()); }

/// Repeated admissions, each a transaction over all three files.
void commit_state(benchmark::State& bench) {
  const test::TempDir folder = temp_dir();
  std::size_t syncs = 0;
  auto store =
      Store::open(std::make_unique<Counted>(open_directory(folder.path()).value(), syncs)).value();
  const int pods = static_cast<int>(bench.range(0));
  const Files states[] = {files_of(state_of(pods), "a"), files_of(state_of(pods + 1), "b")};
  if (!store.commit(states[1])) std::abort();
  syncs = 0;
  std::size_t i = 0;
  for (auto _ : bench) {
    if (!store.commit(states[i++ % 2])) std::abort();
  }
  bench.counters["commits/s"] =
      benchmark::Counter(static_cast<double>(i), benchmark::Counter::kIsRate);
  bench.counters["syncs/commit"] = static_cast<double>(syncs) / static_cast<double>(i);
}
BENCHMARK(commit_state)->Arg(50)->Arg(250)->UseRealTime()->Unit(benchmark::kMillisecond);

/// The cost for a process that commits once, including opening and closing.
void open_commit_close(benchmark::State& bench) {
  const test::TempDir folder = temp_dir();
  const int pods = static_cast<int>(bench.range(0));
  const Files states[] = {files_of(state_of(pods), "a"), files_of(state_of(pods + 1), "b")};
  std::size_t i = 0;
  for (auto _ : bench) {
    auto store = Store::open(folder.path());
    if (!store || !store->commit(states[i++ % 2])) std::abort();
  }
}
BENCHMARK(open_commit_close)->Arg(50)->Arg(250)->UseRealTime()->Unit(benchmark::kMillisecond);

/// Opening and closing, with the lock and the snapshot for readers.
void open_store(benchmark::State& bench) {
  const test::TempDir folder = temp_dir();
  const Files files = files_of(state_of(static_cast<int>(bench.range(0))), "a");
  if (!Store::open(folder.path())->commit(files)) std::abort();
  for (auto _ : bench) {
    if (!Store::open(folder.path())) std::abort();
  }
}
BENCHMARK(open_store)->Arg(50)->Arg(250)->UseRealTime()->Unit(benchmark::kMicrosecond);

/// Sixty pods; the argument is the number per transaction.
void commit_sixty_pods(benchmark::State& bench) {
  const test::TempDir folder = temp_dir();
  auto store = Store::open(open_directory(folder.path()).value()).value();
  const int step = static_cast<int>(bench.range(0));
  std::vector<Files> states;
  for (int pods = 100; pods <= 160; pods += step) {
    states.push_back(files_of(state_of(pods), std::to_string(pods)));
  }
  for (auto _ : bench) {
    bench.PauseTiming();
    if (!store.commit(states[0])) std::abort();
    bench.ResumeTiming();
    for (const Files& files : states) {
      if (!store.commit(files)) std::abort();
    }
  }
}
BENCHMARK(commit_sixty_pods)
    ->Arg(1)
    ->Arg(5)
    ->Arg(20)
    ->Arg(60)
    ->ArgName("pods_per_commit")
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

/// Writes as the kubelet does: a temporary file, synced and renamed, for each change by each
/// manager. One container causes `writes` of them: two in cpu_manager_state, and two more with the
/// memory manager.
void kubelet_writes(benchmark::State& bench) {
  const test::TempDir folder = temp_dir();
  const auto fs = open_directory(folder.path()).value();
  const Files files = files_of(state_of(static_cast<int>(bench.range(0))), "");
  const auto write = [&](std::string_view name, const std::string& bytes) {
    const std::string temp = "." + std::string(name);
    auto file = fs->create(temp).value();
    for (std::size_t done = 0; done < bytes.size();) {
      done += file->write(std::string_view(bytes).substr(done)).value();
    }
    if (!file->sync() || !fs->rename(temp, std::string(name))) std::abort();
  };
  for (auto _ : bench) {
    for (int i = 0; i < bench.range(1); ++i) {
      i % 2 == 0 ? write(kCpuFileName, *files.cpu) : write(kMemoryFileName, *files.memory);
    }
  }
}
BENCHMARK(kubelet_writes)
    ->ArgsProduct({{50, 250}, {2, 4}})
    ->ArgNames({"pods", "writes"})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pinfold::checkpoint
