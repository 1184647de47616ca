/* own-cpus [DIRECTORY]: keeps one worker thread on each CPU of its container, and moves them when
 * Pinfold gives the container other CPUs. DIRECTORY is where Pinfold mounts the files that say
 * which these are; docs/own-cpus.md. Prints a line for each change. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

enum { kMostWorkers = CPU_SETSIZE, kText = 4096 };

static pthread_t workers[kMostWorkers];
static int worker_count;

static void* work(void* unused) {
  for (;;) pause(); /* the work of the program */
  return unused;
}

/* Reads "cpus" of one ..data, so that further files of the same directory would belong to it. The
 * directory can be replaced between the two calls: then the next try finds the new one. */
static int read_cpus(const char* directory, char* text) {
  char data[kText];
  snprintf(data, sizeof data, "%s/..data", directory);
  for (int attempt = 0; attempt < 100; ++attempt) {
    const int dir = open(data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) return -1;
    const int file = openat(dir, "cpus", O_RDONLY | O_CLOEXEC);
    const ssize_t size = file < 0 ? -1 : read(file, text, kText - 1);
    if (file >= 0) close(file);
    close(dir);
    if (size < 0) continue;
    text[size] = 0;
    text[strcspn(text, "\n")] = 0;
    return 0;
  }
  return -1;
}

/* Parses a list such as "0-3,8". Returns the number of CPUs; 0 if it is not one. */
static int parse_list(const char* text, int* cpus) {
  int count = 0;
  while (*text != 0) {
    char* end = NULL;
    const long first = strtol(text, &end, 10);
    const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
    if (end == text || first < 0 || last < first || last >= CPU_SETSIZE) return 0;
    for (long cpu = first; cpu <= last && count < kMostWorkers; ++cpu) cpus[count++] = (int)cpu;
    text = *end == ',' ? end + 1 : end;
    if (*end != ',' && *end != 0) return 0;
  }
  return count;
}

/* Starts workers until there is one for each CPU, and pins them. After a shrink several share one.
 */
static void follow(const char* directory) {
  char text[kText];
  int cpus[kMostWorkers];
  if (read_cpus(directory, text) != 0) {
    perror(directory);
    exit(1);
  }
  const int count = parse_list(text, cpus);
  if (count == 0) {
    fprintf(stderr, "'%s': expected a list of CPUs\n", text);
    exit(1);
  }
  for (; worker_count < count; ++worker_count) {
    if (pthread_create(&workers[worker_count], NULL, work, NULL) != 0) break;
  }
  int failed = 0;
  for (int i = 0; i < worker_count; ++i) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpus[i % count], &one);
    if (pthread_setaffinity_np(workers[i], sizeof one, &one) != 0) ++failed;
  }
  printf("CPUs %s: %d workers, %d not pinned\n", text, worker_count, failed);
  fflush(stdout);
}

int main(int argc, char** argv) {
  const char* const directory = argc > 1 ? argv[1] : "/run/pinfold/self";
  const int changes = inotify_init1(IN_CLOEXEC);
  if (changes < 0 || inotify_add_watch(changes, directory, IN_MOVED_TO) < 0) {
    perror(directory);
    return 1;
  }
  follow(directory); /* after the watch, so that no change is missed */
  for (;;) {
    char events[kText] __attribute__((aligned(__alignof__(struct inotify_event))));
    const ssize_t size = read(changes, events, sizeof events);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return 1;
    int is_due = 0;
    for (ssize_t at = 0; at < size;) {
      const struct inotify_event* const event = (const struct inotify_event*)(events + at);
      is_due = is_due || (event->len > 0 && strcmp(event->name, "..data") == 0);
      at += (ssize_t)(sizeof *event + event->len);
    }
    if (is_due) follow(directory);
  }
}
