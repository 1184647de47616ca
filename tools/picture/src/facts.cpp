#include "facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace pinfold::tools {
namespace {

// Wider matrices do not fit a terminal.
constexpr std::size_t kMaxMatrix = 20;

/// Returns the NUMA nodes at each distance, nearest first: "10: 0  21: 1-3".
std::string distance_list(const Machine& machine, const std::vector<std::uint32_t>& row,
                          const Style& style) {
  std::map<std::uint32_t, CpuSet> nodes;  // the same list format
  for (std::size_t i = 0; i < row.size(); ++i)
    nodes[row[i]].insert(CpuId{machine.numa_nodes()[i].id.value});
  std::string out;
  for (const auto& [distance, list] : nodes) {
    out += fmt::format("{}{}: {}", out.empty() ? "" : "  ",
                       paint(style, Paint::kDim, std::to_string(distance)), list.to_string());
  }
  return out;
}

/// Returns the distance within a NUMA node and to other nodes, if these are the same everywhere.
std::optional<std::pair<std::uint32_t, std::uint32_t>> uniform_distances(
    const std::vector<NumaNode>& nodes) {
  if (nodes.size() < 2 || nodes[0].distances.empty()) return std::nullopt;
  const std::uint32_t local = nodes[0].distances[0];
  const std::uint32_t remote = nodes[0].distances[1];
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].distances.empty()) return std::nullopt;
    for (std::size_t j = 0; j < nodes.size(); ++j) {
      if (nodes[i].distances[j] != (i == j ? local : remote)) return std::nullopt;
    }
  }
  return std::pair(local, remote);
}

/// Returns "10 within a node, 16 to 32 to others".
std::string distance_range(const std::vector<NumaNode>& nodes) {
  std::set<std::uint32_t> local;
  std::set<std::uint32_t> remote;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (std::size_t j = 0; j < nodes[i].distances.size(); ++j) {
      (i == j ? local : remote).insert(nodes[i].distances[j]);
    }
  }
  const auto range = [](const std::set<std::uint32_t>& all) {
    return all.size() == 1 ? std::to_string(*all.begin())
                           : fmt::format("{} to {}", *all.begin(), *all.rbegin());
  };
  return fmt::format("{} within a node, {} to others", range(local), range(remote));
}

std::string distances(const Machine& machine, const Style& style, std::size_t most) {
  const auto& nodes = machine.numa_nodes();
  const bool known = std::any_of(nodes.begin(), nodes.end(),
                                 [](const NumaNode& node) { return !node.distances.empty(); });
  if (nodes.size() < 2) return "";
  const std::string title = "\n" + paint(style, Paint::kBold, "NUMA distances");
  if (!known) return title + "   unknown\n";
  if (const auto both = uniform_distances(nodes)) {
    return fmt::format("{}   {} within a node, {} to {}\n", title, both->first, both->second,
                       nodes.size() == 2 ? "the other" : "every other");
  }
  if (nodes.size() > most) return fmt::format("{}   {}\n", title, distance_range(nodes));
  if (nodes.size() > kMaxMatrix) {
    TextTable table({{"from", TextTable::Align::kRight}, {"distance: to nodes"}});
    for (const NumaNode& node : nodes) {
      table.add_painted(
          {std::to_string(node.id.value), distance_list(machine, node.distances, style)});
    }
    return title + "\n" + table.render(style, 2);
  }
  std::vector<TextTable::Column> columns = {{"from/to", TextTable::Align::kRight}};
  for (const NumaNode& node : nodes) {
    columns.push_back({std::to_string(node.id.value), TextTable::Align::kRight});
  }
  TextTable table(std::move(columns));
  for (const NumaNode& node : nodes) {
    std::vector<std::string> row = {paint(style, Paint::kDim, std::to_string(node.id.value))};
    for (const std::uint32_t distance : node.distances) row.push_back(std::to_string(distance));
    table.add_painted(std::move(row));
  }
  return title + "\n" + table.render(style, 2);
}

std::string pci_table(const std::vector<PciDevice>& devices, const Style& style) {
  std::vector<PciDevice> shown;
  std::copy_if(devices.begin(), devices.end(), std::back_inserter(shown), is_workload_device);
  // By NUMA node; devices that are near to none come last.
  std::stable_sort(shown.begin(), shown.end(), [](const PciDevice& a, const PciDevice& b) {
    if (a.numa_nodes.empty() != b.numa_nodes.empty()) return b.numa_nodes.empty();
    return a.numa_nodes < b.numa_nodes;
  });
  TextTable table({{"NUMA"}, {"address"}, {"kind"}, {"vendor:device"}, {"name"}});
  std::string last = "?";
  for (const PciDevice& device : shown) {
    CpuSet nodes;  // the same list format
    for (const NumaId id : device.numa_nodes) nodes.insert(CpuId{id.value});
    const std::string list = nodes.empty() ? "any" : nodes.to_string();
    const std::string id = device.vendor == 0 && device.device == 0
                               ? ""
                               : fmt::format("{:04x}:{:04x}", device.vendor, device.device);
    table.add({list == last ? "" : list, device.address,
               std::string(pci_class_name(device.class_id)), id,
               fmt::format("{}", fmt::join(device.names, " "))});
    last = list;
  }
  std::string out = "\n" + paint(style, Paint::kBold, "PCI devices");
  const std::size_t others = devices.size() - shown.size();
  if (table.empty()) {
    out += others == 0
               ? "   none\n"
               : fmt::format("   none for workloads, {} of the system\n", counted(others, "other"));
    return out;
  }
  out += "\n" + table.render(style, 2);
  if (others > 0) {
    out += "  " + paint(style, Paint::kDim, fmt::format("and {} of the system", others)) + "\n";
  }
  return out;
}

}  // namespace

std::string more_facts(const Machine& machine, const Picture& picture, std::size_t most) {
  return distances(machine, picture.style, most) +
         (picture.pci ? pci_table(*picture.pci, picture.style) : "");
}

}  // namespace pinfold::tools
