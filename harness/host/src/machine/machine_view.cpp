#include "pinfold/harness/machine_view.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "pinfold/harness/json.hpp"

namespace pinfold::harness {
namespace {

/// A row of the table: "node 1 cpus", "4-7".
using Fact = std::pair<std::string, std::string>;

std::string text_of(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end() || found->is_null()) return "";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

const Json& list_of(const Json& object, const char* key) {
  static const Json kEmpty = Json::array();
  if (!object.is_object()) return kEmpty;
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : kEmpty;
}

/// Returns the distinct values of a field of the CPUs, in order of first appearance: "0-1 2-3".
std::string groups(const Json& machine, const char* field) {
  std::vector<std::string> seen;
  for (const Json& cpu : list_of(machine, "cpus")) {
    std::string value = text_of(cpu, field);
    if (!value.empty() && std::find(seen.begin(), seen.end(), value) == seen.end()) {
      seen.push_back(std::move(value));
    }
  }
  return fmt::format("{}", fmt::join(seen, " "));
}

std::string mebibytes(const std::string& bytes) {
  return bytes.empty() ? ""
                       : fmt::format("{} MiB", std::strtoull(bytes.c_str(), nullptr, 10) >> 20);
}

std::vector<Fact> facts_of(const Json& machine) {
  std::vector<Fact> facts = {{"kernel", text_of(machine, "kernel")},
                             {"cgroup of cpuset", text_of(machine, "cpuset")},
                             {"cgroup of cpu", text_of(machine, "cpu")},
                             {"online CPUs", text_of(machine, "online")}};
  std::map<std::string, CpuSet> sockets;
  for (const Json& cpu : list_of(machine, "cpus")) {
    const auto id = CpuSet::parse(text_of(cpu, "id"));
    const std::string socket = text_of(cpu, "package");
    if (id && !socket.empty()) sockets[socket] = sockets[socket] | *id;
  }
  for (const auto& [name, cpus] : sockets) {
    facts.emplace_back(fmt::format("socket {}", name), cpus.to_string());
  }
  facts.emplace_back("cores (SMT siblings)", groups(machine, "siblings"));
  facts.emplace_back("last-level caches", groups(machine, "cache"));
  for (const Json& node : list_of(machine, "nodes")) {
    const std::string name = fmt::format("node {} ", text_of(node, "id"));
    facts.emplace_back(name + "cpus", text_of(node, "cpus"));
    facts.emplace_back(name + "memory", mebibytes(text_of(node, "memory")));
    facts.emplace_back(name + "distances", text_of(node, "distances"));
  }
  return facts;
}

}  // namespace

Json requested_machine(const VmMachine& machine) {
  const CpuSet online = CpuSet::range(0, machine.cpu_count() - 1) - machine.absent;
  const auto block = [&](int id, int size) {
    if (size == 0) return std::string();
    const int first = id / size * size;
    return (CpuSet::range(first, first + size - 1) - machine.absent).to_string();
  };
  const bool old_cpu = machine.platform.cgroup != CgroupMode::kV2;
  Json view = {{"kernel", machine.platform.kernel},
               {"cpuset", machine.platform.cgroup == CgroupMode::kV1 ? "v1" : "v2"},
               {"cpu", old_cpu ? "v1" : "v2"},
               {"online", online.to_string()},
               {"cpus", Json::array()},
               {"nodes", Json::array()},
               {"devices", fmt::format("{}", fmt::join(machine.devices, " "))},
               {"networkCards", machine.network_cards}};
  for (const CpuId cpu : online) {
    const int id = cpu.value;
    const int core = id / machine.threads;
    const int die = core / machine.cores;
    const auto node = std::find_if(machine.nodes.begin(), machine.nodes.end(),
                                   [&](const VmNode& one) { return one.cpus.contains(cpu); });
    view["cpus"].push_back(
        {{"id", id},
         {"package", std::to_string(die / machine.dies)},
         {"die", std::to_string(die % machine.dies)},
         {"core", std::to_string(core % machine.cores)},
         {"siblings", block(id, machine.threads)},
         {"cache", block(id, cpus_per_cache(machine))},
         {"node", node == machine.nodes.end() ? -1 : node - machine.nodes.begin()}});
  }
  for (std::size_t i = 0; i < machine.nodes.size(); ++i) {
    Json huge_pages = Json::object();
    for (const auto& [size, pages] : machine.nodes[i].huge_pages) {
      huge_pages[std::to_string(size / 1024)] = std::to_string(pages);
    }
    view["nodes"].push_back(
        {{"id", i},
         {"cpus", (machine.nodes[i].cpus - machine.absent).to_string()},
         {"hugepages", huge_pages},
         {"memory", machine.nodes[i].memory},
         {"distances", fmt::format("{}", fmt::join(machine.distances[i], " "))}});
  }
  return view;
}

std::string machine_table(const Json& requested, const Json& guest) {
  std::vector<std::array<std::string, 3>> lines = {{"", "requested", "the guest's kernel has"}};
  std::vector<Fact> theirs = facts_of(guest);
  for (const auto& [name, value] : facts_of(requested)) {
    const auto found = std::find_if(theirs.begin(), theirs.end(),
                                    [&, &key = name](const Fact& one) { return one.first == key; });
    lines.push_back({name, value, found == theirs.end() ? "" : found->second});
    if (found != theirs.end()) theirs.erase(found);
  }
  for (const auto& [name, value] : theirs) lines.push_back({name, "", value});
  if (guest.is_null()) {
    for (auto& line : lines) line[2].clear();
  }
  std::array<std::size_t, 2> widths{};
  for (const auto& line : lines) {
    for (std::size_t c = 0; c < widths.size(); ++c) widths[c] = std::max(widths[c], line[c].size());
  }
  std::string table;
  for (const auto& line : lines) {
    if (line[1].empty() && line[2].empty()) continue;
    std::string text =
        fmt::format("{:<{}}  {:<{}}  {}", line[0], widths[0], line[1], widths[1], line[2]);
    text.erase(text.find_last_not_of(' ') + 1);
    table += text + "\n";
  }
  return table;
}

}  // namespace pinfold::harness
