#include <benchmark/benchmark.h>

#include <array>

#include "../../tests/support/cpu_fixture.hpp"

// One decision of the CPU manager: hints for the container, CPUs for it, and its removal, which
// brings the state back to where it was. In memory, with other pods on the node.
namespace pinfold::test {
namespace {

struct Bench {
  const char* name;
  Shape shape;
};

const std::array<Bench, 5> kMachines = {{
    {"8 CPUs, 1 node", {.sockets = 1, .cores_per_cache = 4}},
    {"64 CPUs, 2 nodes", {.sockets = 2, .caches_per_numa = 2, .cores_per_cache = 8}},
    {"256 CPUs, 2 nodes", {.sockets = 2, .caches_per_numa = 8, .cores_per_cache = 8}},
    {"256 CPUs, 8 nodes",
     {.sockets = 2, .numa_per_socket = 4, .caches_per_numa = 2, .cores_per_cache = 8}},
    {"512 CPUs, 4 nodes", {.sockets = 4, .caches_per_numa = 8, .cores_per_cache = 8}},
}};

struct Policy {
  const char* name;
  Options options;
};

const std::array<Policy, 8> kPolicies = {{
    {"no option", {}},
    {"full-pcpus-only", {{"full-pcpus-only", "true"}}},
    {"distribute-cpus-across-numa", {{"distribute-cpus-across-numa", "true"}}},
    {"distribute-cpus-across-numa+full-pcpus-only",
     {{"distribute-cpus-across-numa", "true"}, {"full-pcpus-only", "true"}}},
    {"align-by-socket", {{"align-by-socket", "true"}}},
    {"distribute-cpus-across-cores", {{"distribute-cpus-across-cores", "true"}}},
    {"strict-cpu-reservation", {{"strict-cpu-reservation", "true"}}},
    {"prefer-align-cpus-by-uncorecache", {{"prefer-align-cpus-by-uncorecache", "true"}}},
}};

/// A node on which up to `pods` pods of two CPUs run; they leave half of the machine free.
Rig busy_node(const Shape& shape, const Options& options, int pods) {
  Rig rig(machine_of(shape), static_policy(options, Profile::kFixed), reserve_count(2000));
  for (int i = 0; i < pods && (i + 1) * 4 < shape.cpus(); ++i) {
    rig.admit("pod-" + std::to_string(i), 2);
  }
  return rig;
}

void decide_once(Rig& rig, const PodSpec& pod, benchmark::State& bench) {
  const Container& container = pod.containers[0];
  for (auto _ : bench) {
    const ResourceHints hints = rig.manager().container_hints(rig.state, pod, container);
    const auto& masks = *hints.at("cpu");
    const auto done = rig.manager().allocate(
        rig.state, pod, container, masks.empty() ? TopologyHint{} : masks.front(), nullptr);
    benchmark::DoNotOptimize(done.has_value());
    rig.manager().remove_container(rig.state, pod.uid, container.name);
  }
}

void one_decision(benchmark::State& bench, const Bench& machine, const Policy& policy, int pods,
                  int cpus) {
  Rig rig = busy_node(machine.shape, policy.options, pods);
  decide_once(rig, pod_with("new", cpus), bench);
  bench.counters["pods"] = static_cast<double>(rig.state.assignments.size());
}

void register_all() {
  const auto add = [](const Bench& machine, const Policy& policy, int pods, int cpus) {
    const std::string name = std::string(machine.name) + "/" + policy.name + "/" +
                             std::to_string(pods) + " pods/takes " + std::to_string(cpus);
    benchmark::RegisterBenchmark(name.c_str(),
                                 [&machine, &policy, pods, cpus](benchmark::State& bench) {
                                   one_decision(bench, machine, policy, pods, cpus);
                                 });
  };
  for (const Bench& machine : kMachines) {
    for (const Policy& policy : kPolicies) {
      add(machine, policy, 60, 2);
      add(machine, policy, 60, machine.shape.cpus() / 4);
    }
  }
  for (const int pods : {0, 15, 30, 60, 120, 240}) add(kMachines[4], kPolicies[0], pods, 16);
}

}  // namespace
}  // namespace pinfold::test

int main(int argc, char** argv) {
  pinfold::test::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
