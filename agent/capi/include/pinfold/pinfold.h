/**
 * @file
 * Pinfold: CPUs and memory nodes for containers, as the kubelet gives them. The C interface.
 *
 *  1. Every function that can fail returns a pinfold_code: PINFOLD_OK (0) or one of the numbers
 *     below, which never change their meaning. `error` may be NULL; otherwise *error becomes NULL
 *     on success, else a text in UTF-8 that says what failed on which object (free it with
 *     pinfold_free; it stays NULL if there is no memory for it).
 *  2. Outputs are set on success only, unless the function says otherwise.
 *  3. Handles are opaque. What a function gives out by `char **` is freed with pinfold_free, a
 *     pinfold_pod with pinfold_pod_free, a pinfold_node with pinfold_node_close; NULL is fine
 * there. `const char *` results belong to the handle that they were read from.
 *  4. A structure begins with its own size, which the caller sets, best by its _INIT macro: a
 *     program that was compiled with an older header runs with a newer library, and the other way
 *     round as long as it does not use what the library does not know.
 *  5. Texts are UTF-8, end with a zero byte, and are not kept after the call, except where it says
 *     so. Amounts of memory are bytes, times of the CPU microseconds, CPUs and NUMA nodes the
 *     numbers of the operating system unless it says "position".
 *  6. Threads: every function may be called from any thread at any time, except that nobody may use
 *     a handle while it is closed or freed. Calls that take a node run one after the other within a
 *     process, for all nodes, and across processes for one state directory. A pinfold_pod is
 *     immutable. Callbacks run on the calling thread, within the call; a callback that calls a
 *     function with a node gets PINFOLD_BUSY.
 *  7. Nothing here prints, exits, aborts, installs a signal handler, starts a thread or throws.
 *     After fork() the child may use the handles if no other thread was in a call.
 */
#ifndef PINFOLD_PINFOLD_H
#define PINFOLD_PINFOLD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version and errors ---- */

/** Version of this header. */
#define PINFOLD_VERSION_MAJOR 0
#define PINFOLD_VERSION_MINOR 1
#define PINFOLD_VERSION_PATCH 0

/** Version of the library, "0.1.0". */
const char* pinfold_version(void);

typedef int32_t pinfold_code;

enum {
  PINFOLD_OK = 0,
  PINFOLD_INVALID_ARGUMENT = 1, /**< malformed, or out of its domain */
  PINFOLD_NOT_FOUND = 2,        /**< the named object does not exist */
  PINFOLD_CORRUPT = 3,          /**< stored data that fails its own checks */
  PINFOLD_IO = 4,               /**< a system call failed; the text says which */
  PINFOLD_UNSUPPORTED = 5,      /**< not possible on this machine or with this library */
  PINFOLD_INTERNAL = 6,         /**< a defect of Pinfold */
  PINFOLD_BUSY = 7, /**< somebody else has what is needed: a lock, a group with processes */
  PINFOLD_NO_MEMORY = 100,
  PINFOLD_REJECTED = 101,    /**< the answer is no: nothing was given, the pod must not run */
  PINFOLD_NOT_ENFORCED = 102 /**< decided and stored, but the kernel does not have it (yet):
                                remove the cause, then pinfold_node_reconcile */
};

/** "not found"; "unknown code" for other numbers. Never NULL. */
const char* pinfold_code_name(pinfold_code code);

/** Frees what was given out by `char **`. */
void pinfold_free(void* text);

/* ---- Callbacks: all optional ---- */

enum {
  PINFOLD_LOG_DEBUG = 0,   /**< each step in the kernel */
  PINFOLD_LOG_INFO = 1,    /**< admissions and removals */
  PINFOLD_LOG_WARNING = 2, /**< what was odd: drift, missing controllers, unknown fields */
  PINFOLD_LOG_ERROR = 3    /**< what was decided and could not be done */
};

typedef struct pinfold_log_sink {
  size_t struct_size;
  void* data;                                                  /**< handed to the callback */
  void (*log)(void* data, int32_t level, const char* message); /**< PINFOLD_LOG_... */
} pinfold_log_sink;
#define PINFOLD_LOG_SINK_INIT \
  { sizeof(pinfold_log_sink), NULL, NULL }

/** Where a callback puts a text. */
typedef struct pinfold_text pinfold_text;
/** Replaces what is there by a copy of `text`. Returns PINFOLD_OK or PINFOLD_NO_MEMORY. */
pinfold_code pinfold_text_set(pinfold_text* text, const char* value);

/** Where a callback puts its hints. */
typedef struct pinfold_hints pinfold_hints;
/** The resource can come from these NUMA nodes: bit i is the node at position i, the i-th lowest
 * node number of the machine; 0: from anywhere. Add hints by number of nodes, then
 * lexicographically. */
pinfold_code pinfold_hints_add(pinfold_hints* hints, const char* resource, uint64_t nodes,
                               int preferred);
/** The resource cannot be had at all. */
pinfold_code pinfold_hints_impossible(pinfold_hints* hints, const char* resource);

/** Another source of topology hints: devices of your own, cache ways, a licence pool. It has no
 * state of its own: what it remembers of a node is the text `state` ("" at first), which the
 * library keeps in the state directory. The callbacks must give the same answer to the same
 * arguments. `pod` is the Pod as JSON, `container` the name of one of its containers. */
typedef struct pinfold_hint_provider {
  size_t struct_size;
  void* data;
  const char* name; /**< unique; letters, digits, '-', '_', '.'; kept as long as the node is open */
  /** Where could the container's resources come from? `container` is NULL for the whole pod (pod
   * scope). No hint added: no preference. */
  void (*hints)(void* data, const char* state, const char* pod, const char* container,
                pinfold_hints* hints);
  /** Gives the container its share on these nodes (0: anywhere); one that has it keeps it. Returns
   * 0 and may set `next` to what is to be remembered; or not 0 and sets `refusal` to the reason. */
  int (*allocate)(void* data, const char* state, const char* pod, const char* container,
                  uint64_t nodes, pinfold_text* next, pinfold_text* refusal);
  /** Takes the share back; a name that is not known is no error. */
  void (*release)(void* data, const char* state, const char* pod_uid, const char* container,
                  pinfold_text* next);
} pinfold_hint_provider;
#define PINFOLD_HINT_PROVIDER_INIT \
  { sizeof(pinfold_hint_provider), NULL, NULL, NULL, NULL, NULL }

/** Writes control groups in the library's place. `directory` is the root of the groups in one
 * hierarchy, `group` a path relative to it ("" is the root itself), `file` a name in that group.
 * Callbacks return 0 or an errno. One that is NULL: the library does it itself. */
typedef struct pinfold_cgroup_writer {
  size_t struct_size;
  void* data;
  /** 0: the groups are in this kernel, and what the writer does is seen there. 1 or 2: the writer
   * stands for a hierarchy of that version of its own, with every controller, in which cgroup_root
   * is only a name; then no callback may be NULL. */
  int32_t version;
  int (*make_group)(void* data, const char* directory, const char* group); /**< there already: 0 */
  int (*remove_group)(void* data, const char* directory, const char* group); /**< not there: 0 */
  int (*write)(void* data, const char* directory, const char* group, const char* file,
               const char* value);
  /** The whole file, without the newline at its end. */
  int (*read)(void* data, const char* directory, const char* group, const char* file,
              pinfold_text* value);
  /** Names of the groups right below, separated by newlines. */
  int (*children)(void* data, const char* directory, const char* group, pinfold_text* names);
} pinfold_cgroup_writer;
#define PINFOLD_CGROUP_WRITER_INIT \
  { sizeof(pinfold_cgroup_writer), NULL, 0, NULL, NULL, NULL, NULL, NULL }

/* ---- A node ---- */

typedef struct pinfold_node pinfold_node;

enum {
  PINFOLD_NO_ENFORCE = 1 /**< decide and remember, touch no cgroup */
};

typedef struct pinfold_node_options {
  size_t struct_size;
  uint32_t flags;
  uint32_t lock_timeout_ms; /**< how long a call waits for another process; 0: 30000 */
  const char* state_dir;    /**< made if it is not there; NULL: /var/lib/pinfold */
  const char* cgroup_root;  /**< the last directory is made if it is not there; NULL: "pinfold" at
                               the  mount of the cpuset controller */
  const char* config;       /**< KubeletConfiguration, YAML or JSON; NULL: config_file */
  const char* config_file;  /**< its path; NULL: config.yaml of state_dir if it is there, else the
                               kubelet's defaults */
  const char* machine;      /**< JSON as `pinfold topology -o json` prints it; NULL: discovered */
  const pinfold_log_sink* log;
  const pinfold_hint_provider* const* providers; /**< asked after devices, CPUs and memory */
  size_t provider_count;
  const pinfold_cgroup_writer* writer;
} pinfold_node_options;
#define PINFOLD_NODE_OPTIONS_INIT \
  { sizeof(pinfold_node_options), 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL }

/** Opens a node: reads configuration and machine and checks them against each other and against the
 * state. Nothing is locked between calls: processes may have the same node open. The options are
 * copied; what `data` of a callback points to must live as long as the node. A machine that was
 * discovered is looked at again when CPUs have gone offline or come back. */
pinfold_code pinfold_node_open(const pinfold_node_options* options, pinfold_node** node,
                               char** error);
void pinfold_node_close(pinfold_node* node);

/** Who has what, decided and in the kernel: JSON as `pinfold status -o json` prints it
 * (docs/operations.md). */
pinfold_code pinfold_node_status(pinfold_node* node, char** json, char** error);

/** Repairs whatever in the kernel is not as decided: {"drift", "steps", "remaining", "ok"}.
 * PINFOLD_NOT_ENFORCED if something remains; *json is set then, too. */
pinfold_code pinfold_node_reconcile(pinfold_node* node, char** json, char** error);

/* ---- Pods ---- */

/** The answer about one pod, as of the call that gave it. */
typedef struct pinfold_pod pinfold_pod;

/** Would the node take this Pod (YAML or JSON), what would it get, and why? Changes nothing.
 * PINFOLD_REJECTED sets *answer too. */
pinfold_code pinfold_pod_explain(pinfold_node* node, const char* pod, pinfold_pod** answer,
                                 char** error);

/** Gives a Pod (YAML or JSON) its CPUs and memory, durably, and makes its groups. Once this returns
 * no other container runs on its CPUs. A pod that is active already keeps what it has.
 * PINFOLD_REJECTED and PINFOLD_NOT_ENFORCED set *answer too. */
pinfold_code pinfold_pod_admit(pinfold_node* node, const char* pod, pinfold_pod** answer,
                               char** error);

/** What an active pod has now. Here and below `pod` is its UID, its name or "namespace/name". */
pinfold_code pinfold_pod_get(pinfold_node* node, const char* pod, pinfold_pod** answer,
                             char** error);

enum {
  PINFOLD_KILL = 1 /**< kill processes that still run there; without it they are PINFOLD_BUSY */
};

/** The pod is gone with all its containers: takes back what it has and removes its groups. */
pinfold_code pinfold_pod_release(pinfold_node* node, const char* pod, uint32_t flags, char** error);

void pinfold_pod_free(pinfold_pod* pod);

/** 1 if it is (or would be) admitted, else 0. */
int pinfold_pod_admitted(const pinfold_pod* pod);
const char* pinfold_pod_uid(const pinfold_pod* pod);
const char* pinfold_pod_name(const pinfold_pod* pod);
const char* pinfold_pod_namespace(const pinfold_pod* pod);
/** The kubelet's reason and message of a rejection, "TopologyAffinityError"; "" without one. */
const char* pinfold_pod_reason(const pinfold_pod* pod);
const char* pinfold_pod_message(const pinfold_pod* pod);
/** Why it came out so: JSON, [{"source", "object", "text"}]. Filled by pinfold_pod_explain, else
 * [].
 */
const char* pinfold_pod_trace(const pinfold_pod* pod);
/** All of it as JSON, an element of `pods` of `pinfold status -o json`. */
const char* pinfold_pod_json(const pinfold_pod* pod);

/* ---- Containers ---- */

enum {
  PINFOLD_ISOLATION_HOST = 0,     /**< shares its CPUs with the node's shared pool */
  PINFOLD_ISOLATION_POD = 1,      /**< shares them with containers of its pod only */
  PINFOLD_ISOLATION_CONTAINER = 2 /**< has them for itself */
};

/** Which values of a pinfold_container are to be written. */
enum {
  PINFOLD_HAS_QUOTA = 1,
  PINFOLD_HAS_PERIOD = 2,
  PINFOLD_HAS_MEMORY_LIMIT = 4,
  PINFOLD_HAS_OOM_SCORE_ADJ = 8
};

/** This structure never grows. */
typedef struct pinfold_hugepage_limit {
  const char* page_size; /**< as the hugetlb controller names it, "2MB" */
  uint64_t bytes;
} pinfold_hugepage_limit;

/** What was decided for one container. */
typedef struct pinfold_container {
  size_t struct_size;
  const char* name;
  const char* cpus;           /**< cpuset.cpus, "2-3"; "": as the parent */
  const char* mems;           /**< cpuset.mems; "": as the parent */
  const char* exclusive_cpus; /**< those of cpus that nobody else has; "": none */
  int32_t isolation;          /**< PINFOLD_ISOLATION_... */
  uint32_t has;               /**< PINFOLD_HAS_... */
  int64_t quota;              /**< cpu.max or cpu.cfs_quota_us; -1 and 0: no limit */
  uint64_t period;            /**< for quota */
  uint64_t shares;            /**< cpu.shares */
  uint64_t weight;            /**< cpu.weight of cgroup v2 */
  int64_t memory_limit;       /**< memory.max or memory.limit_in_bytes */
  int64_t oom_score_adj;
  const pinfold_hugepage_limit* hugepages;
  size_t hugepage_count;
  const char* cgroup;      /**< its group relative to the root: "pod<uid>/<name>" */
  const char* cgroup_path; /**< the same, absolute; "" if nothing is enforced */
} pinfold_container;
#define PINFOLD_CONTAINER_INIT                                                                   \
  {                                                                                              \
    sizeof(pinfold_container), NULL, NULL, NULL, NULL, PINFOLD_ISOLATION_HOST, 0, 0, 0, 0, 0, 0, \
        0, NULL, 0, NULL, NULL                                                                   \
  }

/** In start order, without those that are gone for good; 0 for a rejected pod. */
size_t pinfold_pod_container_count(const pinfold_pod* pod);
/** The container at an index. The texts in *container belong to `pod`. PINFOLD_NOT_FOUND. */
pinfold_code pinfold_pod_container(const pinfold_pod* pod, size_t index,
                                   pinfold_container* container, char** error);
/** The container of a name. */
pinfold_code pinfold_pod_find(const pinfold_pod* pod, const char* name,
                              pinfold_container* container, char** error);

/** A container is about to start: what its predecessors no longer need (init containers) is given
 * back, and its group is there when this returns. */
pinfold_code pinfold_container_start(pinfold_node* node, const char* pod, const char* container,
                                     char** error);
/** A container is gone for good; its pod stays. Flags: PINFOLD_KILL. */
pinfold_code pinfold_container_release(pinfold_node* node, const char* pod, const char* container,
                                       uint32_t flags, char** error);
/** Moves a process into the container's group; children that it makes from then on follow it. */
pinfold_code pinfold_container_place_process(pinfold_node* node, const char* pod,
                                             const char* container, int64_t process, char** error);
/** From now on the container's group is this directory (absolute, in the hierarchy with the
 * cpusets), which the runtime made and will remove. Pinfold keeps its cpuset.cpus and cpuset.mems
 * as decided, also when the shared pool changes; every other value is the runtime's. */
pinfold_code pinfold_container_place_group(pinfold_node* node, const char* pod,
                                           const char* container, const char* directory,
                                           char** error);

/* ---- Many nodes, for schedulers: docs/predict.md ---- */

/** What is known of many nodes by their NodeResourceTopology objects, and what was placed there
 * since. Calls that take one run one after the other. */
typedef struct pinfold_fleet pinfold_fleet;

/** Reads NodeResourceTopology objects (YAML or JSON: one, a list, a stream or one a line).
 * `ignored`: resources that the kubelets of these nodes do not align, separated by commas; may be
 * NULL. */
pinfold_code pinfold_fleet_open(const char* nodes, const char* ignored, pinfold_fleet** fleet,
                                char** error);
void pinfold_fleet_close(pinfold_fleet* fleet);

/** Which nodes would admit the Pod (YAML or JSON): JSON as an element of `pinfold predict -o json`,
 * the best node first. `scoring`: a name that docs/predict.md lists; NULL: LeastNUMANodes.
 * PINFOLD_REJECTED if no node would; *json is set then, too. */
pinfold_code pinfold_fleet_predict(pinfold_fleet* fleet, const char* pod, const char* scoring,
                                   char** json, char** error);

/** Places the Pod on a node: later predictions find less there. A Pod that is placed is moved.
 * PINFOLD_REJECTED if the node would not admit it; nothing changes then. */
pinfold_code pinfold_fleet_place(pinfold_fleet* fleet, const char* pod, const char* node,
                                 char** error);
/** Takes a placed pod back. PINFOLD_NOT_FOUND. */
pinfold_code pinfold_fleet_remove(pinfold_fleet* fleet, const char* pod_uid, char** error);

#ifdef __cplusplus
}
#endif

#endif /* PINFOLD_PINFOLD_H */
