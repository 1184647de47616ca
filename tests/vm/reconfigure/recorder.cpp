#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>

#include "recording.hpp"

/// A program in a container: records on which CPUs its threads run and where its memory is, until
/// it is killed.
///
///     recorder FILE THREADS MEBIBYTES [hop]
///
/// With `hop` each thread tries every CPU of the machine in turn, so that it is soon on each that
/// its container may use.
namespace pinfold::test {
namespace {

constexpr int kSamples = 4;  // samples of a CPU before a thread sleeps
constexpr long kSleep = 10'000'000;
constexpr long kHopSleep = 25'000'000;  // moving a thread is expensive
constexpr long kMemorySleep = 200'000'000;
constexpr std::size_t kPages = 32;  // pages of the memory whose NUMA nodes are recorded
constexpr int kMaxCpus = 1024;

std::int64_t now() {
  timespec time{};
  (void)clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

void rest(long nanoseconds) {
  const timespec span{0, nanoseconds};
  (void)nanosleep(&span, nullptr);
}

void add(Runs& runs, std::uint64_t place, std::int64_t time, std::int64_t hole) {
  const std::uint64_t count = runs.count.load(std::memory_order_relaxed);
  if (count > 0 && count <= kMaxRuns) {
    Run& last = runs.runs[count - 1];
    const std::int64_t gap = time - last.end;
    if (last.place == place && gap <= hole) {
      last.end = time;
      if (gap > last.longest) {
        last.longest = gap;
        last.longest_end = time;
      }
      return;
    }
  }
  if (count < kMaxRuns) runs.runs[count] = {time, time, 0, time, place};
  runs.count.store(std::min<std::uint64_t>(count + 1, kMaxRuns + 1), std::memory_order_release);
}

/// A sample counts if the thread was on the same CPU before and after it read the clock.
void sample_cpu(Runs& runs) {
  const int before = sched_getcpu();
  const std::int64_t time = now();
  if (before < 0 || sched_getcpu() != before) return;
  add(runs, static_cast<std::uint64_t>(before), time, kHole);
}

[[noreturn]] void record_cpus(Runs& runs, bool hop) {
  const int cpus = std::clamp(static_cast<int>(sysconf(_SC_NPROCESSORS_CONF)), 1, kMaxCpus);
  for (int cpu = 0;; cpu = (cpu + 1) % cpus) {
    if (hop) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(static_cast<std::size_t>(cpu), &one);
      if (sched_setaffinity(0, sizeof one, &one) != 0) continue;  // not a CPU of its container
    }
    for (int i = 0; i < kSamples; ++i) sample_cpu(runs);
    rest(hop ? kHopSleep : kSleep);
  }
}

[[noreturn]] void record_memory(Runs& runs, char* memory, std::size_t size) {
  std::array<void*, kPages> pages{};
  std::array<int, kPages> nodes{};
  for (std::size_t i = 0; i < kPages; ++i) pages[i] = memory + size / kPages * i;
  for (;;) {
    if (syscall(SYS_move_pages, 0, kPages, pages.data(), nullptr, nodes.data(), 0) == 0) {
      std::uint64_t places = 0;
      for (const int node : nodes) {
        if (node >= 0 && node < 64) places |= std::uint64_t{1} << static_cast<unsigned>(node);
      }
      add(runs, places, now(), INT64_MAX);
    }
    rest(kMemorySleep);
  }
}

int run(const char* file, std::size_t threads, std::size_t size, bool hop) {
  const int fd = open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(Recording)) != 0) return 2;
  void* const mapped = mmap(nullptr, sizeof(Recording), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  void* const memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED || memory == MAP_FAILED) return 2;
  std::memset(memory, 1, size);
  auto* const recording = static_cast<Recording*>(mapped);
  recording->threads = threads;
  std::vector<std::thread> all;
  for (std::size_t i = 0; i < threads; ++i) {
    all.emplace_back([=] { record_cpus(recording->cpus[i], hop); });
  }
  record_memory(recording->memory, static_cast<char*>(memory), size);
}

}  // namespace
}  // namespace pinfold::test

int main(int argc, char** argv) {
  if (argc < 4 || argc > 5) return 2;
  const auto threads = std::strtoul(argv[2], nullptr, 10);
  const auto mebibytes = std::strtoul(argv[3], nullptr, 10);
  if (threads < 1 || threads > pinfold::test::kMaxThreads || mebibytes < 1) return 2;
  const bool hop = argc == 5 && std::strcmp(argv[4], "hop") == 0;
  return pinfold::test::run(argv[1], threads, mebibytes << 20U, hop);
}
