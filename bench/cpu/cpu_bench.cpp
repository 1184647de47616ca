#include <benchmark/benchmark.h>

#include <array>

#include "../../tests/support/cpu_fixture.hpp"
#include "pinfold/decide/decide.hpp"

// One decision of the CPU manager, in memory, with other pods on the node: hints for the container,
// its allocation, and its removal, which restores the state.
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

/// Returns a node with up to `pods` pods of two CPUs, which leave half of the machine free.
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
    rig.manager().remove_container(rig.state, {pod.uid, container.name});
  }
}

void one_decision(benchmark::State& bench, const Bench& machine, const Policy& policy, int pods,
                  int cpus) {
  Rig rig = busy_node(machine.shape, policy.options, pods);
  decide_once(rig, pod_with("new", cpus), bench);
  bench.counters["pods"] = static_cast<double>(rig.state.assignments.by_pod().size());
}

/// The request that distribute-cpus-across-numa takes longest to place, found by trying all.
struct Awkward {
  int nodes;
  int cpus;
};
const std::array<Awkward, 6> kAwkward = {
    {{2, 115}, {4, 175}, {8, 167}, {16, 168}, {32, 17}, {64, 199}}};

void awkward_decision(benchmark::State& bench, const Awkward& request) {
  const Shape shape{
      .sockets = 2, .numa_per_socket = request.nodes / 2, .cores_per_cache = 128 / request.nodes};
  Rig rig(machine_of(shape),
          static_policy({{"distribute-cpus-across-numa", "true"}}, Profile::kFixed),
          reserve_count(2000));
  for (int i = 0; i < 20; ++i) rig.admit("pod-" + std::to_string(i), 1 + i % 3);
  for (int i = 0; i < 20; i += 3) {
    rig.manager().remove_container(rig.state, {PodUid("pod-" + std::to_string(i)), "c"});
  }
  const PodSpec pod = pod_with("new", request.cpus);
  for (auto _ : bench) {
    const auto done = rig.manager().allocate(rig.state, pod, pod.containers[0], {}, nullptr);
    if (!done) bench.SkipWithError("the request does not fit");
    rig.manager().remove_container(rig.state, {pod.uid, "c"});
  }
}

/// Resizes a container of 16 CPUs to 32 and back.
void one_resize(benchmark::State& bench, const Bench& machine, const Policy& policy) {
  Rig rig = busy_node(machine.shape, policy.options, 60);
  const PodSpec pod = pod_with("new", 16);
  if (!rig.manager().allocate(rig.state, pod, pod.containers[0], {}, nullptr)) {
    return bench.SkipWithError("the pod does not fit");
  }
  const PodSpec more = pod_with("new", 32);
  for (auto _ : bench) {
    for (const PodSpec* const to : {&more, &pod}) {
      const Container& container = to->containers[0];
      const ResourceHints hints =
          rig.manager().container_hints(rig.state, *to, container, CpuRequestKind::kResize);
      const auto& masks = *hints.at("cpu");
      const auto done = rig.manager().resize(
          rig.state, *to, container, masks.empty() ? TopologyHint{} : masks.front(), nullptr);
      if (!done) bench.SkipWithError("the resize does not fit");
    }
  }
  bench.counters["resizes"] = 2;
}

/// Makes one decision through decide(): all managers, with the default policy of the topology
/// manager. Moves the node's whole state in and out.
void whole_decision(benchmark::State& bench, const Shape& shape, Profile profile, int pods) {
  Config config = static_policy({}, profile);
  config.reserved_system_cpus = "0-1";
  const Node node = Node::make(machine_of(shape), config).value();
  NodeState state;
  if (!node.cpu().start(state.cpu)) bench.SkipWithError("the node does not start");
  const auto admit = [&](NodeState before, const PodSpec& pod) {
    Decision decision = decide(node, std::move(before), pod);
    auto* const admitted = std::get_if<Admitted>(&decision);
    if (admitted == nullptr) {
      bench.SkipWithError("a pod is rejected");
      return NodeState{};
    }
    return std::move(admitted->next);
  };
  for (int i = 0; i < pods; ++i) {
    state = admit(std::move(state), pod_with("pod-" + std::to_string(i), 2));
  }
  const PodSpec pod = pod_with("new", 16);
  for (auto _ : bench) {
    state = admit(std::move(state), pod);
    state = remove_pod(node, std::move(state), pod.uid);
  }
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
      if (machine.shape.cpus() > 8) add(machine, policy, 60, machine.shape.cpus() / 4);
    }
  }
  for (const Policy& policy : kPolicies) {
    const std::string name = std::string("resize, ") + kMachines[3].name + "/" + policy.name +
                             "/60 pods/16 to 32 and back";
    benchmark::RegisterBenchmark(name.c_str(), [&policy](benchmark::State& bench) {
      one_resize(bench, kMachines[3], policy);
    });
  }
  for (const int pods : {0, 15, 30, 60, 120, 240}) add(kMachines[4], kPolicies[0], pods, 16);
  for (const Awkward& request : kAwkward) {
    const std::string name = "awkward, 256 CPUs, " + std::to_string(request.nodes) +
                             " nodes/takes " + std::to_string(request.cpus);
    benchmark::RegisterBenchmark(
        name.c_str(), [&request](benchmark::State& bench) { awkward_decision(bench, request); });
  }
  for (const int pods : {0, 30, 60, 90}) {
    for (const Profile profile : {Profile::kKubelet136, Profile::kFixed}) {
      const std::string name = "decide, 256 CPUs, 2 nodes/" + std::string(to_string(profile)) +
                               "/" + std::to_string(pods) + " pods/takes 16";
      benchmark::RegisterBenchmark(name.c_str(), [profile, pods](benchmark::State& bench) {
        whole_decision(bench, kMachines[2].shape, profile, pods);
      });
    }
  }
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
