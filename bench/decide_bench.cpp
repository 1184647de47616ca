// Compares the pure call in C with the C++ library's decide(), for the same request on the same
// machine: one container of 4 CPUs and 1 GiB, single-numa-node. Also counts allocations. Results:
// docs/performance.md.
#include <benchmark/benchmark.h>
#include <pinfold/decide.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "pinfold/decide/decide.hpp"

// Counts the calls of malloc, to which operator new leads.
static std::uint64_t allocations = 0;  // NOLINT
extern "C" {
void* __libc_malloc(std::size_t size);  // NOLINT: glibc's own malloc
void* malloc(std::size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
}

namespace pinfold {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

MachineDescription describe(int cpus, int nodes) {
  MachineDescription machine;
  const int each = cpus / nodes;
  for (int id = 0; id < cpus; ++id) {
    machine.cpus.push_back({CpuId{id}, CoreId{id / 2 * 2}, SocketId{id / each}, NumaId{id / each},
                            CacheId{id / each}});
  }
  for (int id = 0; id < nodes; ++id) machine.numa_nodes.push_back({NumaId{id}, 64 * kGiB, {}, {}});
  return machine;
}

void report_allocations(benchmark::State& state, std::uint64_t before) {
  state.counters["allocations"] = benchmark::Counter(static_cast<double>(allocations - before),
                                                     benchmark::Counter::kAvgIterations);
}

void in_c(benchmark::State& state) {
  const MachineDescription machine =
      describe(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  std::vector<pinfold_cpu> cpus;
  for (const Cpu& cpu : machine.cpus) {
    cpus.push_back({cpu.id.value, cpu.core.value, cpu.socket.value, cpu.numa.value, cpu.l3.value});
  }
  std::vector<std::int32_t> numa;
  std::vector<std::uint64_t> memory;
  for (const NumaNode& node : machine.numa_nodes) {
    numa.push_back(node.id.value);
    memory.push_back(node.memory);
  }
  const std::int32_t reserved = 0;
  pinfold_machine_description description = PINFOLD_MACHINE_DESCRIPTION_INIT;
  description.cpus = cpus.data();
  description.cpu_count = cpus.size();
  description.numa = numa.data();
  description.numa_count = numa.size();
  description.memory = memory.data();
  description.memory_kinds = 1;
  description.reserved = &reserved;
  description.reserved_count = 1;
  description.topology_policy = PINFOLD_TOPOLOGY_SINGLE_NUMA_NODE;
  pinfold_machine* made = nullptr;
  if (pinfold_machine_make(&description, &made, nullptr, 0) != PINFOLD_OK) std::abort();
  const std::unique_ptr<pinfold_machine, decltype(&pinfold_machine_free)> prepared(
      made, &pinfold_machine_free);

  std::vector<std::uint32_t> owners(cpus.size());
  std::vector<pinfold_allocation> held(8);
  pinfold_state now = PINFOLD_STATE_INIT;
  now.owners = owners.data();
  now.owner_count = owners.size();
  now.allocations = held.data();
  now.allocation_capacity = held.size();
  if (pinfold_state_clear(made, &now) != PINFOLD_OK) std::abort();
  pinfold_decide_container container = PINFOLD_DECIDE_CONTAINER_INIT;
  container.owner = 1;
  container.milli_cpu = 4000;
  container.memory = &kGiB;
  container.memory_kinds = 1;
  pinfold_decide_request request = PINFOLD_DECIDE_REQUEST_INIT;
  request.containers = &container;
  request.container_count = 1;
  std::vector<std::byte> workspace(pinfold_decide_workspace(made, &request));
  pinfold_placement placement;
  const std::uint64_t before = allocations;
  for (auto _ : state) {
    if (pinfold_decide(made, &now, &request, &placement, workspace.data(), workspace.size(),
                       nullptr, 0) != PINFOLD_OK) {
      state.SkipWithError("rejected");
    }
    pinfold_state_release(&now, 1);
  }
  report_allocations(state, before);
}
BENCHMARK(in_c)->Args({64, 2})->Args({1024, 64})->Unit(benchmark::kMicrosecond);

void in_cpp(benchmark::State& state) {
  Config config;
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = "0";
  config.memory_manager_policy = "Static";
  config.reserved_memory = {{0, {{"memory", "100Mi"}}}};
  config.topology_manager_policy = "single-numa-node";
  const Node node = Node::make(Machine::make(describe(static_cast<int>(state.range(0)),
                                                      static_cast<int>(state.range(1))))
                                   .value(),
                               config)
                        .value();
  PodSpec pod{PodUid("pod"), "pod", "default", {}, {}};
  Container container{"c", ContainerKind::kApp, {}};
  container.resources.limits = {{"cpu", Quantity::parse("4").value()},
                                {"memory", Quantity::parse("1Gi").value()}};
  pod.containers.push_back(std::move(container));
  apply_defaults(pod);
  const NodeState empty = empty_state(node);
  const std::uint64_t before = allocations;
  for (auto _ : state) {
    Decision decision = decide(node, empty, pod);
    if (std::holds_alternative<Rejected>(decision)) state.SkipWithError("rejected");
    benchmark::DoNotOptimize(decision);
  }
  report_allocations(state, before);
}
BENCHMARK(in_cpp)->Args({64, 2})->Args({1024, 64})->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace pinfold
