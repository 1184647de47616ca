/* One decision whose instructions the test counts: 4 CPUs and 1 GiB on an empty machine
 * of 64 CPUs and 2 NUMA nodes, single-numa-node, as in bench/decide_bench.cpp. */
#include <pinfold/decide.h>
#include <stddef.h>
#include <stdint.h>

enum { kCpus = 64, kNodes = 2 };

int main(void) {
  static const int32_t numa[kNodes] = {0, 1};
  static const uint64_t memory[kNodes] = {UINT64_C(64) << 30, UINT64_C(64) << 30};
  static const int32_t reserved = 0;
  static const uint64_t wanted = UINT64_C(1) << 30;
  pinfold_cpu cpus[kCpus];
  for (int i = 0; i < kCpus; ++i) {
    cpus[i] = (pinfold_cpu){i, i / 2 * 2, i / 32, i / 32, i / 32};
  }
  pinfold_machine_description description = PINFOLD_MACHINE_DESCRIPTION_INIT;
  description.cpus = cpus;
  description.cpu_count = kCpus;
  description.numa = numa;
  description.numa_count = kNodes;
  description.memory = memory;
  description.memory_kinds = 1;
  description.reserved = &reserved;
  description.reserved_count = 1;
  description.topology_policy = PINFOLD_TOPOLOGY_SINGLE_NUMA_NODE;
  pinfold_machine* machine;
  if (pinfold_machine_make(&description, &machine, NULL, 0) != PINFOLD_OK) return 1;

  uint32_t owners[kCpus];
  pinfold_allocation allocation;
  pinfold_state state = PINFOLD_STATE_INIT;
  state.owners = owners;
  state.owner_count = kCpus;
  state.allocations = &allocation;
  state.allocation_capacity = 1;
  if (pinfold_state_clear(machine, &state) != PINFOLD_OK) return 1;
  pinfold_decide_container container = PINFOLD_DECIDE_CONTAINER_INIT;
  container.owner = 1;
  container.milli_cpu = 4000;
  container.memory = &wanted;
  container.memory_kinds = 1;
  pinfold_decide_request request = PINFOLD_DECIDE_REQUEST_INIT;
  request.containers = &container;
  request.container_count = 1;
  pinfold_placement placement;
  static max_align_t workspace[1024];
  const pinfold_code code =
      pinfold_decide(machine, &state, &request, &placement, workspace, sizeof workspace, NULL, 0);
  pinfold_machine_free(machine);
  return code == PINFOLD_OK && placement.affinity_mask == 1 ? 0 : 1;
}
