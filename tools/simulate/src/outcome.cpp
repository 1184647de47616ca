#include "outcome.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pinfold::simulate {
namespace {

using nlohmann::json;

json linux_json(const LinuxResources& resources) {
  json out = {{"cpuShares", resources.cpu_shares},
              {"cpuWeight", cpu_weight(resources.cpu_shares)},
              {"cpuWeightRuntime", cpu_weight_runtime(resources.cpu_shares)}};
  if (resources.cpu_quota) out["cpuQuota"] = *resources.cpu_quota;
  if (resources.cpu_period) out["cpuPeriod"] = *resources.cpu_period;
  if (resources.memory_limit) out["memoryLimit"] = *resources.memory_limit;
  return out;
}

json devices_json(const Node& node, const DeviceState::OfContainer& devices) {
  json out = json::object();
  for (const auto& [resource, ids] : devices) {
    json per_numa = json::object();
    for (const std::string& id : ids) {
      std::string key = "none";
      for (const Device& device : node.machine().devices()) {
        if (device.resource != resource || device.id != id || device.numa_nodes.empty()) continue;
        std::vector<std::int32_t> nodes;
        for (const NumaId numa : device.numa_nodes) nodes.push_back(numa.value);
        key = fmt::format("{}", fmt::join(nodes, ","));
      }
      per_numa[key] = per_numa.value(key, 0) + 1;
    }
    out[resource] = {{"ids", ids}, {"perNuma", std::move(per_numa)}};
  }
  return out;
}

}  // namespace

json hint_json(const Machine& machine, const TopologyHint& hint) {
  json out = {{"numaNodes", nullptr}, {"preferred", hint.preferred}};
  if (hint.numa) out["numaNodes"] = machine.numa_ids(*hint.numa);
  return out;
}

json hints_json(const Machine& machine, const HintsByObject& hints) {
  json out = json::object();
  for (const auto& [object, resources] : hints) {
    json& of_object = out[object] = json::object();
    for (const auto& [resource, list] : resources) {
      if (!list) {
        of_object[resource] = nullptr;
        continue;
      }
      json& items = of_object[resource] = json::array();
      for (const TopologyHint& hint : *list) items.push_back(hint_json(machine, hint));
    }
  }
  return out;
}

json blocks_json(const std::vector<MemoryBlock>& blocks) {
  json out = json::array();
  for (const MemoryBlock& block : blocks) {
    out.push_back(
        {{"numaAffinity", block.numa_affinity}, {"type", block.type}, {"size", block.size}});
  }
  return out;
}

json container_json(const Node& node, const ContainerResources& resources) {
  json out = {{"cpusetCpus", resources.cpuset_cpus.to_string()},
              {"exclusiveCpus", resources.exclusive_cpus.to_string()},
              {"isolation", to_string(resources.isolation)},
              {"cpusetMems", resources.cpuset_mems},
              {"hint", hint_json(node.machine(), resources.affinity)}};
  if (resources.cpus) out["cpus"] = resources.cpus->to_string();
  if (!resources.memory.empty()) out["memory"] = blocks_json(resources.memory);
  if (!resources.devices.empty()) out["devices"] = devices_json(node, resources.devices);
  json linux_values = linux_json(resources.linux_resources);
  // The format always has these two page sizes, regardless of the node.
  const auto& limits = resources.linux_resources.hugepage_limits;
  for (const char* const size : {"1GB", "2MB"}) {
    const auto limit = limits.find(size);
    linux_values["hugepages"][size] = limit == limits.end() ? 0 : limit->second;
  }
  linux_values["oomScoreAdj"] = resources.linux_resources.oom_score_adj.value_or(0);
  out["linux"] = std::move(linux_values);
  return out;
}

json pod_linux_json(const LinuxResources& resources) {
  json out = linux_json(resources);
  if (!resources.hugepage_limits.empty()) out["hugepages"] = resources.hugepage_limits;
  return {{"linux", std::move(out)}};
}

}  // namespace pinfold::simulate
