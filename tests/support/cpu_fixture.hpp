#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "pinfold/cpu/cpu_manager.hpp"

// Short ways to write machines, configurations and pods in tests of the CPU manager.
namespace pinfold::test {

/// A regular machine. CPUs are numbered as Linux does by default: first one thread of every core,
/// in order, then the second threads; with `adjacent`, threads of a core have consecutive numbers.
struct Shape {
  int sockets = 1;
  int numa_per_socket = 1;
  int caches_per_numa = 1;
  int cores_per_cache = 4;
  int threads = 2;
  bool adjacent = false;

  [[nodiscard]] int cores() const {
    return sockets * numa_per_socket * caches_per_numa * cores_per_cache;
  }
  [[nodiscard]] int cpus() const { return cores() * threads; }
};

inline MachineDescription describe(const Shape& shape) {
  MachineDescription description;
  description.name = "test";
  const int cores_per_numa = shape.caches_per_numa * shape.cores_per_cache;
  for (int core = 0; core < shape.cores(); ++core) {
    const int first = shape.adjacent ? core * shape.threads : core;
    const int numa = core / cores_per_numa;
    for (int thread = 0; thread < shape.threads; ++thread) {
      const int id = shape.adjacent ? first + thread : core + thread * shape.cores();
      description.cpus.push_back({CpuId{id}, CoreId{first}, SocketId{numa / shape.numa_per_socket},
                                  NumaId{numa}, CacheId{core / shape.cores_per_cache}});
    }
  }
  for (int numa = 0; numa < shape.sockets * shape.numa_per_socket; ++numa) {
    description.numa_nodes.push_back({NumaId{numa}, std::uint64_t{8} << 30U, {}, {}});
  }
  return description;
}

/// Makes a machine; aborts on an impossible shape, which is a mistake in the test.
inline Machine machine_of(MachineDescription description) {
  return Machine::make(std::move(description)).value();
}
inline Machine machine_of(const Shape& shape) { return machine_of(describe(shape)); }

using Options = std::map<std::string, std::string>;

/// Returns the static policy, with every gate enabled that the options need.
inline Config static_policy(Options options = {}, Profile profile = Profile::kKubelet136) {
  Config config;
  config.cpu_manager_policy = "static";
  config.cpu_manager_policy_options = std::move(options);
  config.feature_gates = {{"CPUManagerPolicyAlphaOptions", true}};
  config.profile = profile;
  return config;
}

inline NodeReservation reserve_count(std::int64_t milli_cpu) {
  return {{}, {{"cpu", Quantity::milli(milli_cpu)}}};
}
inline NodeReservation reserve_set(CpuSet cpus) {
  const auto count = static_cast<std::int64_t>(cpus.size());
  return {std::move(cpus), {{"cpu", Quantity::milli(count * 1000)}}};
}

/// Returns a container whose requests equal its limits, with 1 Gi of memory.
inline Container exclusive(std::string name, std::int64_t milli_cpu,
                           ContainerKind kind = ContainerKind::kApp) {
  const ResourceList amounts = {{"cpu", Quantity::milli(milli_cpu)},
                                {"memory", Quantity::bytes(std::int64_t{1} << 30)}};
  return {std::move(name), kind, {amounts, amounts}};
}

inline PodSpec pod_of(std::string uid, std::vector<Container> containers) {
  PodSpec pod;
  pod.name = uid;
  pod.uid = PodUid(std::move(uid));
  pod.namespace_name = "default";
  pod.containers = std::move(containers);
  return pod;
}

/// Returns a pod with one exclusive container "c".
inline PodSpec pod_with(std::string uid, int cpus) {
  return pod_of(std::move(uid), {exclusive("c", std::int64_t{cpus} * 1000)});
}

/// A started CPU manager and its state, on its own machine.
class Rig {
 public:
  Rig(Machine machine, const Config& config, const NodeReservation& reservation)
      : machine_(std::make_unique<Machine>(std::move(machine))),
        manager_(CpuManager::make(*machine_, config, reservation).value()) {
    if (auto started = manager_.start(state); !started)
      throw std::logic_error(started.error().message);
  }

  [[nodiscard]] const Machine& machine() const { return *machine_; }
  [[nodiscard]] const CpuManager& manager() const { return manager_; }

  /// Admits a new pod; returns the CPUs of its container "c" as a list, or the reason for the
  /// rejection.
  std::string admit(const std::string& uid, int cpus, const TopologyHint& affinity = {}) {
    return admit(pod_with(uid, cpus), "c", affinity);
  }
  /// Allocates for all containers of the pod; returns the CPUs of one of them.
  std::string admit(const PodSpec& pod, const std::string& container,
                    const TopologyHint& affinity = {}) {
    for (const Container& each : pod.containers) {
      if (auto done = manager_.allocate(state, pod, each, affinity, &trace); !done) {
        return done.error().reason;
      }
    }
    const CpuSet* const cpus = state.assignments.find({pod.uid, container});
    return cpus == nullptr ? "shared" : cpus->to_string();
  }

  CpuState state;
  Trace trace;

 private:
  std::unique_ptr<Machine> machine_;
  CpuManager manager_;
};

}  // namespace pinfold::test
