/* The three kinds of callbacks as a C runtime implements them: a log, two licences as a source of
 * hints, and cgroups in a table. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <pinfold/pinfold.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* ---- The log ---- */

static char last_admission[128];

static void on_log(void* data, int32_t level, const char* message) {
  if (level == PINFOLD_LOG_INFO && strstr(message, "admitted") != NULL) {
    snprintf(data, sizeof last_admission, "%s", message);
  }
}

/* ---- The hints: both licences are on the NUMA node at position 1; the state has an x for each
 * allocated one ---- */

static void licence_hints(void* data, const char* state, const char* pod_json,
                          const char* container, pinfold_hints* hints) {
  (void)data, (void)pod_json, (void)container;
  if (strlen(state) < 2) {
    (void)pinfold_hints_add(hints, "example.com/licence", 2, 1);
  } else {
    (void)pinfold_hints_set_impossible(hints, "example.com/licence");
  }
}

static int allocate_licence(void* data, const char* state, const char* pod_json,
                            const char* container, uint64_t numa_mask, pinfold_text* new_state,
                            pinfold_text* message) {
  char more[8];
  (void)data, (void)pod_json, (void)container, (void)message;
  CHECK(numa_mask == 2);
  snprintf(more, sizeof more, "%.4sx", state);
  return pinfold_text_set(new_state, more);
}

static void release_licence(void* data, const char* state, const char* pod_uid,
                            const char* container, pinfold_text* new_state) {
  (void)data, (void)pod_uid, (void)container;
  (void)pinfold_text_set(new_state, state[0] == '\0' ? state : state + 1);
}

/* ---- The cgroups: a row for each written value, and a row without a file for each cgroup ---- */

enum { kRows = 256 };
typedef struct row {
  int used;
  char cgroup[64], file[48], value[64];
} row;
static row rows[kRows];

static row* find(const char* cgroup, const char* file) {
  for (row* at = rows; at < rows + kRows; ++at) {
    if (at->used && strcmp(at->cgroup, cgroup) == 0 && strcmp(at->file, file) == 0) return at;
  }
  return NULL;
}

static int put(const char* cgroup, const char* file, const char* value) {
  row* at = find(cgroup, file);
  for (row* free_row = rows; at == NULL && free_row < rows + kRows; ++free_row) {
    if (!free_row->used) at = free_row;
  }
  if (at == NULL) return ENOSPC;
  at->used = 1;
  snprintf(at->cgroup, sizeof at->cgroup, "%s", cgroup);
  snprintf(at->file, sizeof at->file, "%s", file);
  snprintf(at->value, sizeof at->value, "%s", value);
  return 0;
}

static int create_cgroup(void* data, const char* directory, const char* cgroup) {
  (void)data, (void)directory;
  return put(cgroup, "", "");
}

static int remove_cgroup(void* data, const char* directory, const char* cgroup) {
  (void)data, (void)directory;
  for (row* at = rows; at < rows + kRows; ++at) {
    if (strcmp(at->cgroup, cgroup) == 0) at->used = 0;
  }
  return 0;
}

static int write_file(void* data, const char* directory, const char* cgroup, const char* file,
                      const char* value) {
  (void)data, (void)directory;
  return find(cgroup, "") == NULL ? ENOENT : put(cgroup, file, value);
}

/* Returns the effective value, as from a kernel: the cgroup's value, or else its parent's. */
static const char* effective(const char* cgroup, const char* file) {
  char above[64];
  snprintf(above, sizeof above, "%s", cgroup);
  for (;;) {
    const row* const own = find(above, file);
    if (own != NULL && own->value[0] != '\0') return own->value;
    if (above[0] == '\0') return strcmp(file, "cpuset.cpus") == 0 ? "0-3" : "0-1";
    char* const slash = strrchr(above, '/');
    *(slash == NULL ? above : slash) = '\0';
  }
}

static int read_file(void* data, const char* directory, const char* cgroup, const char* file,
                     pinfold_text* value) {
  char name[48];
  const row* const own = find(cgroup, file);
  (void)data, (void)directory;
  if (find(cgroup, "") == NULL) return ENOENT;
  if (strcmp(file, "cgroup.controllers") == 0) return pinfold_text_set(value, "cpuset cpu memory");
  snprintf(name, sizeof name, "%s", file);
  char* const end = strstr(name, ".effective");
  if (end != NULL) {
    *end = '\0';
    return pinfold_text_set(value, effective(cgroup, name));
  }
  return pinfold_text_set(value, own == NULL ? "" : own->value);
}

static int list_children(void* data, const char* directory, const char* cgroup,
                         pinfold_text* names) {
  char list[1024] = "";
  const size_t size = strlen(cgroup);
  (void)data, (void)directory;
  for (const row* at = rows; at < rows + kRows; ++at) {
    if (!at->used || at->file[0] != '\0' || strncmp(at->cgroup, cgroup, size) != 0) continue;
    const char* const name = at->cgroup + size + (size != 0 && at->cgroup[size] == '/');
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

static const char* cpus_of(const char* cgroup) {
  const row* const found = find(cgroup, "cpuset.cpus");
  return found == NULL ? "" : found->value;
}

int main(void) {
  static char state_dir[] = "/tmp/pinfold_callbacks_XXXXXX";
  pinfold_log_sink sink = PINFOLD_LOG_SINK_INIT;
  pinfold_hint_provider licences = PINFOLD_HINT_PROVIDER_INIT;
  pinfold_cgroup_fs cgroup_fs = PINFOLD_CGROUP_FS_INIT;
  pinfold_node_options options = PINFOLD_NODE_OPTIONS_INIT;
  const pinfold_hint_provider* const providers[] = {&licences};
  pinfold_node* node = NULL;
  char* error = NULL;
  char command[64];
  if (mkdtemp(state_dir) == NULL) return 2;
  sink.data = last_admission;
  sink.log = on_log;
  licences.name = "licences";
  licences.get_hints = licence_hints;
  licences.allocate = allocate_licence;
  licences.release = release_licence;
  cgroup_fs.cgroup_version = 2;
  cgroup_fs.create_cgroup = create_cgroup;
  cgroup_fs.remove_cgroup = remove_cgroup;
  cgroup_fs.write_file = write_file;
  cgroup_fs.read_file = read_file;
  cgroup_fs.list_children = list_children;
  options.state_dir = state_dir;
  options.cgroup_root = "/groups";
  options.machine = kMachine;
  options.config =
      "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\ntopologyManagerPolicy: single-numa-node";
  options.log_sink = &sink;
  options.hint_providers = providers;
  options.hint_provider_count = 1;
  options.cgroup_fs = &cgroup_fs;
  CHECK(put("", "", "") == 0); /* the cgroup root */
  if (pinfold_node_open(&options, &node, &error) != PINFOLD_OK) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }
  CHECK(admit(node, "a") == PINFOLD_OK);
  CHECK(strcmp(last_admission, "pod 'a': admitted") == 0);
  CHECK(strcmp(cpus_of("poda/c"), "2") == 0); /* not 1: it is free, but far from the licences */
  CHECK(admit(node, "b") == PINFOLD_OK);
  CHECK(strcmp(cpus_of("podb/c"), "3") == 0);
  CHECK(admit(node, "d") == PINFOLD_REJECTED);
  CHECK(find("podd", "") == NULL);
  CHECK(pinfold_pod_remove(node, "a", 0, &error) == PINFOLD_OK);
  CHECK(find("poda", "") == NULL && find("poda/c", "") == NULL);
  CHECK(admit(node, "d") == PINFOLD_OK);
  CHECK(strcmp(cpus_of("podd/c"), "2") == 0);
  pinfold_node_close(node);
  snprintf(command, sizeof command, "rm -rf %s", state_dir);
  return system(command) == 0 && failures == 0 ? 0 : 1;
}
