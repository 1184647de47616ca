#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "pinfold/decide/decide.hpp"

/// Nodes and pods for measuring the cost of an admission.
namespace pinfold::test {

/// 512 CPUs and 1 TiB on two NUMA nodes.
inline Node large_node() {
  MachineDescription machine;
  for (int id = 0; id < 512; ++id) {
    const int half = id / 256;
    machine.cpus.push_back(
        {CpuId{id}, CoreId{id / 2}, SocketId{half}, NumaId{half}, CacheId{half}});
  }
  for (int id = 0; id < 2; ++id) {
    machine.numa_nodes.push_back({NumaId{id}, std::uint64_t{1} << 39U, {}, {}});
  }
  Config config;
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = "0-1";
  config.memory_manager_policy = "Static";
  config.reserved_memory = {{0, {{"memory", "100Mi"}}}};
  config.topology_manager_policy = "best-effort";
  return Node::make(Machine::make(machine).value(), config).value();
}

/// One container with two CPUs and 1 GiB.
inline PodSpec pod_of_two_cpus(const std::string& uid, std::string name) {
  PodSpec pod{PodUid(uid), std::move(name), "default", {}, {}};
  Container container{"main", ContainerKind::kApp, {}};
  container.resources.limits = {{"cpu", Quantity::parse("2").value()},
                                {"memory", Quantity::parse("1Gi").value()}};
  pod.containers.push_back(std::move(container));
  apply_defaults(pod);
  return pod;
}

}  // namespace pinfold::test
