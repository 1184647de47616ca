#pragma once

#include <stdexcept>
#include <string>

#include "pinfold/api/pod.hpp"
#include "pinfold/decide/node.hpp"

namespace pinfold::test {

/// Returns a machine with two sockets, two NUMA nodes and eight CPUs without SMT, 4 GiB on each
/// node.
inline Machine two_sockets() {
  MachineDescription description;
  description.name = "two-sockets";
  for (std::int32_t id = 0; id < 8; ++id) {
    const std::int32_t half = id / 4;
    description.cpus.push_back(
        {CpuId{id}, CoreId{id}, SocketId{half}, NumaId{half}, CacheId{half}});
  }
  for (std::int32_t id = 0; id < 2; ++id) {
    NumaNode node;
    node.id = NumaId{id};
    node.memory = std::uint64_t{4} << 30;
    node.distances =
        id == 0 ? std::vector<std::uint32_t>{10, 21} : std::vector<std::uint32_t>{21, 10};
    description.numa_nodes.push_back(std::move(node));
  }
  auto machine = Machine::make(std::move(description));
  if (!machine) throw std::runtime_error(machine.error().message);
  return *std::move(machine);
}

/// Returns two_sockets() with the static CPU manager and CPU 0 reserved.
inline Node static_node(Config config = {}) {
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = "0";
  auto node = Node::make(two_sockets(), std::move(config));
  if (!node) throw std::runtime_error(node.error().error);
  return std::move(*node);
}

/// Returns a container with equal requests and limits.
inline Container guaranteed(const std::string& name, std::int64_t cpus,
                            ContainerKind kind = ContainerKind::kApp) {
  Container container;
  container.name = name;
  container.kind = kind;
  container.resources.limits = {{"cpu", Quantity::of(cpus, Quantity::Format::kDecimalSi)},
                                {"memory", Quantity::bytes(std::int64_t{64} << 20)}};
  container.resources.requests = container.resources.limits;
  return container;
}

/// Returns a container of a Guaranteed pod that gets no exclusive CPUs.
inline Container half_a_cpu(const std::string& name) {
  Container container = guaranteed(name, 1);
  container.resources.limits["cpu"] = Quantity::milli(500);
  container.resources.requests = container.resources.limits;
  return container;
}

/// Returns a container without requests.
inline Container best_effort(const std::string& name) {
  Container container;
  container.name = name;
  return container;
}

inline PodSpec pod(const std::string& uid, std::vector<Container> containers) {
  PodSpec spec;
  spec.uid = PodUid(uid);
  spec.name = uid;
  spec.namespace_name = "default";
  spec.containers = std::move(containers);
  return spec;
}

}  // namespace pinfold::test
