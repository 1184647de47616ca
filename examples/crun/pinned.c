#include "pinned.h"

#include <pinfold/pinfold.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kMaxPath = 4096 };

/* The places that crun knows, too. */
static const char kCgroupV1[] = "/sys/fs/cgroup/cpuset";
static const char kCgroupV2[] = "/sys/fs/cgroup";

static int has_v1(void) { return access(kCgroupV1, F_OK) == 0; }

/* Takes over `error`, which the library has allocated. Returns NULL if all is done. */
static char* outcome(pinfold_code code, char* error) {
  char* failed = NULL;
  if (!pinfold_is_done(code)) failed = strdup(error != NULL ? error : pinfold_code_name(code));
  pinfold_free(error);
  return failed;
}

static char* unexpected(const char* what, const char* value, const char* expected) {
  char* failed = NULL;
  if (asprintf(&failed, "%s '%s': expected %s", what, value, expected) < 0) failed = strdup(what);
  return failed;
}

/* Whether JSON has the text as it is. */
static int is_plain(const char* text) {
  static const char kPlain[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz._+-";
  return *text != '\0' && strspn(text, kPlain) == strlen(text);
}

static FILE* open_cgroups(pid_t pid) {
  char path[sizeof("/proc//cgroup") + 3 * sizeof(pid)];
  snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
  return fopen(pid == 0 ? "/proc/self/cgroup" : path, "re");
}

/* Sets `path` to the directory of the process' cgroup. */
static int find_cgroup(pid_t pid, char path[kMaxPath]) {
  const char* const before = has_v1() ? ":cpuset:" : "0::";
  char line[kMaxPath];
  const char* found = NULL;
  FILE* const file = open_cgroups(pid);
  while (found == NULL && file != NULL && fgets(line, sizeof(line), file) != NULL)
    found = strstr(line, before);
  if (file != NULL) fclose(file);
  if (found == NULL) return 0;
  line[strcspn(line, "\n")] = '\0';
  const char* const mount = has_v1() ? kCgroupV1 : kCgroupV2;
  return snprintf(path, kMaxPath, "%s%s", mount, found + strlen(before)) < kMaxPath;
}

/* The root is named, so that the library does not need libcgroup to find it. Each node serves
 * one call. */
static pinfold_code open_node(pinfold_node** node, char** error) {
  pinfold_node_options options = PINFOLD_NODE_OPTIONS_INIT;
  options.flags = PINFOLD_NODE_DEFER;
  options.cgroup_root = has_v1() ? "/sys/fs/cgroup/cpuset/pinfold" : "/sys/fs/cgroup/pinfold";
  return pinfold_node_open(&options, node, error);
}

static char* create(const char* manifest, const char* directory) {
  pinfold_request request = PINFOLD_REQUEST_INIT;
  pinfold_node* node = NULL;
  char* error = NULL;
  pinfold_code code = open_node(&node, &error);
  if (code != PINFOLD_OK) return outcome(code, error);
  request.manifest = manifest;
  code = pinfold_container_create(node, &request, directory, NULL, &error);
  pinfold_node_close(node);
  return outcome(code, error);
}

/* Returns NULL without memory. */
static char* make_manifest(const char* id, const char* cpu, const char* memory) {
  static const char kFormat[] =
      "{\"metadata\": {\"name\": \"oci-%s\", \"uid\": \"oci-%s\"}, \"spec\": {\"containers\": "
      "[{\"name\": \"main\", \"resources\": {\"limits\": {\"cpu\": \"%s\", \"memory\": "
      "\"%s\"}}}]}}";
  char* manifest = NULL;
  return asprintf(&manifest, kFormat, id, id, cpu, memory) < 0 ? NULL : manifest;
}

/* Returns NULL if the kernel shows what was decided, within a second: a container without CPUs
 * waits until the admission of another one is applied. */
static char* check_placed(const char* id, const char* directory) {
  const struct timespec pause = {0, 10 * 1000 * 1000};
  char uid[kMaxPath];
  char* error = NULL;
  int is_placed = 0;
  snprintf(uid, sizeof(uid), "oci-%s", id);
  for (int i = 0; i < 100 && !is_placed; ++i) {
    if (i > 0) (void)nanosleep(&pause, NULL);
    const pinfold_code code =
        pinfold_container_is_placed(NULL, uid, "main", directory, &is_placed, &error);
    if (code != PINFOLD_OK) return outcome(code, error);
  }
  return is_placed ? NULL : unexpected("cgroup", directory, "the CPUs that were decided");
}

char* pinned_create(const char* id, const char* cpu, const char* memory, pid_t pid) {
  char directory[kMaxPath];
  if (!is_plain(id)) return unexpected("container", id, "letters, digits, '.', '_', '+', '-'");
  if (!is_plain(cpu)) return unexpected("annotation io.pinfold.cpu", cpu, "a quantity, '2'");
  if (memory == NULL || !is_plain(memory))
    return unexpected("annotation io.pinfold.memory", memory ? memory : "", "a quantity, '64Mi'");
  if (!find_cgroup(pid, directory)) return unexpected("container", id, "a cgroup with a cpuset");
  char* const manifest = make_manifest(id, cpu, memory);
  if (manifest == NULL) return strdup("no memory");
  char* const failed = create(manifest, directory);
  free(manifest);
  return failed != NULL ? failed : check_placed(id, directory);
}

char* pinned_delete(const char* id) {
  pinfold_node* node = NULL;
  char* error = NULL;
  char uid[kMaxPath];
  pinfold_code code = open_node(&node, &error);
  if (code != PINFOLD_OK) return outcome(code, error);
  snprintf(uid, sizeof(uid), "oci-%s", id);
  code = pinfold_container_delete(node, uid, NULL, &error);
  pinfold_node_close(node);
  return outcome(code, error);
}
