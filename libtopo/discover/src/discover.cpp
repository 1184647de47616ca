#include "pinfold/discover/discover.hpp"

#include <cctype>
#include <nlohmann/json.hpp>

#include "hwloc_topology.hpp"
#include "number_caches.hpp"
#include "pinfold/text/document.hpp"
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

Result<MachineDescription> describe(const MachineText& source) {
  PINFOLD_LET(const auto machine, parse_machine(source.text));
  return machine.description();
}

/// True for one line of levels "TYPE:COUNT". A machine in JSON or YAML has braces, quotes or lines.
bool is_synthetic(std::string_view text) {
  const auto end = text.find_last_not_of(" \t\r\n");
  const std::string_view line = text.substr(0, end + 1);
  if (line.find_first_of("{\"\n") != std::string_view::npos) return false;
  const auto colon = line.find(':');
  return colon != std::string_view::npos && colon + 1 < line.size() &&
         std::isdigit(static_cast<unsigned char>(line[colon + 1])) != 0;
}

template <class HwlocSource>
Result<MachineDescription> describe(const HwlocSource& source) {
  PINFOLD_LET(auto topology, load_topology(source, Devices::kIgnore));
  return describe_topology(topology.get());
}

}  // namespace

Source source_of_text(std::string text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '<') return HwlocXml{std::move(text)};
  if (is_synthetic(text)) return HwlocSynthetic{std::move(text)};
  return MachineText{std::move(text)};
}

Result<Machine> discover(const Source& source, std::string name) {
  PINFOLD_LET(auto description,
              std::visit([](const auto& from) { return describe(from); }, source));
  if (!std::holds_alternative<MachineText>(source)) description.name = std::move(name);
  return Machine::make(std::move(description));
}

Result<Machine> discover_with_hwloc(const SysTree& source, std::string name) {
  PINFOLD_LET(const auto topology, load_topology(source, Devices::kIgnore));
  PINFOLD_LET(auto description, describe_topology(topology.get()));
  description.name = std::move(name);
  return Machine::make(std::move(description));
}

}  // namespace pinfold
