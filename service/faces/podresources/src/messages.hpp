#pragma once

#include <podresources/v1/podresources.pb.h>

#include <vector>

#include "pinfold/machine/machine.hpp"
#include "pinfold/types/cpuset.hpp"

/// Messages common to several answers.
namespace pinfold::podresources {

inline void add_cpus(const CpuSet& cpus, google::protobuf::RepeatedField<std::int64_t>& ids) {
  for (const CpuId id : cpus) ids.Add(id.value);
}

inline void add_node(NumaId id, ::v1::TopologyInfo& topology) {
  topology.add_nodes()->set_id(id.value);
}

/// Calls add() for each message of a device: one per NUMA node, or one without topology.
template <class Add>
void add_device(const std::string& resource, const std::string& id,
                const std::vector<NumaId>& numa_nodes, const Add& add) {
  const auto add_one = [&]() -> auto& {
    auto& device = *add();
    device.set_resource_name(resource);
    device.add_device_ids(id);
    return device;
  };
  if (numa_nodes.empty()) add_one();
  for (const NumaId node : numa_nodes) {
    auto& device = add_one();
    if constexpr (requires { device.mutable_topology(); }) {
      add_node(node, *device.mutable_topology());
    }
  }
}

}  // namespace pinfold::podresources
