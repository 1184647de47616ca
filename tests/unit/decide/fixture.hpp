#pragma once

#include <string>
#include <utility>

#include "pinfold/decide/decide.hpp"

// Shorthands for a node of two sockets with four CPUs each, and its pods.
namespace pinfold::test {

inline MachineDescription two_sockets() {
  MachineDescription description;
  description.name = "two-sockets";
  for (int id = 0; id < 8; ++id) {
    description.cpus.push_back(
        {CpuId{id}, CoreId{id / 2 * 2}, SocketId{id / 4}, NumaId{id / 4}, CacheId{id / 4}});
  }
  for (int node = 0; node < 2; ++node) {
    description.numa_nodes.push_back({NumaId{node}, std::uint64_t{8} << 30U, {}, {}});
  }
  return description;
}

inline tl::expected<Node, StartError> try_node(const std::string& config) {
  return Node::make(Machine::make(two_sockets()).value(), parse_config(config).value().config);
}

/// Aborts if the node does not start, which is a mistake in the test.
inline Node node_of(const std::string& config) { return std::move(try_node(config)).value(); }

/// A Guaranteed pod with one container "c" for each request of "cpu/memory".
inline PodSpec pod_of(const std::string& uid,
                      const std::vector<std::pair<std::string, std::string>>& requests) {
  PodSpec pod{PodUid(uid), uid, "default", {}, {}};
  for (const auto& [cpu, memory] : requests) {
    Container container{"c" + std::to_string(pod.containers.size() + 1), ContainerKind::kApp, {}};
    container.resources.requests = {{"cpu", Quantity::parse(cpu).value()},
                                    {"memory", Quantity::parse(memory).value()}};
    container.resources.limits = container.resources.requests;
    pod.containers.push_back(std::move(container));
  }
  return pod;
}

}  // namespace pinfold::test
