/* Spins on a CPU and shows the gaps in which something else ran there: gaps SECONDS
 *
 * A gap is the time between two reads of the clock. Prints one line for each power of two of
 * microseconds that occurs, with a bar for the logarithm of its count; then the longest gap, and
 * how often the scheduler took the CPU away. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { kPowers = 24, kNsPerUs = 1000 };
static const long long kNsPerSecond = 1000000000;

static long long now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * kNsPerSecond + time.tv_nsec;
}

/* The power of two of a gap in microseconds; -1 below one microsecond. */
static int power_of(long long gap_ns) {
  int power = -1;
  for (long long us = gap_ns / kNsPerUs; us > 0 && power < kPowers - 1; us /= 2) ++power;
  return power;
}

static void print_bar(int power, long count) {
  printf("%8d us %8ld ", 1 << power, count);
  for (; count > 0; count /= 2) putchar('#');
  putchar('\n');
}

int main(int argc, char** argv) {
  if (argc != 2 || atoi(argv[1]) <= 0) {
    fputs("gaps: expected the number of seconds, at least 1\n", stderr);
    return 2;
  }
  long counts[kPowers] = {0};
  long long longest = 0;
  long long last = now_ns();
  const long long end = last + atoi(argv[1]) * kNsPerSecond;
  while (last < end) {
    const long long now = now_ns();
    const int power = power_of(now - last);
    if (power >= 0) ++counts[power];
    if (now - last > longest) longest = now - last;
    last = now;
  }
  for (int power = 0; power < kPowers; ++power) {
    if (counts[power] > 0) print_bar(power, counts[power]);
  }
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("longest %lld us, preempted %ld times\n", longest / kNsPerUs, usage.ru_nivcsw);
  return 0;
}
