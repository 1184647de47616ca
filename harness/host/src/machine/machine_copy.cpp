#include "pinfold/harness/machine_copy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pinfold/harness/json.hpp"

namespace pinfold::harness {
namespace {

/// Returns the counts of a machine; dies and caches only if there are several.
std::vector<std::pair<const char*, int>> counts_of(const VmMachine& machine) {
  std::vector<std::pair<const char*, int>> counts = {
      {"sockets", machine.sockets}, {"cores", machine.cores}, {"threads", machine.threads}};
  if (machine.dies > 1) counts.emplace_back("dies", machine.dies);
  if (machine.caches > 1) counts.emplace_back("caches", machine.caches);
  return counts;
}

std::vector<std::pair<std::string, int>> huge_pages_of(const VmNode& node) {
  std::vector<std::pair<std::string, int>> pages;
  for (const auto& [size, count] : node.huge_pages) {
    pages.emplace_back(size < 1024 * kMiB ? "2Mi" : "1Gi", count);
  }
  return pages;
}

std::string memory_text(const VmNode& node) { return fmt::format("{}Mi", node.memory / kMiB); }

std::string node_yaml(const VmNode& node) {
  std::vector<std::string> fields;
  // Quoted, because YAML 1.1 reads 0,1 as the number 1.
  if (!node.cpus.empty()) fields.push_back(fmt::format("cpus: \"{}\"", node.cpus.to_string()));
  fields.push_back("memory: " + memory_text(node));
  std::vector<std::string> pages;
  for (const auto& [size, count] : huge_pages_of(node)) {
    pages.push_back(fmt::format("{}: {}", size, count));
  }
  if (!pages.empty()) fields.push_back(fmt::format("hugePages: {{{}}}", fmt::join(pages, ", ")));
  return fmt::format("    - {{{}}}\n", fmt::join(fields, ", "));
}

Json node_json(const VmNode& node) {
  Json json = {{"cpus", node.cpus.to_string()}, {"memory", memory_text(node)}};
  for (const auto& [size, count] : huge_pages_of(node)) json["hugePages"][size] = count;
  return json;
}

}  // namespace

std::string copy_yaml(const MachineCopy& copy, const std::string& source) {
  std::string name = source;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return c < 0x20; }, '?');
  std::string yaml =
      fmt::format("# The machine of '{}', by pinfold-harness machine --from.\n", name);
  if (!copy.differences.empty()) yaml += "# Differences from the source machine:\n";
  for (const CopyDifference& one : copy.differences) {
    yaml += fmt::format("# - {}: {}; here: {}\n", one.field, one.source, one.copy);
  }
  yaml += "machine:\n";
  for (const auto& [field, count] : counts_of(copy.machine)) {
    yaml += fmt::format("  {}: {}\n", field, count);
  }
  std::vector<std::string> devices;
  for (const int node : copy.machine.devices) devices.push_back(fmt::format("{{node: {}}}", node));
  if (!devices.empty()) yaml += fmt::format("  devices: [{}]\n", fmt::join(devices, ", "));
  yaml += "  nodes:\n";
  for (const VmNode& node : copy.machine.nodes) yaml += node_yaml(node);
  yaml += "  distances:\n";
  for (const auto& row : copy.machine.distances) {
    yaml += fmt::format("    - [{}]\n", fmt::join(row, ", "));
  }
  return yaml;
}

Json machine_json(const VmMachine& machine) {
  Json json = {{"nodes", Json::array()}, {"distances", machine.distances}};
  for (const auto& [name, count] : counts_of(machine)) json[name] = count;
  for (const VmNode& node : machine.nodes) json["nodes"].push_back(node_json(node));
  for (const int node : machine.devices) json["devices"].push_back({{"node", node}});
  if (machine.network_cards > 0) json["networkCards"] = machine.network_cards;
  if (!machine.absent.empty()) json["absentCpus"] = machine.absent.to_string();
  if (machine.pluggable_memory > 0) json["pluggableMemory"] = machine.pluggable_memory;
  if (!machine.kernel_arguments.empty()) json["kernelArguments"] = machine.kernel_arguments;
  if (!machine.kubelet.empty()) json["kubelet"] = machine.kubelet;
  if (machine.disk) {
    json["disk"] = {{"filesystem", to_string(machine.disk->filesystem)},
                    {"size", machine.disk->size},
                    {"folder", machine.disk->folder}};
  }
  return json;
}

Json copy_json(const MachineCopy& copy, const std::string& source) {
  Json json = {{"source", source},
               {"machine", machine_json(copy.machine)},
               {"offline", copy.offline.to_string()},
               {"cpus", Json::array()},
               {"nodes", Json::array()},
               {"differences", Json::array()}};
  for (const auto& cpu : copy.cpus) json["cpus"].push_back(cpu ? Json(cpu->value) : Json());
  for (const NumaId node : copy.nodes) json["nodes"].push_back(node.value);
  for (const CopyDifference& one : copy.differences) {
    json["differences"].push_back(
        {{"field", one.field}, {"source", one.source}, {"copy", one.copy}});
  }
  return json;
}

}  // namespace pinfold::harness
