#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "agent.hpp"

namespace pinfold::guest {

int payload_main(int argc, char** argv) {
  char* end = nullptr;
  const std::uint64_t bytes = argc == 2 ? std::strtoull(argv[1], &end, 10) : 0;
  if (bytes == 0 || *end != '\0') {
    (void)std::fprintf(stderr, "pinfold-guest: payload: expected a number of bytes\n");
    return 2;
  }
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    (void)std::fprintf(stderr, "pinfold-guest: %s\n", describe_errno("mmap", errno).c_str());
    return 1;
  }
  // One page each: a huge page would hide where the others would have gone.
  (void)madvise(memory, bytes, MADV_NOHUGEPAGE);
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  auto* first = static_cast<volatile char*>(memory);
  for (std::uint64_t at = 0; at < bytes; at += page) first[at] = 1;
  (void)std::printf("{\"address\":%" PRIu64 ",\"bytes\":%" PRIu64 "}\n",
                    static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(memory)), bytes);
  (void)std::fflush(stdout);
  while (true) (void)pause();
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
