#include "pinfold/discover/discover.hpp"

#include "hwloc_topology.hpp"
#include "number_caches.hpp"
#include "sys_tree.hpp"

namespace pinfold {

void number_caches(MachineDescription& description, const std::map<CpuId, CpuId>& l3_of) {
  description.has_cache_info = l3_of.size() == description.cpus.size();
  std::map<CpuId, CacheId> numbers;
  for (const auto& [cpu, lowest] : l3_of) numbers.emplace(lowest, CacheId{});
  std::int32_t next = 0;
  for (auto& [lowest, number] : numbers) number = CacheId{next++};
  for (Cpu& cpu : description.cpus) {
    cpu.l3 = description.has_cache_info ? numbers.at(l3_of.at(cpu.id)) : CacheId{cpu.socket.value};
  }
}

namespace {

Result<MachineDescription> describe(const SysTree& source) { return read_sys_tree(source); }

template <class HwlocSource>
Result<MachineDescription> describe(const HwlocSource& source) {
  PINFOLD_LET(auto topology, load_topology(source, Devices::kIgnore));
  return describe_topology(topology.get());
}

}  // namespace

Result<Machine> discover(const Source& source, std::string name) {
  PINFOLD_LET(auto description,
              std::visit([](const auto& from) { return describe(from); }, source));
  description.name = std::move(name);
  return Machine::make(std::move(description));
}

Result<Machine> discover_with_hwloc(const SysTree& source, std::string name) {
  PINFOLD_LET(const auto topology, load_topology(source, Devices::kIgnore));
  PINFOLD_LET(auto description, describe_topology(topology.get()));
  description.name = std::move(name);
  return Machine::make(std::move(description));
}

}  // namespace pinfold
