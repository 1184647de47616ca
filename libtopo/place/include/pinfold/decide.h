/**
 * @file
 * Pinfold's decision as a pure call: which CPUs and NUMA nodes the kubelet gives to a
 * container. For programs that keep the state themselves. Library: libpinfold-decide, which needs
 * no other library of Pinfold.
 *
 *  1. Memory: pinfold_machine_make() allocates; all other functions work in the memory that the
 *     caller passes. They take no lock, read no file and keep nothing, so any number of threads may
 *     call them with one machine at the same time, each with its own state and workspace. The same
 *     arguments give the same result.
 *  2. Numbers: CPUs, cores, sockets, caches and NUMA nodes have the caller's numbers, usually the
 *     operating system's. A `numa_mask` counts positions: bit i is the NUMA node with the i-th
 *     lowest number, counted from 0. Memory is in bytes, CPU time in thousandths of a CPU.
 *  3. Owners: every container has a number of the caller's choice. PINFOLD_SHARED and
 *     PINFOLD_RESERVED are not containers.
 *  4. Errors: a function that can fail returns a pinfold_code, and writes a zero-terminated message
 *     to `message`, which may be NULL if its size is 0. A function that fails changes nothing,
 *     unless its description says otherwise.
 *  5. Structures that may grow begin with their own size, which their _INIT macro sets.
 */
#ifndef PINFOLD_DECIDE_H
#define PINFOLD_DECIDE_H

#include <pinfold/code.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The machine and its rules ---- */

/** A CPU that is online. If `cache` is -1, the number of the socket counts instead. */
typedef struct pinfold_cpu {
  int32_t cpu;    /**< unique, 0 to 65535 */
  int32_t core;   /**< unique on the machine: for example the lowest CPU of the core */
  int32_t socket; /**< physical package */
  int32_t numa;   /**< NUMA node */
  int32_t cache;  /**< last-level cache */
} pinfold_cpu;

enum {
  PINFOLD_TOPOLOGY_NONE = 0,
  PINFOLD_TOPOLOGY_BEST_EFFORT = 1,
  PINFOLD_TOPOLOGY_RESTRICTED = 2,
  PINFOLD_TOPOLOGY_SINGLE_NUMA_NODE = 3
};

enum { PINFOLD_SCOPE_CONTAINER = 0, PINFOLD_SCOPE_POD = 1 };

/** Whose decisions: without the kubelet's known bugs, or bit for bit those of a kubelet. */
enum {
  PINFOLD_PROFILE_FIXED = 0,
  PINFOLD_PROFILE_KUBELET_1_36 = 136,
  PINFOLD_PROFILE_KUBELET_1_37 = 137,
  PINFOLD_PROFILE_KUBELET_1_38 = 138
};

/** Policy options, with the kubelet's names. */
enum {
  PINFOLD_FULL_PCPUS_ONLY = 1 << 0,
  PINFOLD_DISTRIBUTE_CPUS_ACROSS_NUMA = 1 << 1,
  PINFOLD_ALIGN_BY_SOCKET = 1 << 2,
  PINFOLD_DISTRIBUTE_CPUS_ACROSS_CORES = 1 << 3,
  PINFOLD_STRICT_CPU_RESERVATION = 1 << 4,
  PINFOLD_PREFER_ALIGN_CPUS_BY_UNCORECACHE = 1 << 5,
  PINFOLD_PREFER_CLOSEST_NUMA_NODES = 1 << 6,
  PINFOLD_PREFER_MOST_ALLOCATED_NUMA_NODE = 1 << 7,
  /** numa-allocation-strategy: one of the two; with the profiles FIXED and 1.38. Each resource has
   * the weight 1, and devices have no score. */
  PINFOLD_NUMA_ALLOCATION_MOST_ALLOCATED = 1 << 8,
  PINFOLD_NUMA_ALLOCATION_LEAST_ALLOCATED = 1 << 9
};

/** What pinfold_machine_make() reads. */
typedef struct pinfold_machine_description {
  size_t struct_size;
  const pinfold_cpu* cpus; /**< in any order; their positions here are those of pinfold_state */
  size_t cpu_count;        /**< at least 1 */
  const int32_t*
      numa;          /**< the numbers of the NUMA nodes, including those without CPUs; ascending */
  size_t numa_count; /**< 1 to 64 */
  /** Bytes that containers can get on each NUMA node, without what is reserved: `memory_kinds` rows
   * of `numa_count` numbers. Row 0 is regular memory, without its huge pages; each further row is
   * one size of huge pages. NULL: memory is not placed (memory manager policy None). */
  const uint64_t* memory;
  size_t memory_kinds; /**< 0 to 16 */
  /** `numa_count` rows of `numa_count` numbers; only PINFOLD_PREFER_CLOSEST_NUMA_NODES needs them.
   * NULL: unknown. */
  const uint32_t* distances;
  /** CPUs that never become exclusive. With NULL, `reserved_count` CPUs are chosen as the kubelet
   * does for a reservation by number; pinfold_machine_is_reserved() returns which. */
  const int32_t* reserved;
  size_t reserved_count;
  int32_t topology_policy; /**< PINFOLD_TOPOLOGY_... */
  int32_t scope;           /**< PINFOLD_SCOPE_... */
  int32_t profile;         /**< PINFOLD_PROFILE_... */
  uint32_t options;        /**< sum of policy options */
} pinfold_machine_description;
#define PINFOLD_MACHINE_DESCRIPTION_INIT \
  { sizeof(pinfold_machine_description), NULL, 0, NULL, 0, NULL, 0, NULL, NULL, 0, 0, 0, 0, 0 }

/** A prepared machine. Immutable. */
typedef struct pinfold_machine pinfold_machine;

/** Prepares a machine. Free it with pinfold_machine_free(). Errors: PINFOLD_INVALID_ARGUMENT for a
 * description that contradicts itself or its rules, with the number in question;
 * PINFOLD_UNSUPPORTED for a policy, profile or option that this library does not know;
 * PINFOLD_NO_MEMORY. */
pinfold_code pinfold_machine_make(const pinfold_machine_description* description,
                                  pinfold_machine** machine, char* message, size_t message_size);
/** Frees a machine. Accepts NULL. */
void pinfold_machine_free(pinfold_machine* machine);
/** Returns 1 if the CPU at a position never becomes exclusive, else 0. */
int pinfold_machine_is_reserved(const pinfold_machine* machine, size_t position);

/* ---- The state ---- */

#define PINFOLD_SHARED UINT32_C(0)            /**< no owner: the CPU is in the shared pool */
#define PINFOLD_RESERVED UINT32_C(0xffffffff) /**< strict-cpu-reservation: in no pool */

/** Memory of one owner, from any of the NUMA nodes in the mask. */
typedef struct pinfold_allocation {
  uint32_t owner;
  uint32_t kind; /**< row of pinfold_machine_description.memory */
  uint64_t numa_mask;
  uint64_t bytes;
} pinfold_allocation;

/** Who owns what. Plain data: keep it, copy it or write it to a file as you like. */
typedef struct pinfold_state {
  size_t struct_size;
  uint32_t* owners; /**< one for each CPU of the machine, by its position in the description */
  size_t owner_count;
  /** In the order in which they were made: the first `allocation_count` elements are in use. NULL
   * if memory is not placed. */
  pinfold_allocation* allocations;
  size_t allocation_count;
  size_t allocation_capacity;
} pinfold_state;
#define PINFOLD_STATE_INIT \
  { sizeof(pinfold_state), NULL, 0, NULL, 0, 0 }

/** Sets the owners of a machine without containers, and no allocations. Errors:
 * PINFOLD_INVALID_ARGUMENT if the state has a different number of CPUs. */
pinfold_code pinfold_state_clear(const pinfold_machine* machine, pinfold_state* state);
/** Releases everything that an owner has, if anything. Ignores PINFOLD_SHARED and
 * PINFOLD_RESERVED. */
void pinfold_state_release(pinfold_state* state, uint32_t owner);

/* ---- The decision ---- */

/** NUMA nodes that together can provide a device. A mask of 0 means any. */
typedef struct pinfold_hint {
  uint64_t numa_mask;
  int32_t preferred; /**< not 0: no smaller set of NUMA nodes could provide it */
} pinfold_hint;

/** The hints of one resource, by the number of NUMA nodes, then in lexicographic order of their
 * positions. Without any hint, no set of NUMA nodes can provide it. */
typedef struct pinfold_resource_hints {
  const pinfold_hint* hints;
  size_t hint_count;
} pinfold_resource_hints;

/** A container of a request. */
typedef struct pinfold_decide_container {
  size_t struct_size;
  uint32_t owner;         /**< new to the state */
  int64_t milli_cpu;      /**< whole CPUs become exclusive, others do not */
  const uint64_t* memory; /**< bytes of each kind; NULL: none */
  size_t memory_kinds;
  const pinfold_resource_hints*
      devices; /**< by resource; a resource without preference is left out */
  size_t device_count;
} pinfold_decide_container;
#define PINFOLD_DECIDE_CONTAINER_INIT \
  { sizeof(pinfold_decide_container), 0, 0, NULL, 0, NULL, 0 }

/** What a container got, besides the CPUs that it owns in the state. */
typedef struct pinfold_placement {
  uint64_t affinity_mask; /**< the NUMA nodes of the topology manager's hint; 0: any */
  int32_t preferred;      /**< not 0: all its resources are aligned */
  uint64_t memory_mask;   /**< the NUMA nodes of its memory; 0: none is assigned */
} pinfold_placement;

/** Containers that are admitted together or not at all. */
typedef struct pinfold_decide_request {
  size_t struct_size;
  const pinfold_decide_container* containers; /**< in start order; they run at the same time */
  size_t container_count;
  /** Not 0: the pod is Guaranteed. Containers of other pods get no exclusive CPUs or memory. */
  int32_t guaranteed;
  /** With PINFOLD_SCOPE_POD: the devices of all containers together; theirs are ignored. */
  const pinfold_resource_hints* devices;
  size_t device_count;
} pinfold_decide_request;
#define PINFOLD_DECIDE_REQUEST_INIT \
  { sizeof(pinfold_decide_request), NULL, 0, 1, NULL, 0 }

/** Returns the bytes of workspace that pinfold_decide() needs for a request: some kilobytes, or
 * megabytes on a machine with 16 or more NUMA nodes. 0 for an invalid request. */
size_t pinfold_decide_workspace(const pinfold_machine* machine,
                                const pinfold_decide_request* request);

/** Decides about a request and enters the result into the state. `placements` has one element for
 * each container. `workspace` is any memory; its contents do not matter before or after the call.
 * Errors: PINFOLD_REJECTED with the kubelet's reason and message, "TopologyAffinityError: Resources
 * cannot be allocated with Topology locality"; the state is unchanged, except with the profile of a
 * kubelet, which keeps what the containers got before the step that failed.
 * PINFOLD_INVALID_ARGUMENT for an owner that is not new, a state that contradicts the machine or
 * has no room for the allocations, and a workspace that is too small. PINFOLD_NO_MEMORY only with
 * the profile of a kubelet on a machine whose NUMA nodes span many sockets. */
pinfold_code pinfold_decide(const pinfold_machine* machine, pinfold_state* state,
                            const pinfold_decide_request* request, pinfold_placement* placements,
                            void* workspace, size_t workspace_size, char* message,
                            size_t message_size);

#ifdef __cplusplus
}
#endif

#endif
