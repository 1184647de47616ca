#include <pinfold/decide.h>
#include <stdio.h>
#include <stdlib.h>

enum { kCpus = 8, kNodes = 2 };

int main(void) {
  /* Two NUMA nodes with two cores of two threads each; CPU 0 is reserved. */
  pinfold_cpu cpus[kCpus];
  for (int i = 0; i < kCpus; ++i) cpus[i] = (pinfold_cpu){i, i / 2, i / 4, i / 4, -1};
  const int32_t numa[kNodes] = {0, 1};
  const uint64_t memory[kNodes] = {UINT64_C(8) << 30, UINT64_C(8) << 30};
  const int32_t reserved[] = {0};
  pinfold_machine_description description = PINFOLD_MACHINE_DESCRIPTION_INIT;
  description.cpus = cpus;
  description.cpu_count = kCpus;
  description.numa = numa;
  description.numa_count = kNodes;
  description.memory = memory;
  description.memory_kinds = 1;
  description.reserved = reserved;
  description.reserved_count = 1;
  description.topology_policy = PINFOLD_TOPOLOGY_SINGLE_NUMA_NODE;
  char message[256];
  pinfold_machine* machine = NULL;
  if (pinfold_machine_make(&description, &machine, message, sizeof message) != PINFOLD_OK) {
    fprintf(stderr, "%s\n", message);
    return 1;
  }

  /* The state is yours: who owns each CPU, and the memory of each owner. */
  uint32_t owners[kCpus];
  pinfold_allocation allocations[16];
  pinfold_state state = PINFOLD_STATE_INIT;
  state.owners = owners;
  state.owner_count = kCpus;
  state.allocations = allocations;
  state.allocation_capacity = 16;
  if (pinfold_state_clear(machine, &state) != PINFOLD_OK) return 1;

  const uint64_t bytes[] = {UINT64_C(1) << 30};
  pinfold_decide_container container = PINFOLD_DECIDE_CONTAINER_INIT;
  container.milli_cpu = 2000;
  container.memory = bytes;
  container.memory_kinds = 1;
  pinfold_decide_request request = PINFOLD_DECIDE_REQUEST_INIT;
  request.containers = &container;
  request.container_count = 1;
  void* workspace = NULL;
  for (container.owner = 1; container.owner <= 4; ++container.owner) {
    const size_t size = pinfold_decide_workspace(machine, &request);
    if (workspace == NULL) workspace = malloc(size); /* all requests here need as much */
    pinfold_placement placement;
    if (pinfold_decide(machine, &state, &request, &placement, workspace, size, message,
                       sizeof message) != PINFOLD_OK) {
      printf("container %u: %s\n", (unsigned)container.owner, message);
      continue;
    }
    printf("container %u: CPUs", (unsigned)container.owner);
    for (int i = 0; i < kCpus; ++i) {
      if (owners[i] == container.owner) printf(" %d", (int)cpus[i].cpu);
    }
    printf(", NUMA nodes 0x%x\n", (unsigned)placement.memory_mask);
  }
  free(workspace);
  pinfold_machine_free(machine);
  return 0;
}
