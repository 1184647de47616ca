/* Uses more and more memory, at a steady rate:
 *
 *   grow anonymous MIB_PER_SECOND MIB    until it has MIB or is killed; then it waits
 *   grow cache MIB_PER_SECOND FILE       reads a file once into the page cache; then it ends
 *
 * With `anonymous` the kernel kills it first if memory runs out. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kMiB = 1 << 20, kTicks = 10 /* per second */ };

static void fail(const char* what) {
  perror(what);
  exit(1);
}

/* Waits for the tick `number` after `start`, so that the rate does not depend on how long the work
 * takes. */
static void wait_for(struct timespec start, long number) {
  const long ns_per_tick = 1000000000L / kTicks;
  start.tv_sec += number / kTicks;
  start.tv_nsec += number % kTicks * ns_per_tick;
  if (start.tv_nsec >= 1000000000L) {
    start.tv_nsec -= 1000000000L;
    ++start.tv_sec;
  }
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &start, NULL) != 0) {
  }
}

static void prefer_to_be_killed(void) {
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, "1000", 4) != 4) fail("oom_score_adj");
  close(fd);
}

static void touch(size_t bytes) {
  void* const memory =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("mmap");
  memset(memory, 1, bytes);
}

static void use(size_t per_tick, size_t bytes) {
  struct timespec start;
  clock_gettime(CLOCK_MONOTONIC, &start);
  long tick = 0;
  for (size_t used = 0; used < bytes; used += per_tick) {
    touch(per_tick);
    wait_for(start, ++tick);
  }
  pause();
}

static void read_once(size_t per_tick, const char* file) {
  const int fd = open(file, O_RDONLY | O_CLOEXEC);
  char* const buffer = malloc(per_tick);
  if (fd < 0 || buffer == NULL) fail(file);
  struct timespec start;
  clock_gettime(CLOCK_MONOTONIC, &start);
  ssize_t size = 0;
  for (long tick = 0; (size = read(fd, buffer, per_tick)) > 0;) wait_for(start, ++tick);
  if (size < 0) fail(file);
}

int main(int argc, char** argv) {
  const size_t per_tick = argc == 4 ? (size_t)atoi(argv[2]) * kMiB / kTicks : 0;
  if (per_tick == 0) {
    fputs("grow: expected 'anonymous MIB_PER_SECOND MIB' or 'cache MIB_PER_SECOND FILE'\n", stderr);
    return 2;
  }
  if (strcmp(argv[1], "anonymous") == 0) {
    prefer_to_be_killed();
    use(per_tick, (size_t)atoi(argv[3]) * kMiB);
  } else {
    read_once(per_tick, argv[3]);
  }
  return 0;
}
