/* The C interface without cgroups. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <pinfold/pinfold.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failures;

static void check(int holds, const char* what, const char* shown, int line) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, line, what, shown == NULL ? "(null)" : shown);
}
#define CHECK(condition) check((condition), #condition, "does not hold", __LINE__)
#define IS(actual, expected) check(strcmp((actual), (expected)) == 0, #actual, (actual), __LINE__)
#define HAS(actual, part)                                                                      \
  check((actual) != NULL && strstr((actual), (part)) != NULL, #actual " has " #part, (actual), \
        __LINE__)

static const char kMachine[] =
    "{\"name\":\"n\",\"cpus\":["
    "{\"id\":0,\"core\":0,\"socket\":0,\"numa\":0,\"l3\":0},"
    "{\"id\":1,\"core\":1,\"socket\":0,\"numa\":0,\"l3\":0},"
    "{\"id\":2,\"core\":2,\"socket\":0,\"numa\":0,\"l3\":0},"
    "{\"id\":3,\"core\":3,\"socket\":0,\"numa\":0,\"l3\":0}],"
    "\"numaNodes\":[{\"id\":0,\"memory\":4294967296,\"hugepages\":{\"hugepages-2Mi\":67108864}}],"
    "\"devices\":[]}";

static char state_dir[] = "/tmp/pinfold_use_XXXXXX";

static pinfold_node_options options(void) {
  pinfold_node_options out = PINFOLD_NODE_OPTIONS_INIT;
  out.flags = PINFOLD_NODE_NO_ENFORCE;
  out.state_dir = state_dir;
  out.machine = kMachine;
  out.config = "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";
  return out;
}

static const char* pod(const char* name, const char* limits) {
  static char text[512];
  snprintf(text, sizeof text,
           "metadata: {name: %s, uid: %s-1}\nspec: {containers: [{name: main, resources: "
           "{limits: {%s}}}]}\n",
           name, name, limits);
  return text;
}

static void reports_bad_options(void) {
  pinfold_node_options given = options();
  pinfold_node* node = NULL;
  char* error = NULL;
  CHECK(pinfold_node_open(NULL, &node, &error) == PINFOLD_INVALID_ARGUMENT);
  IS(error, "open node: options is NULL");
  pinfold_free(error);
  given.struct_size = 8;
  CHECK(pinfold_node_open(&given, &node, &error) == PINFOLD_INVALID_ARGUMENT);
  HAS(error, "pinfold_node_options.struct_size is 8: expected");
  pinfold_free(error);
  given = options();
  given.flags = 64;
  CHECK(pinfold_node_open(&given, &node, &error) == PINFOLD_UNSUPPORTED);
  HAS(error, "flags 0x40");
  pinfold_free(error);
  given = options();
  given.config = "cpuManagerPolicy: wild";
  CHECK(pinfold_node_open(&given, &node, &error) == PINFOLD_INVALID_ARGUMENT);
  HAS(error, "wild");
  pinfold_free(error);
  given = options();
  given.config_file = "/nowhere/config.yaml";
  given.config = NULL;
  CHECK(pinfold_node_open(&given, &node, &error) == PINFOLD_NOT_FOUND);
  CHECK(errno == ENOENT);
  HAS(error, "/nowhere/config.yaml");
  pinfold_free(error);
  given = options();
  given.machine = "{";
  CHECK(pinfold_node_open(&given, &node, NULL) == PINFOLD_INVALID_ARGUMENT); /* without a message */
  CHECK(errno == 0);
  CHECK(node == NULL);
}

/* A program that was compiled with a newer header. */
static void rejects_unknown_members(void) {
  struct {
    pinfold_node_options known;
    void* later;
  } given = {options(), NULL};
  pinfold_node* node = NULL;
  char* error = NULL;
  given.known.struct_size = sizeof given;
  CHECK(pinfold_node_open(&given.known, &node, &error) == PINFOLD_OK);
  pinfold_node_close(node);
  given.later = &given;
  CHECK(pinfold_node_open(&given.known, &node, &error) == PINFOLD_UNSUPPORTED);
  HAS(error, "does not have");
  pinfold_free(error);
}

static void admits_explains_and_removes(void) {
  const pinfold_node_options given = options();
  pinfold_container main_container = PINFOLD_CONTAINER_INIT;
  pinfold_node* node = NULL;
  pinfold_pod* answer = NULL;
  char* error = NULL;
  char* json = NULL;
  CHECK(pinfold_node_open(&given, &node, &error) == PINFOLD_OK);
  if (node == NULL) return;

  CHECK(pinfold_pod_admit(node, pod("db", "cpu: 2, memory: 64Mi, hugepages-2Mi: 4Mi"), &answer,
                          &error) == PINFOLD_OK);
  CHECK(error == NULL);
  if (answer == NULL) return;
  CHECK(pinfold_pod_is_admitted(answer) == 1);
  IS(pinfold_pod_uid(answer), "db-1");
  IS(pinfold_pod_name(answer), "db");
  IS(pinfold_pod_namespace(answer), "default");
  IS(pinfold_pod_reason(answer), "");
  CHECK(pinfold_pod_container_count(answer) == 1);
  CHECK(pinfold_pod_get_container(answer, 0, &main_container, &error) == PINFOLD_OK);
  IS(main_container.name, "main");
  IS(main_container.cpus, "1-2");
  IS(main_container.exclusive_cpus, "1-2");
  IS(main_container.mems, "");
  IS(main_container.cgroup, "poddb-1/main");
  IS(main_container.cgroup_path, "");
  CHECK(main_container.isolation == PINFOLD_ISOLATION_CONTAINER);
  CHECK((main_container.has & PINFOLD_HAS_CPU_QUOTA) != 0 && main_container.cpu_quota_us == -1);
  CHECK(main_container.cpu_shares == 2048);
  CHECK((main_container.has & PINFOLD_HAS_MEMORY_LIMIT) != 0);
  CHECK(main_container.memory_limit_bytes == 64 << 20);
  CHECK(main_container.hugepage_limit_count == 1);
  if (main_container.hugepage_limit_count == 1) {
    IS(main_container.hugepage_limits[0].page_size, "2MB");
    CHECK(main_container.hugepage_limits[0].bytes == 4 << 20);
  }
  CHECK(pinfold_pod_get_container(answer, 1, &main_container, &error) == PINFOLD_NOT_FOUND);
  HAS(error, "container 1 of pod 'db'");
  pinfold_free(error);
  CHECK(pinfold_pod_find_container(answer, "other", &main_container, &error) == PINFOLD_NOT_FOUND);
  HAS(error, "container 'other'");
  pinfold_free(error);
  HAS(pinfold_pod_json(answer), "\"admitted\":true");
  pinfold_pod_free(answer);

  CHECK(pinfold_pod_explain(node, pod("big", "cpu: 2, memory: 64Mi"), &answer, &error) ==
        PINFOLD_REJECTED);
  HAS(error, "not enough cpus available to satisfy request");
  pinfold_free(error);
  CHECK(pinfold_pod_is_admitted(answer) == 0);
  CHECK(pinfold_pod_container_count(answer) == 0);
  IS(pinfold_pod_reason(answer), "UnexpectedAdmissionError");
  HAS(pinfold_pod_trace(answer), "\"source\":\"cpu\"");
  pinfold_pod_free(answer);
  CHECK(pinfold_pod_get(node, "big", &answer, &error) == PINFOLD_NOT_FOUND);
  pinfold_free(error);

  CHECK(pinfold_pod_get(node, "default/db", &answer, NULL) == PINFOLD_OK);
  CHECK(pinfold_pod_find_container(answer, "main", &main_container, NULL) == PINFOLD_OK);
  IS(main_container.cpus, "1-2");
  pinfold_pod_free(answer);

  CHECK(pinfold_container_resize(node, "db", "main", 3000, &answer, &error) == PINFOLD_OK);
  CHECK(pinfold_pod_find_container(answer, "main", &main_container, NULL) == PINFOLD_OK);
  IS(main_container.cpus, "1-3");
  pinfold_pod_free(answer);
  CHECK(pinfold_container_resize(node, "db", "main", 1000, &answer, &error) == PINFOLD_REJECTED);
  HAS(error, "Infeasible: prohibitedCPUAllocation Error: ");
  HAS(error, "1-2: request at least 2");
  pinfold_free(error);
  pinfold_pod_free(answer);
  CHECK(pinfold_container_resize(node, "db", "main", 0, NULL, &error) == PINFOLD_INVALID_ARGUMENT);
  pinfold_free(error);
  CHECK(pinfold_container_resize(node, "db", "main", 2000, NULL, NULL) == PINFOLD_OK);
  CHECK(pinfold_container_start(node, "db", "main", &error) == PINFOLD_OK);
  CHECK(pinfold_container_attach_process(node, "db", "main", getpid(), &error) ==
        PINFOLD_UNSUPPORTED);
  pinfold_free(error);
  CHECK(pinfold_container_attach_process(node, "db", "main", -1, &error) ==
        PINFOLD_INVALID_ARGUMENT);
  pinfold_free(error);
  CHECK(pinfold_node_get_status(node, &json, &error) == PINFOLD_OK);
  HAS(json, "\"sharedPool\":\"0,3\"");
  pinfold_free(json);
  CHECK(pinfold_node_reconcile(node, &json, &error) == PINFOLD_UNSUPPORTED);
  pinfold_free(error);
  CHECK(pinfold_container_remove(node, "default/db", "main", 0, NULL) == PINFOLD_OK);
  CHECK(pinfold_pod_remove(node, "db-1", 4, &error) == PINFOLD_UNSUPPORTED);
  pinfold_free(error);
  CHECK(pinfold_pod_remove(node, "db", 0, &error) == PINFOLD_NOT_FOUND);
  IS(error,
     "remove pod: no pod has the UID 'db'; one has this name: to remove it, give its UID, "
     "'db-1', or its namespace and name");
  pinfold_free(error);
  CHECK(pinfold_pod_remove(node, "db-1", 0, &error) == PINFOLD_OK);
  CHECK(pinfold_pod_remove(node, "db-1", 0, &error) == PINFOLD_NOT_FOUND);
  HAS(error, "remove pod: pod 'db-1'");
  pinfold_free(error);
  CHECK(pinfold_pod_admit(node, "metadata: [", &answer, &error) == PINFOLD_INVALID_ARGUMENT);
  pinfold_free(error);
  pinfold_node_close(node);
}

static const char kNodes[] =
    "apiVersion: topology.node.k8s.io/v1alpha2\nkind: NodeResourceTopology\n"
    "metadata: {name: n1}\ntopologyPolicies: [SingleNUMANodePodLevel]\nzones:\n"
    "- {name: node-0, type: Node, resources: "
    "[{name: cpu, capacity: 4, allocatable: 4, available: 4}]}\n";

static void predicts_for_a_fleet(void) {
  pinfold_fleet* fleet = NULL;
  char* json = NULL;
  char* error = NULL;
  const char* three = pod("three", "cpu: 3, memory: 1Mi");
  CHECK(pinfold_fleet_open("kind: Node", NULL, &fleet, &error) == PINFOLD_INVALID_ARGUMENT);
  IS(error, "open fleet: kind: 'Node': expected 'NodeResourceTopology'");
  pinfold_free(error);
  CHECK(pinfold_fleet_open(kNodes, "memory,example.com/nic", &fleet, &error) == PINFOLD_OK);
  CHECK(pinfold_fleet_predict(fleet, three, NULL, &json, &error) == PINFOLD_OK);
  HAS(json, "\"outcome\":\"fits\"");
  pinfold_free(json);
  CHECK(pinfold_fleet_place_pod(fleet, three, "n2", &error) == PINFOLD_NOT_FOUND);
  IS(error, "place pod: node 'n2'");
  pinfold_free(error);
  CHECK(pinfold_fleet_place_pod(fleet, three, "n1", &error) == PINFOLD_OK);
  CHECK(pinfold_fleet_place_pod(fleet, three, "n1", &error) ==
        PINFOLD_OK); /* already placed there */
  {
    const char* two = pod("two", "cpu: 2, memory: 1Mi");
    CHECK(pinfold_fleet_predict(fleet, two, "MostAllocated", &json, NULL) == PINFOLD_REJECTED);
    HAS(json, "all zones together have 1 cpu available");
    pinfold_free(json);
    CHECK(pinfold_fleet_place_pod(fleet, two, "n1", &error) == PINFOLD_REJECTED);
    HAS(error, "all zones together have 1 cpu available");
    pinfold_free(error);
    CHECK(pinfold_fleet_remove_pod(fleet, "three-1", &error) == PINFOLD_OK);
    CHECK(pinfold_fleet_place_pod(fleet, two, "n1", &error) == PINFOLD_OK);
  }
  CHECK(pinfold_fleet_remove_pod(fleet, "three-1", &error) == PINFOLD_NOT_FOUND);
  pinfold_free(error);
  CHECK(pinfold_fleet_predict(fleet, NULL, NULL, &json, NULL) == PINFOLD_INVALID_ARGUMENT);
  pinfold_fleet_close(fleet);
  pinfold_fleet_close(NULL);
}

static void names_every_code(void) {
  static const struct {
    pinfold_code code;
    const char* name;
  } kNames[] = {{PINFOLD_OK, "ok"},
                {PINFOLD_INVALID_ARGUMENT, "invalid argument"},
                {PINFOLD_NOT_FOUND, "not found"},
                {PINFOLD_CORRUPT, "corrupt"},
                {PINFOLD_IO, "i/o"},
                {PINFOLD_UNSUPPORTED, "unsupported"},
                {PINFOLD_INTERNAL, "internal"},
                {PINFOLD_BUSY, "busy"},
                {PINFOLD_NO_MEMORY, "no memory"},
                {PINFOLD_REJECTED, "rejected"},
                {PINFOLD_NOT_ENFORCED, "not enforced"},
                {PINFOLD_NOT_SETTLED, "not settled"},
                {PINFOLD_UNKNOWN, "unknown outcome"},
                {12345, "unknown code"}};
  for (size_t i = 0; i < sizeof kNames / sizeof kNames[0]; ++i) {
    IS(pinfold_code_name(kNames[i].code), kNames[i].name);
  }
}

int main(void) {
  char command[64];
  if (mkdtemp(state_dir) == NULL) return 2;
  reports_bad_options();
  rejects_unknown_members();
  admits_explains_and_removes();
  predicts_for_a_fleet();
  names_every_code();
  pinfold_free(NULL);
  pinfold_pod_free(NULL);
  pinfold_node_close(NULL);
  snprintf(command, sizeof command, "rm -rf %s", state_dir);
  if (system(command) != 0) return 2;
  return failures == 0 ? 0 : 1;
}
