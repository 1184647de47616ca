/* cgroup-table STATE_DIR MACHINE: a complete pinfold_cgroup_fs of cgroup_version 2 in a table in
 * memory. A runtime whose containers run in virtual machines would send the same five calls to the
 * guest. Admits a pod and prints what Pinfold wrote. Files that are optional do not exist. */
#include <errno.h>
#include <pinfold/pinfold.h>
#include <stdio.h>
#include <string.h>

enum { kRows = 256, kName = 128, kValue = 256 };

/* A written file; a cgroup is a row with file "". */
struct row {
  int is_used;
  char cgroup[kName], file[kName], value[kValue];
};
struct table {
  struct row rows[kRows];
  const char* cpus; /* of the machine */
  const char* mems;
};

static const char* const kFiles[] = {
    "cgroup.procs", "cgroup.subtree_control", "cpuset.cpus", "cpuset.mems", "cpu.weight", "cpu.max",
    "memory.max"};

static int is_file(const char* name) {
  for (size_t i = 0; i < sizeof kFiles / sizeof *kFiles; ++i) {
    if (strcmp(kFiles[i], name) == 0) return 1;
  }
  return 0;
}

static struct row* find(struct table* table, const char* cgroup, const char* file) {
  for (struct row* row = table->rows; row < table->rows + kRows; ++row) {
    if (row->is_used && strcmp(row->cgroup, cgroup) == 0 && strcmp(row->file, file) == 0) {
      return row;
    }
  }
  return NULL;
}

static int put(struct table* table, const char* cgroup, const char* file, const char* value) {
  struct row* row = find(table, cgroup, file);
  for (struct row* free_row = table->rows; row == NULL && free_row < table->rows + kRows;
       ++free_row) {
    if (!free_row->is_used) row = free_row;
  }
  if (row == NULL) return ENOSPC;
  if (strlen(cgroup) >= kName || strlen(value) >= kValue) return ENAMETOOLONG;
  row->is_used = 1;
  snprintf(row->cgroup, sizeof row->cgroup, "%s", cgroup);
  snprintf(row->file, sizeof row->file, "%s", file);
  snprintf(row->value, sizeof row->value, "%s", value);
  return 0;
}

/* The name of `cgroup` directly below `parent`, or NULL. */
static const char* name_below(const char* parent, const char* cgroup) {
  const size_t size = strlen(parent);
  const char* name = cgroup;
  if (size != 0) {
    if (strncmp(cgroup, parent, size) != 0 || cgroup[size] != '/') return NULL;
    name = cgroup + size + 1;
  }
  return name[0] == '\0' || strchr(name, '/') != NULL ? NULL : name;
}

/* The parent: "pod1" for "pod1/c", "" for "pod1". */
static void cut_last(char* cgroup) {
  char* const slash = strrchr(cgroup, '/');
  *(slash == NULL ? cgroup : slash) = '\0';
}

static int create_cgroup(void* data, const char* directory, const char* cgroup) {
  char parent[kName];
  (void)directory;
  snprintf(parent, sizeof parent, "%s", cgroup);
  cut_last(parent);
  return find(data, parent, "") == NULL ? ENOENT : put(data, cgroup, "", "");
}

static int remove_cgroup(void* data, const char* directory, const char* cgroup) {
  struct table* const table = data;
  const struct row* const procs = find(table, cgroup, "cgroup.procs");
  (void)directory;
  if (procs != NULL && procs->value[0] != '\0') return EBUSY;
  for (const struct row* row = table->rows; row < table->rows + kRows; ++row) {
    if (row->is_used && name_below(cgroup, row->cgroup) != NULL) return EBUSY;
  }
  for (struct row* row = table->rows; row < table->rows + kRows; ++row) {
    if (strcmp(row->cgroup, cgroup) == 0) row->is_used = 0;
  }
  return 0;
}

static int write_file(void* data, const char* directory, const char* cgroup, const char* file,
                      const char* value) {
  char more[2 * kValue];
  const struct row* const old = find(data, cgroup, file);
  (void)directory;
  if (find(data, cgroup, "") == NULL || !is_file(file)) return ENOENT;
  const int is_controller = strcmp(file, "cgroup.subtree_control") == 0;
  if (!is_controller && strcmp(file, "cgroup.procs") != 0) return put(data, cgroup, file, value);
  /* Both accept one more value: "+cpuset", or a process, which a guest would move here. */
  if (is_controller && value[0] != '+') return EINVAL;
  const char* const had = old == NULL ? "" : old->value;
  const int size =
      snprintf(more, sizeof more, "%s%s%s", had, had[0] == '\0' ? "" : (is_controller ? " " : "\n"),
               value + is_controller);
  if (size >= kValue) return ENOSPC;
  return put(data, cgroup, file, more);
}

/* Pinfold writes no CPU into a cgroup that the parent does not have: the nearest value counts. */
static const char* effective(struct table* table, const char* cgroup, const char* file) {
  char at[kName];
  snprintf(at, sizeof at, "%s", cgroup);
  for (;;) {
    const struct row* const row = find(table, at, file);
    if (row != NULL && row->value[0] != '\0') return row->value;
    if (at[0] == '\0') return strcmp(file, "cpuset.cpus") == 0 ? table->cpus : table->mems;
    cut_last(at);
  }
}

static int read_file(void* data, const char* directory, const char* cgroup, const char* file,
                     pinfold_text* value) {
  const struct row* const row = find(data, cgroup, file);
  (void)directory;
  if (find(data, cgroup, "") == NULL) return ENOENT;
  if (strcmp(file, "cpuset.cpus.effective") == 0) {
    return pinfold_text_set(value, effective(data, cgroup, "cpuset.cpus")) == PINFOLD_OK ? 0 : EIO;
  }
  if (strcmp(file, "cpuset.mems.effective") == 0) {
    return pinfold_text_set(value, effective(data, cgroup, "cpuset.mems")) == PINFOLD_OK ? 0 : EIO;
  }
  if (!is_file(file)) return ENOENT;
  return pinfold_text_set(value, row == NULL ? "" : row->value) == PINFOLD_OK ? 0 : EIO;
}

static int list_children(void* data, const char* directory, const char* cgroup,
                         pinfold_text* names) {
  static char list[kRows * kName];
  struct table* const table = data;
  size_t size = 0;
  (void)directory;
  list[0] = '\0';
  for (const struct row* row = table->rows; row < table->rows + kRows; ++row) {
    const char* const name = row->is_used ? name_below(cgroup, row->cgroup) : NULL;
    if (name == NULL || row->file[0] != '\0') continue;
    size += (size_t)snprintf(list + size, sizeof list - size, "%s\n", name);
  }
  return pinfold_text_set(names, list) == PINFOLD_OK ? 0 : EIO;
}

static int report(const char* what, const char* error) {
  fprintf(stderr, "%s: %s\n", what, error == NULL ? "no memory" : error);
  return 1;
}

int main(int argc, char** argv) {
  static struct table table;
  pinfold_cgroup_fs cgroup_fs = PINFOLD_CGROUP_FS_INIT;
  pinfold_node_options options = PINFOLD_NODE_OPTIONS_INIT;
  pinfold_node* node = NULL;
  pinfold_pod* pod = NULL;
  char* error = NULL;
  if (argc != 3) return 2;
  table.cpus = "0-3";
  table.mems = "0";
  if (put(&table, "", "", "") != 0) return 1; /* the cgroup root */
  cgroup_fs.data = &table;
  cgroup_fs.cgroup_version = 2;
  cgroup_fs.create_cgroup = create_cgroup;
  cgroup_fs.remove_cgroup = remove_cgroup;
  cgroup_fs.write_file = write_file;
  cgroup_fs.read_file = read_file;
  cgroup_fs.list_children = list_children;
  options.state_dir = argv[1];
  options.machine = argv[2];
  options.config = "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";
  options.cgroup_fs = &cgroup_fs;
  if (pinfold_node_open(&options, &node, &error) != PINFOLD_OK) return report("open", error);
  if (pinfold_pod_admit(node,
                        "metadata: {name: db, uid: db-1}\n"
                        "spec: {containers: [{name: main, resources: {limits: {cpu: 2, memory: "
                        "1Gi}}}]}\n",
                        &pod, &error) != PINFOLD_OK) {
    return report("admit", error);
  }
  pinfold_pod_free(pod);
  for (const struct row* row = table.rows; row < table.rows + kRows; ++row) {
    if (row->is_used && row->file[0] != '\0') {
      printf("/%s %s = '%s'\n", row->cgroup, row->file, row->value);
    }
  }
  if (!pinfold_is_done(pinfold_container_attach_process(node, "db", "main", 4242, &error))) {
    return report("attach", error);
  }
  if (pinfold_pod_remove(node, "db-1", 0, &error) != PINFOLD_BUSY) return report("remove", error);
  pinfold_free(error);
  if (put(&table, "poddb-1/main", "cgroup.procs", "") != 0) return 1; /* the process has ended */
  if (!pinfold_is_done(pinfold_pod_remove(node, "db-1", 0, &error))) {
    return report("remove", error);
  }
  pinfold_node_close(node);
  return find(&table, "poddb-1", "") == NULL ? 0 : 1;
}
