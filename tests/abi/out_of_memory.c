/* Memory runs out within a call: for each n, the n-th allocation fails, alone or with all after it.
 * The call must return, with PINFOLD_OK or PINFOLD_NO_MEMORY, the next call must work, and the pod
 * must be active with its CPUs, or not active and without any.
 * Usage: abi_out_of_memory [STEP [CALL...]] */
#define _GNU_SOURCE
#include <errno.h>
#include <pinfold/pinfold.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern void* __libc_malloc(size_t size);
extern void* __libc_calloc(size_t count, size_t size);
extern void* __libc_realloc(void* memory, size_t size);

static long until_failure = -1; /* -1: no allocation fails */
static int fails_on;            /* all later allocations fail too */

static int fails(void) {
  if (until_failure < 0) return 0;
  if (until_failure > 0 && --until_failure > 0) return 0;
  if (!fails_on) until_failure = -1;
  errno = ENOMEM;
  return 1;
}
void* malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return fails() ? NULL : __libc_calloc(count, size); }
void* realloc(void* memory, size_t size) { return fails() ? NULL : __libc_realloc(memory, size); }

static const char* const kMachine =
    "{\"name\":\"n\",\"cpus\":["
    "{\"id\":0,\"core\":0,\"socket\":0,\"numa\":0,\"l3\":0},"
    "{\"id\":1,\"core\":1,\"socket\":0,\"numa\":0,\"l3\":0},"
    "{\"id\":2,\"core\":2,\"socket\":0,\"numa\":0,\"l3\":0},"
    "{\"id\":3,\"core\":3,\"socket\":0,\"numa\":0,\"l3\":0}],"
    "\"numaNodes\":[{\"id\":0,\"memory\":4294967296,\"hugepages\":{}}],\"devices\":[]}";
static const char* const kPod =
    "metadata: {name: db, uid: db-1}\n"
    "spec: {containers: [{name: main, resources: {limits: {cpu: 2, memory: 1Gi}}}]}\n";
static const char* const kOther =
    "metadata: {name: web, uid: web-1}\n"
    "spec: {containers: [{name: main, resources: {limits: {cpu: 1, memory: 1Gi}}}]}\n";

static const char* const kNodes =
    "apiVersion: topology.node.k8s.io/v1alpha2\n"
    "kind: NodeResourceTopology\n"
    "metadata: {name: n1}\n"
    "attributes:\n"
    "- {name: topologyManagerPolicy, value: single-numa-node}\n"
    "zones:\n"
    "- {name: node-0, type: Node, resources: "
    "[{name: cpu, capacity: 4, allocatable: 4, available: 4}, "
    "{name: memory, capacity: 4Gi, allocatable: 4Gi, available: 4Gi}]}\n";

static pinfold_node_options options = PINFOLD_NODE_OPTIONS_INIT;
static pinfold_node* node;
static pinfold_fleet* fleet;

static pinfold_code call_open(void) {
  pinfold_node* other = NULL;
  char* error = NULL;
  const pinfold_code code = pinfold_node_open(&options, &other, &error);
  pinfold_node_close(other);
  pinfold_free(error);
  return code;
}
static pinfold_code call_explain(void) {
  pinfold_pod* pod = NULL;
  char* error = NULL;
  const pinfold_code code = pinfold_pod_explain(node, kPod, &pod, &error);
  pinfold_pod_free(pod);
  pinfold_free(error);
  return code;
}
static pinfold_code call_admit(void) {
  pinfold_pod* pod = NULL;
  char* error = NULL;
  const pinfold_code code = pinfold_pod_admit(node, kPod, &pod, &error);
  pinfold_pod_free(pod);
  pinfold_free(error);
  return code;
}
static pinfold_code call_get(void) {
  pinfold_pod* pod = NULL;
  char* error = NULL;
  const pinfold_code code = pinfold_pod_get(node, "db", &pod, &error);
  pinfold_pod_free(pod);
  pinfold_free(error);
  return code;
}
static pinfold_code call_status(void) {
  char* json = NULL;
  char* error = NULL;
  const pinfold_code code = pinfold_node_get_status(node, &json, &error);
  pinfold_free(json);
  pinfold_free(error);
  return code;
}
static pinfold_code call_remove(void) {
  char* error = NULL;
  const pinfold_code code = pinfold_pod_remove(node, "db-1", 0, &error);
  pinfold_free(error);
  return code;
}
static pinfold_code call_list(void) {
  pinfold_pod_list* list = NULL;
  char* error = NULL;
  const pinfold_code code = pinfold_node_list_pods(node, &list, &error);
  pinfold_pod_list_free(list);
  pinfold_free(error);
  return code;
}
static pinfold_code call_reconfigure(void) {
  pinfold_reconfiguration wanted = PINFOLD_RECONFIGURATION_INIT;
  wanted.flags = PINFOLD_RECONFIGURE_DRY_RUN;
  wanted.config = "cpuManagerPolicy: static\nreservedSystemCPUs: '0-1'\n";
  char* plan = NULL;
  char* error = NULL;
  const pinfold_code code = pinfold_node_reconfigure(node, &wanted, &plan, &error);
  pinfold_free(plan);
  pinfold_free(error);
  return code;
}
static pinfold_code call_defragment(void) {
  char* plan = NULL;
  char* error = NULL;
  const pinfold_code code =
      pinfold_node_defragment(node, kOther, PINFOLD_RECONFIGURE_DRY_RUN, &plan, &error);
  pinfold_free(plan);
  pinfold_free(error);
  return code;
}

static pinfold_code call_start(void) {
  char* error = NULL;
  const pinfold_code code = pinfold_container_start(node, "db-1", "main", &error);
  pinfold_free(error);
  return code;
}
static pinfold_code call_resize(void) {
  pinfold_pod* pod = NULL;
  char* error = NULL;
  const pinfold_code code = pinfold_container_resize(node, "db-1", "main", 3000, &pod, &error);
  pinfold_pod_free(pod);
  pinfold_free(error);
  return code;
}
static pinfold_code call_remove_container(void) {
  char* error = NULL;
  const pinfold_code code = pinfold_container_remove(node, "db-1", "main", 0, &error);
  pinfold_free(error);
  return code;
}
static pinfold_code call_create(void) {
  pinfold_request request = PINFOLD_REQUEST_INIT;
  char* error = NULL;
  request.manifest = kPod;
  const pinfold_code code = pinfold_container_create(node, &request, "/tmp", NULL, &error);
  pinfold_free(error);
  return code;
}
static pinfold_code call_delete(void) {
  char* error = NULL;
  const pinfold_code code = pinfold_container_delete(node, "db-1", NULL, &error);
  pinfold_free(error);
  return code;
}
static pinfold_code call_is_placed(void) {
  char* error = NULL;
  int is_placed = 0;
  const pinfold_code code = pinfold_container_is_placed(options.state_dir, "db-1", "main",
                                                        options.state_dir, &is_placed, &error);
  pinfold_free(error);
  return code == PINFOLD_NOT_FOUND ? PINFOLD_OK : code; /* the directory is no cgroup */
}
static pinfold_code call_is_exclusive(void) {
  int is_exclusive = 0;
  return pinfold_is_exclusive(options.state_dir, "1-2", &is_exclusive, NULL);
}
static pinfold_code call_owner_of(void) {
  char* uid = NULL;
  char* container = NULL;
  const pinfold_code code = pinfold_owner_of(options.state_dir, 1, &uid, &container, NULL);
  pinfold_free(uid);
  pinfold_free(container);
  return code;
}
static pinfold_code call_fleet_open(void) {
  pinfold_fleet* other = NULL;
  char* error = NULL;
  const pinfold_code code = pinfold_fleet_open(kNodes, NULL, &other, &error);
  pinfold_fleet_close(other);
  pinfold_free(error);
  return code;
}
static pinfold_code call_fleet_predict(void) {
  char* json = NULL;
  char* error = NULL;
  const pinfold_code code = pinfold_fleet_predict(fleet, kOther, NULL, &json, &error);
  pinfold_free(json);
  pinfold_free(error);
  return code;
}
static pinfold_code call_fleet_place(void) {
  char* error = NULL;
  const pinfold_code code = pinfold_fleet_place_pod(fleet, kPod, "n1", &error);
  pinfold_free(error);
  return code;
}
static pinfold_code call_fleet_remove(void) {
  char* error = NULL;
  const pinfold_code code = pinfold_fleet_remove_pod(fleet, "db-1", &error);
  pinfold_free(error);
  return code;
}

static const struct {
  const char* name;
  pinfold_code (*call)(void);
  /* Before the call: not active, active, or active by a call that leaves a journal. */
  enum { kNone, kAdmitted, kCreated } before;
} kCalls[] = {
    {"open", call_open, kAdmitted},
    {"explain", call_explain, kNone},
    {"admit", call_admit, kNone},
    {"get", call_get, kAdmitted},
    {"status", call_status, kAdmitted},
    {"remove", call_remove, kAdmitted},
    {"list", call_list, kAdmitted},
    {"reconfigure", call_reconfigure, kAdmitted},
    {"defragment", call_defragment, kAdmitted},
    {"start", call_start, kAdmitted},
    {"resize", call_resize, kAdmitted},
    {"remove container", call_remove_container, kAdmitted},
    {"owner of", call_owner_of, kAdmitted},
    {"is placed", call_is_placed, kAdmitted},
    {"is exclusive", call_is_exclusive, kAdmitted},
    {"create", call_create, kNone},
    {"create again", call_create, kCreated},
    {"delete", call_delete, kCreated},
    {"remove created", call_remove, kCreated},
    {"resize created", call_resize, kCreated},
    {"remove created container", call_remove_container, kCreated},
    {"fleet open", call_fleet_open, kNone},
    {"fleet predict", call_fleet_predict, kAdmitted},
    {"fleet place", call_fleet_place, kNone},
    {"fleet remove", call_fleet_remove, kAdmitted},
};

/* Whether the pod has CPUs if, and only if, it is active with its container. */
static int is_consistent(void) {
  int owned = 0;
  for (int32_t cpu = 0; cpu < 4; ++cpu) {
    char* uid = NULL;
    char* container = NULL;
    if (pinfold_owner_of(options.state_dir, cpu, &uid, &container, NULL) != PINFOLD_OK) return 0;
    owned += strcmp(uid, "db-1") == 0;
    pinfold_free(uid);
    pinfold_free(container);
  }
  pinfold_pod* pod = NULL;
  const pinfold_code code = pinfold_pod_get(node, "db-1", &pod, NULL);
  const int has_container = code == PINFOLD_OK && pinfold_pod_container_count(pod) > 0;
  pinfold_pod_free(pod);
  if (code != PINFOLD_OK && code != PINFOLD_NOT_FOUND) return 0;
  return has_container ? owned >= 2 : owned == 0;
}

/* Runs in a child. The exit status is the code, or 200 if no allocation was left to fail. */
static void run_child(size_t which, long number) {
  until_failure = number;
  const pinfold_code code = kCalls[which].call();
  const int is_over = until_failure > 0;
  until_failure = -1;
  if (call_status() != PINFOLD_OK || call_fleet_predict() != PINFOLD_OK) _exit(201);
  if (!is_consistent()) _exit(202);
  _exit(is_over ? 200 : (int)code);
}

static void prepare(size_t which) {
  (void)call_remove();
  (void)call_fleet_remove();
  if (kCalls[which].before == kNone) return;
  const pinfold_code code = kCalls[which].before == kCreated ? call_create() : call_admit();
  if (code != PINFOLD_OK || call_fleet_place() != PINFOLD_OK) exit(2);
}

/* Returns the number of failures. */
static int try_all(size_t which, long step) {
  int failures = 0;
  long points = 0;
  for (long number = 1; number < 100000; number += step) {
    prepare(which);
    const pid_t child = fork();
    if (child == 0) run_child(which, number);
    int status = 0;
    if (waitpid(child, &status, 0) != child) return 1;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 200) break;
    ++points;
    if (WIFEXITED(status) &&
        (WEXITSTATUS(status) == PINFOLD_OK || WEXITSTATUS(status) == PINFOLD_NO_MEMORY)) {
      continue;
    }
    ++failures;
    printf("%s, %s %ld: %s %d\n", kCalls[which].name, fails_on ? "from allocation" : "allocation",
           number, WIFSIGNALED(status) ? "signal" : "exit status",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  }
  printf("%s: %ld points, %d failures\n", kCalls[which].name, points, failures);
  return failures + (points == 0);
}

/* Whether the arguments after the step name the call, or none. */
static int is_chosen(const char* name, int count, char** arguments) {
  for (int i = 2; i < count; ++i) {
    if (strcmp(arguments[i], name) == 0) return 1;
  }
  return count <= 2;
}

int main(int count, char** arguments) {
  char folder[] = "/tmp/pinfold-memory-XXXXXX";
  const long step = count > 1 ? atol(arguments[1]) : 1;
  char* error = NULL;
  if (mkdtemp(folder) == NULL || step < 1) return 2;
  options.flags = PINFOLD_NODE_NO_ENFORCE;
  options.state_dir = folder;
  options.machine = kMachine;
  options.config = "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";
  if (pinfold_node_open(&options, &node, &error) != PINFOLD_OK) {
    puts(error);
    return 2;
  }
  if (pinfold_fleet_open(kNodes, NULL, &fleet, &error) != PINFOLD_OK) {
    puts(error);
    return 2;
  }
  int failures = 0;
  for (fails_on = 0; fails_on < 2; ++fails_on) {
    for (size_t which = 0; which < sizeof(kCalls) / sizeof(kCalls[0]); ++which) {
      if (is_chosen(kCalls[which].name, count, arguments)) failures += try_all(which, step);
    }
  }
  pinfold_fleet_close(fleet);
  pinfold_node_close(node);
  char command[64];
  snprintf(command, sizeof(command), "rm -r %s", folder);
  return system(command) != 0 || failures != 0;
}
