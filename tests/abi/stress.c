/* stress PROCESSES SECONDS: PROCESSES processes admit and remove pods in one state directory. No
 * pod is lost, no CPU is assigned twice, and every process ends. */
#define _POSIX_C_SOURCE 200809L
#include <pinfold/pinfold.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kCpus = 16, kMostHeld = 3, kMostProcesses = 64 };

typedef struct held_pod {
  char name[32];
  char cpus[64];
} held_pod;

static char state_dir[] = "/tmp/pinfold_stress_XXXXXX";

static void fail(const char* what, const char* text) {
  fprintf(stderr, "process %d: %s: %s\n", (int)getpid(), what, text == NULL ? "" : text);
  exit(1);
}

static pinfold_node* open_node(void) {
  static char machine[4096];
  size_t used = (size_t)snprintf(machine, sizeof machine, "{\"name\":\"n\",\"cpus\":[");
  for (int cpu = 0; cpu < kCpus; ++cpu) {
    used += (size_t)snprintf(machine + used, sizeof machine - used,
                             "%s{\"id\":%d,\"core\":%d,\"socket\":0,\"numa\":0,\"l3\":0}",
                             cpu == 0 ? "" : ",", cpu, cpu);
  }
  snprintf(machine + used, sizeof machine - used,
           "],\"numaNodes\":[{\"id\":0,\"memory\":68719476736,\"hugepages\":{}}],\"devices\":[]}");
  pinfold_node_options options = PINFOLD_NODE_OPTIONS_INIT;
  options.flags = PINFOLD_NODE_NO_ENFORCE;
  options.lock_timeout_ms = 120000;
  options.state_dir = state_dir;
  options.machine = machine;
  options.config = "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";
  pinfold_node* node = NULL;
  char* error = NULL;
  if (pinfold_node_open(&options, &node, &error) != PINFOLD_OK) fail("open", error);
  return node;
}

/* The exclusive CPUs of a pod. */
static void read_cpus(const pinfold_pod* pod, char* cpus, size_t size) {
  pinfold_container container = PINFOLD_CONTAINER_INIT;
  char* error = NULL;
  if (pinfold_pod_find_container(pod, "main", &container, &error) != PINFOLD_OK)
    fail("find", error);
  snprintf(cpus, size, "%s", container.exclusive_cpus);
}

/* Returns 1 if the pod is admitted, else 0. */
static int admit(pinfold_node* node, held_pod* held, int cpus) {
  char text[256];
  char* error = NULL;
  pinfold_pod* pod = NULL;
  snprintf(text, sizeof text,
           "metadata: {name: %s, uid: %s}\nspec: {containers: [{name: main, resources: {limits: "
           "{cpu: %d, memory: 1Mi}}}]}",
           held->name, held->name, cpus);
  const pinfold_code code = pinfold_pod_admit(node, text, &pod, &error);
  if (code != PINFOLD_OK && code != PINFOLD_REJECTED) fail("admit", error);
  if (code == PINFOLD_OK) read_cpus(pod, held->cpus, sizeof held->cpus);
  pinfold_free(error);
  pinfold_pod_free(pod);
  return code == PINFOLD_OK;
}

static void check(pinfold_node* node, const held_pod* held) {
  char cpus[64];
  char* error = NULL;
  pinfold_pod* pod = NULL;
  if (pinfold_pod_get(node, held->name, &pod, &error) != PINFOLD_OK) fail("lost pod", error);
  read_cpus(pod, cpus, sizeof cpus);
  if (strcmp(cpus, held->cpus) != 0) fail("CPUs have changed", cpus);
  pinfold_pod_free(pod);
}

/* Marks the CPUs of a list such as "1-3,5"; fails if one is already marked. */
static void mark(const char* list, char* used) {
  while (*list >= '0' && *list <= '9') {
    char* end = NULL;
    const long first = strtol(list, &end, 10);
    const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
    for (long cpu = first; cpu <= last; ++cpu) {
      if (cpu <= 0 || cpu >= kCpus) fail("CPU out of range", list);
      if (used[cpu]++) fail("CPU assigned twice", list);
    }
    list = *end == ',' ? end + 1 : end;
  }
}

/* Checks that no CPU is exclusive to two containers. Returns the number of pods. */
static int check_node(pinfold_node* node) {
  char used[kCpus] = {0};
  char* json = NULL;
  char* error = NULL;
  int pods = 0;
  if (pinfold_node_get_status(node, &json, &error) != PINFOLD_OK) fail("status", error);
  const char* const key = "\"exclusiveCpus\":\"";
  for (const char* at = strstr(json, key); at != NULL; at = strstr(at, key)) {
    at += strlen(key);
    mark(at, used);
    ++pods;
  }
  pinfold_free(json);
  return pods;
}

static void work(int number, int seconds, int report) {
  pinfold_node* const node = open_node();
  held_pod held[kMostHeld];
  int count = 0;
  int serial = 0;
  unsigned random = 12345U + (unsigned)number;
  const time_t end = time(NULL) + seconds;
  do {
    random = random * 1103515245U + 12345U;
    const unsigned dice = (random >> 16) % 8U;
    if (dice < 4U && count < kMostHeld) {
      snprintf(held[count].name, sizeof held[count].name, "p%d-%d", number, ++serial);
      count += admit(node, &held[count], 1 + (int)(dice & 1U));
    } else if (dice < 7U && count > 0) {
      char* error = NULL;
      const int which = (int)(dice % (unsigned)count);
      if (pinfold_pod_remove(node, held[which].name, 0, &error) != PINFOLD_OK)
        fail("remove", error);
      held[which] = held[--count];
    } else {
      (void)check_node(node);
    }
    for (int i = 0; i < count; ++i) check(node, &held[i]);
  } while (time(NULL) < end);
  pinfold_node_close(node);
  if (write(report, held, sizeof held[0] * (size_t)count) < 0) fail("report", NULL);
  fprintf(stderr, "process %d admitted %d, holds %d\n", number, serial, count);
  exit(0);
}

int main(int argc, char** argv) {
  const int processes = argc > 1 ? atoi(argv[1]) : 8;
  const int seconds = argc > 2 ? atoi(argv[2]) : 5;
  int report[2];
  if (processes < 1 || processes > kMostProcesses || mkdtemp(state_dir) == NULL ||
      pipe(report) != 0) {
    return 2;
  }
  for (int i = 0; i < processes; ++i) {
    const pid_t child = fork();
    if (child < 0) return 2;
    if (child == 0) {
      close(report[0]);
      work(i, seconds, report[1]);
    }
  }
  close(report[1]);
  pinfold_node* const node = open_node();
  held_pod held;
  int total = 0;
  while (read(report[0], &held, sizeof held) == (ssize_t)sizeof held) {
    check(node, &held);
    ++total;
  }
  int failures = 0;
  int status = 0;
  while (wait(&status) > 0) failures += status != 0;
  const int active = check_node(node);
  if (active != total) {
    fprintf(stderr, "the node has %d pods, the processes hold %d\n", active, total);
    ++failures;
  }
  pinfold_node_close(node);
  char command[64];
  snprintf(command, sizeof command, "rm -rf %s", state_dir);
  if (system(command) != 0) return 2;
  return failures == 0 ? 0 : 1;
}
