/* The three callbacks as a runtime in C has them: a log, two licences as a source of hints, and
 * control groups that are kept in a table. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <pinfold/pinfold.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void check(int holds, const char* what, int line) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, line, what);
}
#define CHECK(condition) check((condition), #condition, __LINE__)

/* ---- The log ---- */

static char last_admission[128];

static void on_log(void* data, int32_t level, const char* message) {
  if (level == PINFOLD_LOG_INFO && strstr(message, "admitted") != NULL) {
    snprintf(data, sizeof last_admission, "%s", message);
  }
}

/* ---- The hints: both licences are on the NUMA node at position 1; the state has an x for each
 * that is out ---- */

static void licence_hints(void* data, const char* state, const char* pod, const char* container,
                          pinfold_hints* hints) {
  (void)data, (void)pod, (void)container;
  if (strlen(state) < 2) {
    (void)pinfold_hints_add(hints, "example.com/licence", 2, 1);
  } else {
    (void)pinfold_hints_impossible(hints, "example.com/licence");
  }
}

static int give_licence(void* data, const char* state, const char* pod, const char* container,
                        uint64_t nodes, pinfold_text* next, pinfold_text* refusal) {
  char more[8];
  (void)data, (void)pod, (void)container, (void)refusal;
  CHECK(nodes == 2);
  snprintf(more, sizeof more, "%.4sx", state);
  return pinfold_text_set(next, more);
}

static void take_licence(void* data, const char* state, const char* pod_uid, const char* container,
                         pinfold_text* next) {
  (void)data, (void)pod_uid, (void)container;
  (void)pinfold_text_set(next, state[0] == '\0' ? state : state + 1);
}

/* ---- The groups: a row for each value that was written, and one without a file for each group
 * ---- */

enum { kRows = 256 };
typedef struct row {
  int used;
  char group[64], file[48], value[64];
} row;
static row rows[kRows];

static row* find(const char* group, const char* file) {
  for (row* at = rows; at < rows + kRows; ++at) {
    if (at->used && strcmp(at->group, group) == 0 && strcmp(at->file, file) == 0) return at;
  }
  return NULL;
}

static int put(const char* group, const char* file, const char* value) {
  row* at = find(group, file);
  for (row* free_row = rows; at == NULL && free_row < rows + kRows; ++free_row) {
    if (!free_row->used) at = free_row;
  }
  if (at == NULL) return ENOSPC;
  at->used = 1;
  snprintf(at->group, sizeof at->group, "%s", group);
  snprintf(at->file, sizeof at->file, "%s", file);
  snprintf(at->value, sizeof at->value, "%s", value);
  return 0;
}

static int make_group(void* data, const char* directory, const char* group) {
  (void)data, (void)directory;
  return put(group, "", "");
}

static int remove_group(void* data, const char* directory, const char* group) {
  (void)data, (void)directory;
  for (row* at = rows; at < rows + kRows; ++at) {
    if (strcmp(at->group, group) == 0) at->used = 0;
  }
  return 0;
}

static int write_value(void* data, const char* directory, const char* group, const char* file,
                       const char* value) {
  (void)data, (void)directory;
  return find(group, "") == NULL ? ENOENT : put(group, file, value);
}

/* What a kernel would have in effect: the group's own value, else that of the next group above. */
static const char* effective(const char* group, const char* file) {
  char above[64];
  snprintf(above, sizeof above, "%s", group);
  for (;;) {
    const row* const own = find(above, file);
    if (own != NULL && own->value[0] != '\0') return own->value;
    if (above[0] == '\0') return strcmp(file, "cpuset.cpus") == 0 ? "0-3" : "0-1";
    char* const slash = strrchr(above, '/');
    *(slash == NULL ? above : slash) = '\0';
  }
}

static int read_value(void* data, const char* directory, const char* group, const char* file,
                      pinfold_text* value) {
  char name[48];
  const row* const own = find(group, file);
  (void)data, (void)directory;
  if (find(group, "") == NULL) return ENOENT;
  if (strcmp(file, "cgroup.controllers") == 0) return pinfold_text_set(value, "cpuset cpu memory");
  snprintf(name, sizeof name, "%s", file);
  char* const end = strstr(name, ".effective");
  if (end != NULL) {
    *end = '\0';
    return pinfold_text_set(value, effective(group, name));
  }
  return pinfold_text_set(value, own == NULL ? "" : own->value);
}

static int children(void* data, const char* directory, const char* group, pinfold_text* names) {
  char list[1024] = "";
  const size_t size = strlen(group);
  (void)data, (void)directory;
  for (const row* at = rows; at < rows + kRows; ++at) {
    if (!at->used || at->file[0] != '\0' || strncmp(at->group, group, size) != 0) continue;
    const char* const name = at->group + size + (size != 0 && at->group[size] == '/');
    if (name[0] == '\0' || strchr(name, '/') != NULL) continue;
    snprintf(list + strlen(list), sizeof list - strlen(list), "%s\n", name);
  }
  return pinfold_text_set(names, list);
}

/* ---- The runtime ---- */

static const char kMachine[] =
    "{\"name\":\"n\",\"cpus\":["
    "{\"id\":0,\"core\":0,\"socket\":0,\"numa\":0,\"l3\":0},"
    "{\"id\":1,\"core\":1,\"socket\":0,\"numa\":0,\"l3\":0},"
    "{\"id\":2,\"core\":2,\"socket\":1,\"numa\":1,\"l3\":1},"
    "{\"id\":3,\"core\":3,\"socket\":1,\"numa\":1,\"l3\":1}],"
    "\"numaNodes\":[{\"id\":0,\"memory\":4294967296,\"hugepages\":{}},"
    "{\"id\":1,\"memory\":4294967296,\"hugepages\":{}}],\"devices\":[]}";

static pinfold_code admit(pinfold_node* node, const char* name) {
  char text[256];
  pinfold_pod* pod = NULL;
  char* error = NULL;
  snprintf(text, sizeof text,
           "metadata: {name: %s, uid: %s}\nspec: {containers: [{name: c, resources: {limits: "
           "{cpu: 1, memory: 1Mi}}}]}",
           name, name);
  const pinfold_code code = pinfold_pod_admit(node, text, &pod, &error);
  if (code != PINFOLD_OK && code != PINFOLD_REJECTED) fprintf(stderr, "%s: %s\n", name, error);
  pinfold_free(error);
  pinfold_pod_free(pod);
  return code;
}

static const char* cpus_of(const char* group) {
  const row* const found = find(group, "cpuset.cpus");
  return found == NULL ? "" : found->value;
}

int main(void) {
  static char state_dir[] = "/tmp/pinfold_callbacks_XXXXXX";
  pinfold_log_sink sink = PINFOLD_LOG_SINK_INIT;
  pinfold_hint_provider licences = PINFOLD_HINT_PROVIDER_INIT;
  pinfold_cgroup_writer writer = PINFOLD_CGROUP_WRITER_INIT;
  pinfold_node_options options = PINFOLD_NODE_OPTIONS_INIT;
  const pinfold_hint_provider* const providers[] = {&licences};
  pinfold_node* node = NULL;
  char* error = NULL;
  char command[64];
  if (mkdtemp(state_dir) == NULL) return 2;
  sink.data = last_admission;
  sink.log = on_log;
  licences.name = "licences";
  licences.hints = licence_hints;
  licences.allocate = give_licence;
  licences.release = take_licence;
  writer.version = 2;
  writer.make_group = make_group;
  writer.remove_group = remove_group;
  writer.write = write_value;
  writer.read = read_value;
  writer.children = children;
  options.state_dir = state_dir;
  options.cgroup_root = "/groups";
  options.machine = kMachine;
  options.config =
      "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\ntopologyManagerPolicy: single-numa-node";
  options.log = &sink;
  options.providers = providers;
  options.provider_count = 1;
  options.writer = &writer;
  CHECK(put("", "", "") == 0); /* the root of the groups */
  if (pinfold_node_open(&options, &node, &error) != PINFOLD_OK) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }
  CHECK(admit(node, "a") == PINFOLD_OK);
  CHECK(strcmp(last_admission, "pod 'a': admitted") == 0);
  CHECK(strcmp(cpus_of("poda/c"), "2") == 0); /* CPU 1 is free, but far from the licences */
  CHECK(admit(node, "b") == PINFOLD_OK);
  CHECK(strcmp(cpus_of("podb/c"), "3") == 0);
  CHECK(admit(node, "d") == PINFOLD_REJECTED);
  CHECK(find("podd", "") == NULL);
  CHECK(pinfold_pod_release(node, "a", 0, &error) == PINFOLD_OK);
  CHECK(find("poda", "") == NULL && find("poda/c", "") == NULL);
  CHECK(admit(node, "d") == PINFOLD_OK);
  CHECK(strcmp(cpus_of("podd/c"), "2") == 0);
  pinfold_node_close(node);
  snprintf(command, sizeof command, "rm -rf %s", state_dir);
  return system(command) == 0 && failures == 0 ? 0 : 1;
}
