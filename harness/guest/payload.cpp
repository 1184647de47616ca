#include <fcntl.h>
#include <linux/mman.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "agent.hpp"

namespace pinfold::guest {

int payload_main(int argc, char** argv) {
  const std::uint64_t wanted = argc == 3 ? std::strtoull(argv[1], nullptr, 10) : 0;
  const std::uint64_t huge = argc == 3 ? std::strtoull(argv[2], nullptr, 10) : 0;
  if (wanted == 0 || (huge & (huge - 1)) != 0) {
    (void)std::fprintf(stderr, "pinfold-guest: payload: expected a number of bytes, page size\n");
    return 2;
  }
  const auto page = huge != 0 ? huge : static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t bytes = (wanted + page - 1) / page * page;
  const int flags = huge == 0 ? 0 : MAP_HUGETLB | (std::countr_zero(huge) << MAP_HUGE_SHIFT);
  void* memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  if (memory == MAP_FAILED) {
    (void)std::fprintf(stderr, "pinfold-guest: %s\n", describe_errno("mmap", errno).c_str());
    return 1;
  }
  // Base pages only: an unrequested huge page would hide where single pages are.
  if (huge == 0) (void)madvise(memory, bytes, MADV_NOHUGEPAGE);
  auto* first = static_cast<volatile char*>(memory);
  for (std::uint64_t at = 0; at < bytes; at += page) first[at] = 1;
  (void)std::printf("{\"address\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"page\":%" PRIu64 "}\n",
                    static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(memory)), bytes,
                    page);
  (void)std::fflush(stdout);
  while (true) (void)pause();
}

int pause_main() {
  // The init process of a PID namespace ignores signals that it neither handles nor waits for.
  sigset_t ends;
  (void)sigemptyset(&ends);
  (void)sigaddset(&ends, SIGTERM);
  (void)sigaddset(&ends, SIGINT);
  (void)sigprocmask(SIG_BLOCK, &ends, nullptr);  // NOLINT(concurrency-mt-unsafe): one thread
  int signal = 0;
  return sigwait(&ends, &signal);
}

int restless_main() {
  constexpr std::size_t kMostCpus = 128;  // the most that a machine of the harness has
  constexpr clock_t kWork = 3 * CLOCKS_PER_SEC / 1000;
  constexpr timespec kRest = {0, 20'000'000};
  for (std::size_t cpu = 0;; cpu = (cpu + 1) % kMostCpus) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) continue;  // not one of its CPUs
    for (const clock_t begin = clock(); clock() - begin < kWork;) {
    }
    (void)nanosleep(&kRest, nullptr);
  }
}

int hog_main() {
  int failed = write_text("/proc/sys/kernel/sched_rt_runtime_us", "-1", O_WRONLY);
  sched_param priority{};
  priority.sched_priority = sched_get_priority_max(SCHED_FIFO);
  if (failed == 0 && sched_setscheduler(0, SCHED_FIFO, &priority) != 0) failed = errno;
  if (failed != 0) {
    (void)std::fprintf(stderr, "pinfold-guest: %s\n", describe_errno("hog", failed).c_str());
    return 1;
  }
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  for (long i = 1; i < cpus && fork() > 0; ++i) {
  }
  for (volatile bool busy = true; busy;) {
  }
  return 0;
}

}  // namespace pinfold::guest
