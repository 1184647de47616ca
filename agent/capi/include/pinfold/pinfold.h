/**
 * @file
 * The C interface of Pinfold, which assigns CPUs and memory nodes to containers as the kubelet
 * does.
 *
 *  1. Names: a function is pinfold_<noun>_<verb>, with the verb's object where it needs one. An
 *     accessor, which cannot fail, is pinfold_<noun>_<property>.
 *  2. Errors: every function that can fail returns a pinfold_code: PINFOLD_OK (0) or one of the
 *     numbers in pinfold/code.h, whose meaning never changes. `error` may be NULL. Otherwise a
 *     function that succeeds sets *error to NULL, and one that fails sets it to a message that
 *     names what failed and on which object. Free the message with pinfold_free. *error is also
 *     NULL if no memory is left for the message. After PINFOLD_NO_MEMORY and PINFOLD_INTERNAL the
 *     call may have taken effect. An errno of the kernel or of a callback never means that a pod, a
 *     container or a process does not exist; it becomes PINFOLD_IO, or PINFOLD_NO_MEMORY for
 *     ENOMEM. Every function that returns a pinfold_code sets errno: to that of the system call or
 *     callback that failed, or to 0.
 *  3. Outputs: a function sets its outputs only if it returns PINFOLD_OK or PINFOLD_NOT_SETTLED,
 *     unless its description says otherwise. If a function returns another code while the kubelet's
 *     state files are out of date, it logs a warning.
 *  4. Ownership: handles are opaque. Free a `char *` output with pinfold_free, a pinfold_pod
 *     with pinfold_pod_free and a pinfold_pod_list with pinfold_pod_list_free. Close a
 *     pinfold_node with pinfold_node_close and a pinfold_fleet with pinfold_fleet_close. These
 *     five accept NULL. A `const char *` result belongs to the handle that it was read from.
 *  5. Structures: a structure that may grow begins with its own size, which its _INIT macro sets.
 *     A program that was compiled with an older header runs with a newer library. A program that
 *     was compiled with a newer header runs with an older library if all members that the library
 *     does not know are zero.
 *  6. Values: strings are UTF-8 and end with a zero byte. The library keeps no pointer to a
 *     caller's string after the call, unless a description says otherwise. A pointer must not be
 *     NULL, unless a description says otherwise; if it is, a function that returns a pinfold_code
 *     returns PINFOLD_INVALID_ARGUMENT, and an accessor returns "" or 0. Memory is in bytes, CPU
 *     time in microseconds. CPUs and NUMA nodes have the operating system's numbers; only a
 *     `numa_mask` counts positions.
 *  7. Threads: any thread may call any function at any time, except with a handle that another
 *     thread closes or frees. Calls on nodes run one at a time: within a process for all nodes,
 *     across processes for one state directory. Calls on one fleet run one at a time. A pinfold_pod
 *     is immutable. A thread must not be cancelled during a call. A call needs at most 48 KiB of
 *     stack (pinfold_node_reconfigure: 64 KiB), not counting callbacks.
 *  8. Callbacks run on the calling thread, during the call. If a callback calls a function with a
 *     node, that function returns PINFOLD_BUSY, and pinfold_node_close does nothing. The arguments
 *     of a callback are valid until it returns. A callback that breaks the rules of its description
 *     makes the call fail, with a message that names the callback: a hint provider's with
 *     PINFOLD_INVALID_ARGUMENT, and nothing is stored; a cgroup_fs' with PINFOLD_IO, or with
 *     PINFOLD_NOT_ENFORCED after the decision was stored. A callback must not throw or longjmp. A
 *     C++ exception breaks the rules in this sense; an exception from a log sink is ignored.
 *  9. Outcomes of a call that changes a node. Done: PINFOLD_OK, PINFOLD_NOT_SETTLED and
 *     PINFOLD_NOT_ENFORCED; PINFOLD_REJECTED is an answer, and stored as such. Unknown:
 *     PINFOLD_UNKNOWN. Not done: every other code; then nothing has changed, unless a description
 *     says otherwise. Besides the codes in its description, every function with a node returns
 *     PINFOLD_BUSY if it cannot get the lock of the state directory, or runs in a callback;
 *     PINFOLD_CORRUPT for damaged state files; PINFOLD_IO if the kernel or the service fails;
 *     PINFOLD_UNSUPPORTED for a change of a node that is open read-only; PINFOLD_NOT_ENFORCED and
 *     PINFOLD_NOT_SETTLED after a change.
 *  10. Process: the library never prints, exits, aborts, installs a signal handler, starts a
 *     thread or throws. After fork() the child may use the handles if no other thread was in a
 *     call.
 */
#ifndef PINFOLD_PINFOLD_H
#define PINFOLD_PINFOLD_H

#include <pinfold/code.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version and errors ---- */

/** Version of this header. */
#define PINFOLD_VERSION_MAJOR 0
#define PINFOLD_VERSION_MINOR 2
#define PINFOLD_VERSION_PATCH 0

/** The version of this header as a number that grows: 0.2.0 is 200, 1.12.3 is 11203. */
#define PINFOLD_VERSION_NUMBER \
  (PINFOLD_VERSION_MAJOR * 10000 + PINFOLD_VERSION_MINOR * 100 + PINFOLD_VERSION_PATCH)

/** Returns the version of the library, "0.2.0". */
const char* pinfold_version(void);
/** Returns the version of the library as a number, like PINFOLD_VERSION_NUMBER. */
uint32_t pinfold_version_number(void);

/** Returns the name of a code, such as "not found"; "unknown code" for others. Never NULL. */
const char* pinfold_code_name(pinfold_code code);

/** Frees a `char *` output. */
void pinfold_free(void* text);

/* ---- Callbacks, all optional ---- */

enum {
  PINFOLD_LOG_DEBUG = 0,   /**< each write to a cgroup */
  PINFOLD_LOG_INFO = 1,    /**< admissions and removals */
  PINFOLD_LOG_WARNING = 2, /**< drift, missing controllers, doubts about configurations and pods */
  PINFOLD_LOG_ERROR = 3    /**< a decision that could not be applied to the kernel */
};

typedef struct pinfold_log_sink {
  size_t struct_size;
  void* data;                                                  /**< passed to the callback */
  void (*log)(void* data, int32_t level, const char* message); /**< level: PINFOLD_LOG_... */
} pinfold_log_sink;
#define PINFOLD_LOG_SINK_INIT \
  { sizeof(pinfold_log_sink), NULL, NULL }

/** A string that a callback returns: at most 4 MiB for a cgroup_fs, 64 KiB for a hint provider. */
typedef struct pinfold_text pinfold_text;
/** Sets the string to a copy of `value`. If this fails, the call that runs the callback fails, too,
 * unless a later pinfold_text_set of the same string succeeds. Errors: PINFOLD_INVALID_ARGUMENT for
 * NULL, and for text that is not UTF-8 or is too long; PINFOLD_NO_MEMORY. */
pinfold_code pinfold_text_set(pinfold_text* text, const char* value);

/** The topology hints that a callback returns. */
typedef struct pinfold_hints pinfold_hints;
/** Adds a hint: these NUMA nodes together can provide the resource. Bit i of `numa_mask` is the
 * NUMA node at position i, that is, with the i-th lowest number, counted from 0. A mask of 0 means
 * any NUMA node. `preferred` is not 0 if no smaller set of NUMA nodes could provide the resource.
 * Add the hints of a resource by the number of NUMA nodes, then in lexicographic order of their
 * positions. If this fails, the call that runs the callback fails, too. Errors:
 * PINFOLD_INVALID_ARGUMENT for a NUMA node that the machine does not have, for a resource that is
 * NULL, empty, longer than 317 bytes or not UTF-8, and for more than 1048576 hints or 1000
 * resources; PINFOLD_NO_MEMORY. */
pinfold_code pinfold_hints_add(pinfold_hints* hints, const char* resource, uint64_t numa_mask,
                               int preferred);
/** Reports that no set of NUMA nodes can provide the resource. Errors: as pinfold_hints_add. */
pinfold_code pinfold_hints_set_impossible(pinfold_hints* hints, const char* resource);

/** An additional source of topology hints, for example for a runtime's own devices, cache ways or
 * licences. The provider itself is stateless: its data about a node is the string `state` ("" at
 * first), which the library keeps in the state directory. The callbacks must return
 * the same result for the same arguments. `pod_json` is the Pod, `container` the name of one of its
 * containers. */
typedef struct pinfold_hint_provider {
  size_t struct_size;
  void* data;
  const char* name; /**< unique; letters, digits, '-', '_', '.' */
  /** Adds the hints for a container's resources, or for the whole pod's if `container` is NULL
   * (topology manager scope "pod"). A provider that adds none has no preference. */
  void (*get_hints)(void* data, const char* state, const char* pod_json, const char* container,
                    pinfold_hints* hints);
  /** Allocates a container's resources on these NUMA nodes (0: any). A container that has its
   * resources already keeps them. On success, returns 0 and sets `new_state` if the state changes.
   * To reject the pod, returns another number and sets `message` to the reason (if it is not set,
   * the message names the provider). */
  int (*allocate)(void* data, const char* state, const char* pod_json, const char* container,
                  uint64_t numa_mask, pinfold_text* new_state, pinfold_text* message);
  /** Releases a container's resources. An unknown container is not an error. */
  void (*release)(void* data, const char* state, const char* pod_uid, const char* container,
                  pinfold_text* new_state);
} pinfold_hint_provider;
#define PINFOLD_HINT_PROVIDER_INIT \
  { sizeof(pinfold_hint_provider), NULL, NULL, NULL, NULL, NULL }

/** Replaces the library's access to cgroups. `directory` is the cgroup root in one hierarchy,
 * `cgroup` a path relative to it ("" is the root itself), `file` the name of a file in that cgroup.
 * A callback returns 0 or an errno, such as ENOENT for a cgroup or file that does not exist. If a
 * callback is NULL, the library uses the kernel instead.
 *
 * These files are read (r) and written (w) in every cgroup, and those marked "root" also in the
 * cgroup root. A read returns what was written. An optional file may be missing (ENOENT).
 *
 * cgroup_version 2:
 *     cgroup.procs             rw root     the processes, one per line; a write moves one here
 *     cgroup.subtree_control   rw root     "cpuset cpu"; a write adds one controller: "+cpuset"
 *     cpuset.cpus              rw          "0-3,8"; "" if it was not written
 *     cpuset.mems              rw
 *     cpuset.cpus.effective    r  root     cpuset.cpus that the parent has; if none, all of its
 *     cpuset.mems.effective    r
 *     cpu.weight               rw
 *     cpu.max                  rw          "50000 100000", "max 100000"
 *     memory.max               rw
 *     memory.high              rw          these three only if the configuration asks for MemoryQoS
 *     memory.low               rw
 *     memory.min               rw
 *     cpuset.cpus.partition    rw optional "member", "root" or "isolated"
 *     cpuset.cpus.exclusive    rw root optional
 *     cgroup.kill              w  optional
 * cgroup_version 1:
 *     cgroup.procs             rw root
 *     cpuset.cpus              rw root     "" in a new cgroup; not "" in the root
 *     cpuset.mems              rw root
 *     cpuset.effective_cpus    r  root
 *     cpuset.effective_mems    r
 *     cpu.shares               rw
 *     cpu.cfs_period_us        rw
 *     cpu.cfs_quota_us         rw
 *     memory.limit_in_bytes    rw
 *     cpuset.memory_migrate    w  optional
 *     cgroup.clone_children    w  optional
 *     cpuset.cpu_exclusive     rw root optional
 *     cpuset.sched_load_balance rw optional
 *
 * A version 2 hierarchy may refuse controllers other than cpuset, with an errno for "+cpu"; their
 * files are then not used. Huge page limits are not written into a hierarchy of cgroup_version 1 or
 * 2, and its process ids mean nothing to this kernel. */
typedef struct pinfold_cgroup_fs {
  size_t struct_size;
  void* data;
  /** 0: the callbacks work on the cgroups of this kernel. 1 or 2: they implement a hierarchy of
   * that cgroup version with every controller, for example a guest's; then cgroup_root is only a
   * name (NULL: "/pinfold"), and no callback may be NULL. */
  int32_t cgroup_version;
  int (*create_cgroup)(void* data, const char* directory, const char* cgroup); /**< exists: 0 */
  int (*remove_cgroup)(void* data, const char* directory, const char* cgroup); /**< missing: 0 */
  int (*write_file)(void* data, const char* directory, const char* cgroup, const char* file,
                    const char* value);
  /** Sets `value` to the whole content, even if it is ""; a newline at its end does not count. */
  int (*read_file)(void* data, const char* directory, const char* cgroup, const char* file,
                   pinfold_text* value);
  /** Sets `names` to the cgroups directly below, separated by newlines; "" if there are none. */
  int (*list_children)(void* data, const char* directory, const char* cgroup, pinfold_text* names);
} pinfold_cgroup_fs;
#define PINFOLD_CGROUP_FS_INIT \
  { sizeof(pinfold_cgroup_fs), NULL, 0, NULL, NULL, NULL, NULL, NULL }

/* ---- A node ---- */

/** A node: its machine, its configuration and its state directory. */
typedef struct pinfold_node pinfold_node;

/** Flags of pinfold_node_options. */
enum {
  PINFOLD_NODE_NO_ENFORCE = 1,         /**< decide and store, but touch no cgroup */
  PINFOLD_NODE_INSECURE_STATE_DIR = 2, /**< for tests: accept a state directory that other users
                                          can change */
  /** Only read: create, write and lock nothing. Functions that change something return
   * PINFOLD_UNSUPPORTED. Read access to the state directory and cgroups is enough. If state_dir
   * does not exist, the default one counts as an empty node, any other is PINFOLD_NOT_FOUND. */
  PINFOLD_NODE_READ_ONLY = 4,
  /** Leave the CPU affinity of attached processes as it is. */
  PINFOLD_NODE_KEEP_AFFINITY = 8,
  /** pinfold_node_open only reads the configuration and describes the machine; problems with the
   * state directory, its state, the cgroups or the service are errors of the first call. For a
   * process that makes one call: it reads the state once instead of twice. */
  PINFOLD_NODE_DEFER = 16
};

typedef struct pinfold_node_options {
  size_t struct_size;
  uint32_t flags;           /**< PINFOLD_NODE_... */
  uint32_t lock_timeout_ms; /**< how long a call waits for another process; 0: 30000 */
  const char* state_dir;    /**< created if it does not exist; NULL: /var/lib/pinfold. It and
                               its files must belong to root or the caller, and other users must
                               not be able to write or replace them: else
                               PINFOLD_INVALID_ARGUMENT */
  const char* cgroup_root;  /**< its last directory is created if it does not exist; NULL: "pinfold"
                               at the mount point of the cpuset controller */
  const char* config;       /**< KubeletConfiguration, YAML or JSON; NULL: read config_file */
  const char* config_file;  /**< path; NULL: config.yaml in state_dir if it exists, else
                               the kubelet's defaults */
  const char* machine; /**< JSON of `pinfold topology -o json`, MachineInfo of a kubelet, XML of
                        hwloc or its synthetic form; NULL: discover it */
  const pinfold_log_sink* log_sink;
  const pinfold_hint_provider* const* hint_providers; /**< asked after devices, CPUs and memory */
  size_t hint_provider_count;                         /**< at most 16 */
  const pinfold_cgroup_fs* cgroup_fs;
  const char* socket; /**< of a service, see pinfold_node_open; NULL: /run/pinfold/agent.sock; "":
                         no service is asked */
  /** A sig_atomic_t that a signal handler or another thread may set, and that must live as long as
   * the node. Once it is not 0, a call that waits for another process to release the state
   * directory, or for the service, ends with PINFOLD_BUSY and errno EINTR, and has changed nothing.
   * If the service already has a request that changes something, it ends with PINFOLD_UNKNOWN.
   * NULL: only lock_timeout_ms ends a wait. */
  const volatile int* interrupted;
} pinfold_node_options;
#define PINFOLD_NODE_OPTIONS_INIT                                                                \
  {                                                                                              \
    sizeof(pinfold_node_options), 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, \
        NULL                                                                                     \
  }

/** Opens a node: reads the configuration and the machine, and checks them against each other and
 * against the state. Nothing is locked between calls, so several processes may have the same node
 * open. The options are copied; the target of a callback's `data` must live as long as the node. If
 * the machine was discovered, the library discovers it again after CPUs went offline or came
 * online.
 *
 * If a service (`pinfold serve`) owns the state directory, it executes each call, with the same
 * answers, except on a node that is open read-only. Its configuration, machine and cgroups then
 * apply: PINFOLD_INVALID_ARGUMENT if the options ask for others, PINFOLD_UNSUPPORTED for hint
 * providers and a cgroup_fs. Afterwards the service brings the kubelet's files up to date, so that
 * no call returns PINFOLD_NOT_SETTLED. A service may start and stop between calls.
 *
 * Errors: PINFOLD_INVALID_ARGUMENT for options, a configuration or a machine that are not valid, do
 * not fit each other or the state, and for a state directory that other users can change;
 * PINFOLD_NOT_FOUND for a config_file or a read-only state directory that does not exist. */
pinfold_code pinfold_node_open(const pinfold_node_options* options, pinfold_node** node,
                               char** error);
/** Closes a node. Pods stay as they are. */
void pinfold_node_close(pinfold_node* node);

/** Returns the desired and observed resources of every pod, as `pinfold status -o json` prints
 * them, without `comparison`, `podResources` and `load` (docs/json.md). Errors: none of its own. */
pinfold_code pinfold_node_get_status(pinfold_node* node, char** json, char** error);

/** Brings cgroups back to the desired state. *json is as `pinfold reconcile -o json` prints it,
 * without `notSettled`. Errors: PINFOLD_NOT_ENFORCED, with *json set, if drift remains. */
pinfold_code pinfold_node_reconcile(pinfold_node* node, char** json, char** error);

/* ---- Another configuration or machine, and room for a pod ---- */

/** Flags of pinfold_reconfiguration and pinfold_node_defragment. */
enum {
  PINFOLD_RECONFIGURE_DRY_RUN = 1, /**< plan, but change nothing */
  /** Kill processes of pods that are removed; without this flag they cause PINFOLD_BUSY. */
  PINFOLD_RECONFIGURE_KILL = 2,
  /** Go back to the node before the last reconfiguration; each container regains its resources.
   * `config` and `machine` must be NULL. PINFOLD_NOT_FOUND if there is none. */
  PINFOLD_RECONFIGURE_UNDO = 4,
  PINFOLD_RECONFIGURE_EVICT_LOST = 8,     /**< remove pods that cannot keep enough resources */
  PINFOLD_RECONFIGURE_EVICT_REJECTED = 16 /**< also those that the new rules would reject */
};

typedef struct pinfold_reconfiguration {
  size_t struct_size;
  uint32_t flags;      /**< PINFOLD_RECONFIGURE_... */
  const char* config;  /**< KubeletConfiguration, YAML or JSON; NULL: the file that the node was
                          opened with, read again, or the configuration that it was opened with */
  const char* machine; /**< as in pinfold_node_options; NULL: that of the options of the node, or
                          discovered again */
} pinfold_reconfiguration;
#define PINFOLD_RECONFIGURATION_INIT \
  { sizeof(pinfold_reconfiguration), 0, NULL, NULL }

/** Switches to another configuration or machine while containers run: plans what each container
 * keeps and where it moves, and applies the plan (docs/reconfigure.md). *plan is JSON, as `pinfold
 * reconfigure -o json` prints it. `node` has the new configuration and machine afterwards; other
 * nodes that are open on the state directory keep the old ones and must be opened again. If the
 * node was opened with the config.yaml of its state directory, that file is replaced.
 * Errors: PINFOLD_INVALID_ARGUMENT for a configuration or machine that is not valid;
 * PINFOLD_UNSUPPORTED, with *plan set, if pods cannot stay and no flag permits removing them: then
 * nothing has changed. PINFOLD_NOT_ENFORCED also sets *plan. */
pinfold_code pinfold_node_reconfigure(pinfold_node* node,
                                      const pinfold_reconfiguration* reconfiguration, char** plan,
                                      char** error);

/** Plans the fewest moves after which the node admits a Pod (YAML or JSON) that it rejects now, and
 * applies them. Does not admit the pod. Flags: PINFOLD_RECONFIGURE_DRY_RUN. *plan is JSON, as
 * `pinfold defragment -o json` prints it. Errors: PINFOLD_INVALID_ARGUMENT for a manifest that is
 * not a valid pod; PINFOLD_REJECTED, with *plan set, if it finds no moves
 * that make room: then nothing has changed. PINFOLD_NOT_ENFORCED also sets *plan. */
pinfold_code pinfold_node_defragment(pinfold_node* node, const char* manifest, uint32_t flags,
                                     char** plan, char** error);

/* ---- Pods ---- */

/* Functions that read a Pod return PINFOLD_INVALID_ARGUMENT, with the API server's message, if the
 * API server would reject its resources, such as requests above limits. */

/** A snapshot of one pod: the decision, and the desired resources of its containers. */
typedef struct pinfold_pod pinfold_pod;

/** Admits a Pod (YAML or JSON): assigns CPUs and memory, stores the decision durably and creates
 * the cgroups. After that no other container runs on the pod's exclusive CPUs. A pod that is
 * already active keeps its resources. Errors: PINFOLD_REJECTED, which sets *pod, as
 * PINFOLD_NOT_ENFORCED does; PINFOLD_INVALID_ARGUMENT for a manifest that is not a valid pod;
 * PINFOLD_BUSY if the pod is active with another spec and a running container would lose CPUs. */
pinfold_code pinfold_pod_admit(pinfold_node* node, const char* manifest, pinfold_pod** pod,
                               char** error);

/** Decides about a Pod (YAML or JSON) as a dry run, and explains the decision in pinfold_pod_trace.
 * Changes nothing. Errors: those of pinfold_pod_admit; PINFOLD_REJECTED also sets *pod. */
pinfold_code pinfold_pod_explain(pinfold_node* node, const char* manifest, pinfold_pod** pod,
                                 char** error);

/** Returns an active pod. Here and below, `pod_id` is its UID, its name or "namespace/name".
 * Errors: PINFOLD_NOT_FOUND; PINFOLD_INVALID_ARGUMENT for a name that several active pods have. */
pinfold_code pinfold_pod_get(pinfold_node* node, const char* pod_id, pinfold_pod** pod,
                             char** error);

/** Flags of pinfold_pod_remove and pinfold_container_remove. */
enum {
  /** Kill running processes; without this flag they cause PINFOLD_BUSY. A cgroup_fs of
   * cgroup_version 1 or 2 needs cgroup.kill for that; if it does not have the file, they cause
   * PINFOLD_UNSUPPORTED. */
  PINFOLD_REMOVE_KILL = 1
};

/** Removes a pod with all its containers: releases its resources and removes its cgroups. `pod_id`
 * is its UID or "namespace/name", not a bare name, which could mean another pod once this one is
 * gone. A pod that only the kubelet's state files name ("held" in pinfold_node_get_status) has only
 * a UID. Errors: PINFOLD_NOT_FOUND; PINFOLD_INVALID_ARGUMENT for a bare name; PINFOLD_UNSUPPORTED
 * for unknown flags; PINFOLD_BUSY and PINFOLD_UNSUPPORTED as PINFOLD_REMOVE_KILL says. */
pinfold_code pinfold_pod_remove(pinfold_node* node, const char* pod_id, uint32_t flags,
                                char** error);

/** Frees a pod, unless it belongs to a list. */
void pinfold_pod_free(pinfold_pod* pod);

/** A snapshot of the pods of a node; immutable. */
typedef struct pinfold_pod_list pinfold_pod_list;

/** Returns the active pods in the order of their admission, then the held ones. A held pod is one
 * that only the kubelet's state files name. It has only a UID, and its containers have only a name,
 * `cpus`, `mems`, `exclusive_cpus` and `isolation`. Errors: none of its own. */
pinfold_code pinfold_node_list_pods(pinfold_node* node, pinfold_pod_list** list, char** error);
/** Frees a list and its pods. */
void pinfold_pod_list_free(pinfold_pod_list* list);
/** Returns the number of pods. */
size_t pinfold_pod_list_count(const pinfold_pod_list* list);
/** Returns the pod at `index`, or NULL. It belongs to the list: do not free it. */
const pinfold_pod* pinfold_pod_list_pod(const pinfold_pod_list* list, size_t index);

/** Returns 1 if the pod is (or, in a dry run, would be) admitted, else 0. Returns 0 for a held pod,
 * which Pinfold did not admit. */
int pinfold_pod_is_admitted(const pinfold_pod* pod);
/** Returns 1 for a held pod, which only the kubelet's state files name, else 0. */
int pinfold_pod_is_held(const pinfold_pod* pod);
/** Returns the pod's metadata.uid. */
const char* pinfold_pod_uid(const pinfold_pod* pod);
/** Returns the pod's metadata.name; "" for a held pod. */
const char* pinfold_pod_name(const pinfold_pod* pod);
/** Returns the pod's metadata.namespace; "" for a held pod. */
const char* pinfold_pod_namespace(const pinfold_pod* pod);
/** Returns the kubelet's rejection reason, such as "TopologyAffinityError"; "" if admitted. */
const char* pinfold_pod_reason(const pinfold_pod* pod);
/** Returns the kubelet's message for a rejection; "" if admitted. */
const char* pinfold_pod_message(const pinfold_pod* pod);
/** Returns the explanation from pinfold_pod_explain as JSON, [{"source", "object", "text"}]; "[]"
 * if the pod comes from another function. */
const char* pinfold_pod_trace(const pinfold_pod* pod);
/** Returns the whole pod as JSON, like an element of `pods` in `pinfold status -o json`, with
 * `held`, `admitted` and `rejection`. */
const char* pinfold_pod_json(const pinfold_pod* pod);

/* ---- Containers ---- */

/** Isolation levels: which containers may share a container's CPUs. */
enum {
  PINFOLD_ISOLATION_HOST = 0,     /**< every container of the node's shared pool */
  PINFOLD_ISOLATION_POD = 1,      /**< containers of the same pod */
  PINFOLD_ISOLATION_CONTAINER = 2 /**< no other container */
};

/** Which values of a pinfold_container are set. Leave the others in the kernel unchanged. */
enum {
  PINFOLD_HAS_CPU_QUOTA = 1,
  PINFOLD_HAS_CPU_PERIOD = 2,
  PINFOLD_HAS_MEMORY_LIMIT = 4,
  PINFOLD_HAS_OOM_SCORE_ADJ = 8
};

/** This structure never grows. */
typedef struct pinfold_hugepage_limit {
  const char* page_size; /**< the hugetlb controller's name for it, "2MB" */
  uint64_t bytes;
} pinfold_hugepage_limit;

/** The desired resources of one container. */
typedef struct pinfold_container {
  size_t struct_size;
  const char* name;
  const char* cpus;           /**< cpuset.cpus, "2-3"; "": like the parent */
  const char* mems;           /**< cpuset.mems; "": like the parent */
  const char* exclusive_cpus; /**< as the kubelet's PodResources API reports them; "": none */
  int32_t isolation;          /**< PINFOLD_ISOLATION_... */
  uint32_t has;               /**< PINFOLD_HAS_... */
  int64_t cpu_quota_us;       /**< cpu.max or cpu.cfs_quota_us; -1 and 0: no limit */
  uint64_t cpu_period_us;     /**< the period of cpu_quota_us */
  uint64_t cpu_shares;        /**< cpu.shares of cgroup v1 */
  uint64_t cpu_weight;        /**< cpu.weight of cgroup v2 */
  int64_t memory_limit_bytes; /**< memory.max or memory.limit_in_bytes */
  int64_t oom_score_adj;
  const pinfold_hugepage_limit* hugepage_limits;
  size_t hugepage_limit_count;
  const char* cgroup;      /**< "pod<uid>/<name>": its path below the cgroup root if not adopted */
  const char* cgroup_path; /**< the absolute path of its cgroup; "" if nothing is enforced */
} pinfold_container;
#define PINFOLD_CONTAINER_INIT                                                                   \
  {                                                                                              \
    sizeof(pinfold_container), NULL, NULL, NULL, NULL, PINFOLD_ISOLATION_HOST, 0, 0, 0, 0, 0, 0, \
        0, NULL, 0, NULL, NULL                                                                   \
  }

/** Returns the number of the pod's containers, without removed containers and finished init
 * containers; 0 for a rejected pod. */
size_t pinfold_pod_container_count(const pinfold_pod* pod);
/** Sets *container to the container at `index`, in start order. Its strings belong to `pod`.
 * Errors: PINFOLD_NOT_FOUND. */
pinfold_code pinfold_pod_get_container(const pinfold_pod* pod, size_t index,
                                       pinfold_container* container, char** error);
/** Like pinfold_pod_get_container, for the container with this name. Errors: PINFOLD_NOT_FOUND. */
pinfold_code pinfold_pod_find_container(const pinfold_pod* pod, const char* name,
                                        pinfold_container* container, char** error);

/** Prepares the start of a container's process: releases resources that earlier init containers no
 * longer need, and makes sure that the container's cgroup exists. Errors: PINFOLD_NOT_FOUND for a
 * pod or container that does not exist; PINFOLD_BUSY if too few devices are free. */
pinfold_code pinfold_container_start(pinfold_node* node, const char* pod_id, const char* container,
                                     char** error);
/** Changes the number of exclusive CPUs of a running container (KEP-5554): `milli_cpu` is its new
 * request and limit, in thousandths of a CPU. It keeps the CPUs of its admission and, when it
 * grows, all of its current CPUs. Afterwards its cgroup has the new cpuset, and no other container
 * runs on its CPUs. Unless `pod` is NULL, sets *pod as pinfold_pod_get does, also with
 * PINFOLD_REJECTED and PINFOLD_NOT_ENFORCED. Errors: PINFOLD_NOT_FOUND; PINFOLD_REJECTED if it is
 * not resized: then nothing has changed, and *error begins with the kubelet's reason: "Deferred: "
 * if other pods use the CPUs that it needs, or "Infeasible: ". PINFOLD_INVALID_ARGUMENT for 0 or
 * less. */
pinfold_code pinfold_container_resize(pinfold_node* node, const char* pod_id, const char* container,
                                      int64_t milli_cpu, pinfold_pod** pod, char** error);
/** Removes a container for good: releases its resources and removes its cgroup. The pod stays.
 * `pod_id` is as in pinfold_pod_remove. Flags: PINFOLD_REMOVE_KILL. Errors: those of
 * pinfold_pod_remove, also for the container. */
pinfold_code pinfold_container_remove(pinfold_node* node, const char* pod_id, const char* container,
                                      uint32_t flags, char** error);
/** Moves a process into the container's cgroup. The children that it creates afterwards start
 * there. Unless PINFOLD_NODE_KEEP_AFFINITY is set, resets its inherited CPU affinity if the caller
 * may, so that it can use all CPUs of the cgroup. `pid` is a number in the caller's pid namespace,
 * of any process (the caller included) to which the caller may send signals and whose cgroup it may
 * write; with a cgroup_fs of cgroup_version 1 or 2 any number above 1. Errors:
 * PINFOLD_INVALID_ARGUMENT for a number that is not a process id, process 1, a kernel thread, and a
 * thread other than the first of its process; PINFOLD_NOT_FOUND if the process has ended before or
 * during the call; PINFOLD_IO for a process of another user. */
pinfold_code pinfold_container_attach_process(pinfold_node* node, const char* pod_id,
                                              const char* container, int64_t pid, char** error);
/** Like pinfold_container_attach_process, for the process of a pidfd (pidfd_open, CLONE_PIDFD),
 * which stays open. A later process with the same number cannot be moved by mistake. Errors: also
 * PINFOLD_INVALID_ARGUMENT for another descriptor; PINFOLD_UNSUPPORTED for a process without a
 * number in the caller's pid namespace, and with a cgroup_fs of cgroup_version 1 or 2. */
pinfold_code pinfold_container_attach_pidfd(pinfold_node* node, const char* pod_id,
                                            const char* container, int pidfd, char** error);
/** Adopts a cgroup that the runtime created for the container. `directory` is its absolute path in
 * the hierarchy with the cpuset controller, in any spelling; the name below the mount with the
 * cgroup root is stored. Pinfold keeps its cpuset.cpus and cpuset.mems in the desired state, even
 * when the shared pool changes. Every other value belongs to the runtime, which also removes the
 * cgroup. If the container is not removed, a reconciliation removes it when the last process of the
 * cgroup has ended, or, if the cgroup has no process yet, when the cgroup is gone. Unless
 * `previous` is NULL, sets *previous to the directory that was adopted for the container before, or
 * "", also with PINFOLD_NOT_ENFORCED. Errors: PINFOLD_NOT_FOUND for a pod, container or directory
 * that does not exist; PINFOLD_BUSY if the container already runs in another cgroup;
 * PINFOLD_INVALID_ARGUMENT for a cgroup of another container or pod, for one that contains
 * Pinfold's root or the pods of a kubelet, and for a directory that is not a cgroup of this
 * hierarchy. */
pinfold_code pinfold_container_adopt_cgroup(pinfold_node* node, const char* pod_id,
                                            const char* container, const char* directory,
                                            char** previous, char** error);

/* ---- A container in two calls ---- */

/** A pod with one container, for pinfold_container_create: a manifest or the members below it. */
typedef struct pinfold_request {
  size_t struct_size;
  const char* manifest;      /**< a Pod (YAML or JSON); NULL: see below */
  const char* container;     /**< NULL: the manifest's only container, else "main" */
  const char* uid;           /**< UID of the pod */
  const char* name;          /**< NULL: as `uid` */
  const char* pod_namespace; /**< NULL: "default" */
  int64_t milli_cpu;         /**< request and limit; 0: none */
  int64_t memory_bytes; /**< request and limit; 0: none. CPUs become exclusive only with both */
  const pinfold_hugepage_limit* hugepages;
  size_t hugepage_count;
} pinfold_request;
#define PINFOLD_REQUEST_INIT \
  { sizeof(pinfold_request), NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, 0 }

/** Admits a pod and adopts the cgroup that the runtime made for its container, in one transaction;
 * call it before the container's program runs. `directory` is as in pinfold_container_adopt_cgroup.
 * Afterwards no other container runs on the container's exclusive CPUs, and the cgroup has its
 * cpusets. If a step fails, everything is undone, and processes in the cgroup are killed; only
 * after PINFOLD_NO_MEMORY may the pod be active, until the container is deleted or its cgroup goes.
 * The pod ends with the container: after pinfold_container_delete, or when the next
 * pinfold_container_create or pinfold_node_reconcile (or a service, at once) finds that it has
 * ended, see pinfold_container_adopt_cgroup. Unless `pod` is NULL, sets *pod as pinfold_pod_admit
 * does, also with PINFOLD_REJECTED. Errors: PINFOLD_REJECTED; PINFOLD_BUSY if a different pod has
 * the UID, or the container runs in another cgroup; PINFOLD_NOT_FOUND for a container that the
 * manifest does not have; PINFOLD_INVALID_ARGUMENT for a request that is not a valid pod, and for a
 * directory that cannot be adopted. This call and pinfold_container_delete sync the disk once and
 * leave the decision in Pinfold's journal: until another call that changes the node (such as
 * pinfold_node_reconcile) has ended, the kubelet's files lag behind by up to 16 calls. Make such a
 * call before a kubelet starts on the state directory. */
pinfold_code pinfold_container_create(pinfold_node* node, const pinfold_request* request,
                                      const char* directory, pinfold_pod** pod, char** error);
/** Releases the resources of a container from pinfold_container_create, and ends its pod if it was
 * the last one. Its cgroup may still exist. `container` may be NULL if the pod has one container.
 * Does nothing if the UID is unknown: a runtime may call it twice. Names are not looked up, so no
 * other pod can be removed by mistake. Errors: PINFOLD_BUSY if processes run in the cgroup. */
pinfold_code pinfold_container_delete(pinfold_node* node, const char* uid, const char* container,
                                      char** error);

/* ---- Owners of CPUs, for programs that only ask ---- */

/* These three take no lock and never wait, not even if a service runs: they read the shared memory
 * of the state directory (NULL: /var/lib/pinfold), or its files if nothing was published since the
 * machine booted. Errors: PINFOLD_NOT_FOUND for a directory without a state;
 * PINFOLD_INVALID_ARGUMENT if other users can change it; PINFOLD_CORRUPT; PINFOLD_IO. */

/** Sets *uid and *container to the pod and the container that own a CPU. *container is "" if
 * several containers of the pod share it; both are "" if the CPU is in the shared pool. Errors:
 * also PINFOLD_INVALID_ARGUMENT if `cpu` is no number of a CPU. */
pinfold_code pinfold_owner_of(const char* state_dir, int32_t cpu, char** uid, char** container,
                              char** error);
/** Sets *is_exclusive to 1 if every one of the CPUs ("2-3,8") has an owner, else to 0; to 0 for "".
 * Errors: also PINFOLD_INVALID_ARGUMENT if `cpus` is not a list of CPUs. */
pinfold_code pinfold_is_exclusive(const char* state_dir, const char* cpus, int* is_exclusive,
                                  char** error);
/** Sets *is_placed to 1 if the kernel agrees with the decision for a container, else to 0. Call it
 * before the container's program runs (docs/barrier.md). `directory` is the container's cgroup, in
 * the hierarchy with the cpuset controller. If the container or its pod owns CPUs, the cgroup must
 * have no others; if not, or if `uid` is unknown, it must have no exclusive ones. While another pod
 * is being admitted, *is_placed is 0 for a shared container until the kernel has the change: ask
 * again. Errors: also PINFOLD_NOT_FOUND for a directory without effective CPUs. */
pinfold_code pinfold_container_is_placed(const char* state_dir, const char* uid,
                                         const char* container, const char* directory,
                                         int* is_placed, char** error);

/* ---- Many nodes, for schedulers (docs/predict.md) ---- */

/** Many nodes, as described by their NodeResourceTopology objects, with the pods placed on them
 * since. */
typedef struct pinfold_fleet pinfold_fleet;

/** Reads NodeResourceTopology objects, YAML or JSON: one object, a list, a stream, or one per line.
 * `ignored_resources`: resources that the kubelets of these nodes do not align, separated by
 * commas; may be NULL. Errors: PINFOLD_INVALID_ARGUMENT, which names the object. */
pinfold_code pinfold_fleet_open(const char* topologies, const char* ignored_resources,
                                pinfold_fleet** fleet, char** error);
/** Frees a fleet. */
void pinfold_fleet_close(pinfold_fleet* fleet);

/** Predicts which nodes would admit a Pod (YAML or JSON). *json is an element of the output of
 * `pinfold predict -o json`, with the best node first. `scoring` is a name from docs/predict.md;
 * NULL: LeastNUMANodes. Errors: PINFOLD_REJECTED, with *json set, if every node would reject the
 * Pod; PINFOLD_INVALID_ARGUMENT for a manifest that is not a valid pod, and an unknown scoring. */
pinfold_code pinfold_fleet_predict(pinfold_fleet* fleet, const char* manifest, const char* scoring,
                                   char** json, char** error);

/** Places a Pod (YAML or JSON) on a node, so that later predictions find less room there. Moves a
 * Pod that is already placed. Errors: PINFOLD_REJECTED if the node would reject the Pod;
 * PINFOLD_NOT_FOUND for an unknown node; PINFOLD_INVALID_ARGUMENT for a manifest that is not a
 * valid pod. Then nothing has changed. */
pinfold_code pinfold_fleet_place_pod(pinfold_fleet* fleet, const char* manifest,
                                     const char* node_name, char** error);
/** Removes a placed pod from its node. Errors: PINFOLD_NOT_FOUND. */
pinfold_code pinfold_fleet_remove_pod(pinfold_fleet* fleet, const char* pod_uid, char** error);

#ifdef __cplusplus
}
#endif

#endif /* PINFOLD_PINFOLD_H */
