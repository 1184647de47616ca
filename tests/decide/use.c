/* The decision as a C program uses it: C11, only <pinfold/decide.h>, memory on the stack. Exit
 * status 0 if all answers are right and no decision allocates. */
#include <errno.h>
#include <pinfold/decide.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kCpus = 64, kNodes = 2, kKinds = 2 };

/* Counts the library's allocations: its calls come here, too, unless a sanitizer takes them. */
static atomic_long allocations;
#ifndef PINFOLD_SANITIZED
extern void* __libc_malloc(size_t size);
extern void* __libc_calloc(size_t count, size_t size);
extern void* __libc_realloc(void* memory, size_t size);
extern void* __libc_memalign(size_t alignment, size_t size);
void* malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  ++allocations;
  return __libc_realloc(memory, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, size_t alignment, size_t size) {
  *memory = aligned_alloc(alignment, size);
  return *memory == NULL ? ENOMEM : 0;
}
#endif

static int failures;
static void check(int is_right, const char* what) {
  if (is_right) return;
  ++failures;
  printf("wrong: %s\n", what);
}

static pinfold_cpu cpus[kCpus];
static const int32_t numa[kNodes] = {0, 1};
static const uint64_t memory[kKinds * kNodes] = {UINT64_C(64) << 30, UINT64_C(64) << 30,
                                                 UINT64_C(1) << 30, 0};
static const int32_t reserved[1] = {0};

static pinfold_machine_description describe(void) {
  pinfold_machine_description description = PINFOLD_MACHINE_DESCRIPTION_INIT;
  for (int i = 0; i < kCpus; ++i) {
    cpus[i] = (pinfold_cpu){i, i / 2 * 2, i / 32, i / 32, i / 32};
  }
  description.cpus = cpus;
  description.cpu_count = kCpus;
  description.numa = numa;
  description.numa_count = kNodes;
  description.memory = memory;
  description.memory_kinds = kKinds;
  description.reserved = reserved;
  description.reserved_count = 1;
  description.topology_policy = PINFOLD_TOPOLOGY_SINGLE_NUMA_NODE;
  return description;
}

static uint32_t owners[kCpus];
static pinfold_allocation memory_of[16];
static pinfold_state state = PINFOLD_STATE_INIT;
static pinfold_machine* machine;
static char message[256];
static max_align_t workspace[4096];

static int owned(uint32_t owner) {
  int count = 0;
  for (int i = 0; i < kCpus; ++i) count += owners[i] == owner;
  return count;
}

static pinfold_code admit(uint32_t owner, int64_t milli_cpu, uint64_t bytes, uint64_t pages,
                          pinfold_placement* placement) {
  const uint64_t wanted[kKinds] = {bytes, pages};
  pinfold_decide_container container = PINFOLD_DECIDE_CONTAINER_INIT;
  container.owner = owner;
  container.milli_cpu = milli_cpu;
  container.memory = wanted;
  container.memory_kinds = kKinds;
  pinfold_decide_request request = PINFOLD_DECIDE_REQUEST_INIT;
  request.containers = &container;
  request.container_count = 1;
  return pinfold_decide(machine, &state, &request, placement, workspace, sizeof workspace, message,
                        sizeof message);
}

static void decide(void) {
  pinfold_placement placement;
  check(admit(7, 4000, 1 << 30, 0, &placement) == PINFOLD_OK, message);
  check(owned(7) == 4 && owners[2] == 7 && owners[5] == 7, "two whole cores of NUMA node 0");
  check(placement.affinity_mask == 1 && placement.preferred == 1 && placement.memory_mask == 1,
        "all of it on NUMA node 0");
  check(state.allocation_count == 1 && memory_of[0].owner == 7 && memory_of[0].bytes == 1 << 30,
        "an allocation of regular memory");

  check(admit(8, 1500, 1 << 20, 1 << 21, &placement) == PINFOLD_OK, message);
  check(owned(8) == 0, "a fraction of a CPU makes none exclusive");
  check(placement.memory_mask == 1, "huge pages are on NUMA node 0 alone");

  check(admit(9, 33000, 1, 0, &placement) == PINFOLD_REJECTED, "no NUMA node has 33 CPUs");
  check(strcmp(message,
               "TopologyAffinityError: Resources cannot be allocated with Topology locality") == 0,
        message);
  check(owned(9) == 0 && state.allocation_count == 3, "a rejection changes nothing");

  check(admit(7, 1000, 0, 0, &placement) == PINFOLD_INVALID_ARGUMENT, "owner 7 is not new");
  pinfold_state_release(&state, 7);
  check(owned(7) == 0 && state.allocation_count == 2, "all of owner 7 is back");
  check(admit(7, 28000, 0, 0, &placement) == PINFOLD_OK && owned(7) == 28, message);
  pinfold_state_release(&state, 7);
}

static void refuse(void) {
  pinfold_placement placement;
  pinfold_decide_container container = PINFOLD_DECIDE_CONTAINER_INIT;
  pinfold_decide_request request = PINFOLD_DECIDE_REQUEST_INIT;
  container.owner = 1;
  request.containers = &container;
  request.container_count = 1;
  const size_t needed = pinfold_decide_workspace(machine, &request);
  check(needed > 0 && needed <= sizeof workspace, "a few kilobytes of workspace");
  check(pinfold_decide(machine, &state, &request, &placement, workspace, needed - 1, message,
                       sizeof message) == PINFOLD_INVALID_ARGUMENT,
        "a workspace that is too small");
  container.owner = PINFOLD_SHARED;
  check(pinfold_decide_workspace(machine, &request) == 0, "an invalid request");
  check(pinfold_decide(NULL, &state, &request, &placement, workspace, sizeof workspace, NULL, 0) ==
            PINFOLD_INVALID_ARGUMENT,
        "no machine, and no message");
  const pinfold_hint beyond = {UINT64_C(1) << 5, 1};
  const pinfold_resource_hints device = {&beyond, 1};
  container.owner = 1;
  container.devices = &device;
  container.device_count = 1;
  check(pinfold_decide(machine, &state, &request, &placement, workspace, sizeof workspace, message,
                       sizeof message) == PINFOLD_INVALID_ARGUMENT,
        "a hint for NUMA node 5 of 2");

  pinfold_machine_description bad = describe();
  pinfold_machine* none = NULL;
  bad.cpu_count = 0;
  check(pinfold_machine_make(&bad, &none, message, sizeof message) == PINFOLD_INVALID_ARGUMENT,
        "no CPUs");
  bad = describe();
  cpus[5].cpu = 4;
  check(pinfold_machine_make(&bad, &none, message, sizeof message) == PINFOLD_INVALID_ARGUMENT &&
            strcmp(message, "cpus: id 4 appears twice") == 0,
        message);
  bad = describe();
  bad.topology_policy = 9;
  check(pinfold_machine_make(&bad, &none, message, 8) == PINFOLD_UNSUPPORTED && none == NULL,
        "an unknown policy");
  check(strlen(message) == 7, "a message that is cut off ends with a zero");
  bad = describe();
  bad.memory = NULL;
  pinfold_machine* without_memory = NULL;
  check(pinfold_machine_make(&bad, &without_memory, message, sizeof message) == PINFOLD_OK,
        "a machine whose memory is not placed");
  container = (pinfold_decide_container)PINFOLD_DECIDE_CONTAINER_INIT;
  container.owner = 1;
  memory_of[0] = (pinfold_allocation){8, 0, 1, 1};
  state.allocation_count = 1;
  check(pinfold_decide(without_memory, &state, &request, &placement, workspace, sizeof workspace,
                       message, sizeof message) == PINFOLD_INVALID_ARGUMENT &&
            strncmp(message, "an allocation of owner ", 23) == 0,
        "the state of another machine");
  state.allocation_count = 0;
  pinfold_machine_free(without_memory);
  bad = describe();
  bad.struct_size = 3;
  check(pinfold_machine_make(&bad, &none, NULL, 0) == PINFOLD_INVALID_ARGUMENT, "a wrong size");
  pinfold_machine_free(NULL);
  pinfold_state_release(NULL, 1);
}

enum { kThreads = 8, kRequests = 24, kRepetitions = 200 };

/* A state with its requests decided, and what each of them got. */
typedef struct {
  uint32_t owners[kCpus];
  pinfold_allocation memory[kKinds * kRequests];
  pinfold_code codes[kRequests];
  uint64_t affinities[kRequests];
  uint64_t memory_masks[kRequests];
} history;

/* Decides requests of many sizes on the shared machine. Some are rejected, some removed. */
static void run_history(history* made) {
  max_align_t own_workspace[1024];
  memset(made, 0, sizeof *made);
  pinfold_state own = PINFOLD_STATE_INIT;
  own.owners = made->owners;
  own.owner_count = kCpus;
  own.allocations = made->memory;
  own.allocation_capacity = sizeof made->memory / sizeof made->memory[0];
  if (pinfold_state_clear(machine, &own) != PINFOLD_OK) return;
  for (uint32_t i = 0; i < kRequests; ++i) {
    const uint64_t wanted[kKinds] = {(UINT64_C(1) + i) << 30, i % 5 == 0 ? 1 << 21 : 0};
    pinfold_decide_container container = PINFOLD_DECIDE_CONTAINER_INIT;
    container.owner = i + 1;
    container.milli_cpu = 500 * (1 + i * 7 % 16);
    container.memory = wanted;
    container.memory_kinds = kKinds;
    pinfold_decide_request request = PINFOLD_DECIDE_REQUEST_INIT;
    request.containers = &container;
    request.container_count = 1;
    pinfold_placement placement = {0};
    made->codes[i] = pinfold_decide(machine, &own, &request, &placement, own_workspace,
                                    sizeof own_workspace, NULL, 0);
    made->affinities[i] = placement.affinity_mask;
    made->memory_masks[i] = placement.memory_mask;
    if (i % 4 == 3) pinfold_state_release(&own, i - 1);
  }
}

static atomic_int different;
/* Counts the repetitions that differ from the history. */
static void* repeat(void* expected) {
  for (int i = 0; i < kRepetitions; ++i) {
    history made;
    run_history(&made);
    if (memcmp(&made, expected, sizeof made) != 0) ++different;
  }
  return NULL;
}

static void decide_in_threads(void) {
  static history expected;
  run_history(&expected);
  int admitted = 0;
  for (int i = 0; i < kRequests; ++i) admitted += expected.codes[i] == PINFOLD_OK;
  check(admitted > kRequests / 2 && admitted < kRequests, "some are admitted, some rejected");
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    if (pthread_create(&threads[i], NULL, repeat, &expected) != 0) abort();
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  check(different == 0, "a thread decides as another one does, and the same each time");
}

int main(void) {
  const pinfold_machine_description description = describe();
  if (pinfold_machine_make(&description, &machine, message, sizeof message) != PINFOLD_OK) {
    puts(message);
    return 1;
  }
  state.owners = owners;
  state.owner_count = kCpus;
  state.allocations = memory_of;
  state.allocation_capacity = sizeof memory_of / sizeof memory_of[0];
  check(pinfold_state_clear(machine, &state) == PINFOLD_OK, "a state of the machine");
  check(pinfold_machine_is_reserved(machine, 0) && !pinfold_machine_is_reserved(machine, 1),
        "CPU 0 is reserved");
  const long before = allocations;
  for (int i = 0; i < 1000; ++i) {
    decide();
    pinfold_state_release(&state, 8);
  }
  check(allocations == before, "no decision allocates");
  refuse();
  decide_in_threads();
  pinfold_machine_free(machine);
  return failures == 0 ? 0 : 1;
}
