#include "number_caches.hpp"

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

}  // namespace pinfold
