#include "topology_picture.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "pinfold/text/message.hpp"
#include "topology_parts.hpp"

namespace pinfold::tools {
namespace {

// More boxes than this would fill several screens.
constexpr std::size_t kMaxBoxedCpus = 64;
constexpr std::size_t kMaxBoxedParts = 16;
// More characters than this would, too.
constexpr std::size_t kMaxDenseCpus = 512;
// Wider matrices do not fit a terminal.
constexpr std::size_t kMaxMatrix = 20;

std::string headline(const Machine& machine, const Style& style) {
  const std::string name =
      machine.name().empty() ? "" : paint(style, Paint::kBold, machine.name()) + "   ";
  return name + machine_facts(machine, glyphs(style).dot) + "\n";
}

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

std::string distances(const Machine& machine, const Style& style) {
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

std::string legend(const Picture& picture) {
  const Overlay& overlay = picture.overlay;
  const Style& style = picture.style;
  if (overlay.entries.empty()) return "";
  // Limits the width of the list of CPUs, so that the rest of the line fits.
  std::size_t text = 0;
  for (const Overlay::Entry& entry : overlay.entries) {
    text = std::max(text, display_width(entry.text) + display_width(entry.memory));
  }
  const std::size_t list = style.width - std::min(style.width - 30, text + 20);
  TextTable table({{""}, {"CPUs"}, {"load", TextTable::Align::kRight}, {"used by"}, {"memory"}});
  for (std::size_t i = 0; i < overlay.entries.size(); ++i) {
    const Overlay::Entry& entry = overlay.entries[i];
    const auto load = load_of(picture, entry.cpus);
    const auto lines = wrapped_list(entry.cpus.empty() ? "none" : entry.cpus.to_string(), list);
    table.add_painted({paint(style, paint_of(overlay, i), entry.label), lines.front(),
                       load ? fmt::format("{:.0f} %", *load * 100) : "", escaped(entry.text),
                       escaped(entry.memory)});
    for (std::size_t line = 1; line < lines.size(); ++line) table.add({"", lines[line]});
  }
  for (const Overlay::Mark& mark : overlay.marks) {
    const auto lines = wrapped_list(mark.cpus.to_string(), list);
    if (lines.empty()) continue;
    table.add_painted(
        {paint(style, Paint::kRed, mark.sign), lines.front(), "", escaped(mark.text)});
    for (std::size_t line = 1; line < lines.size(); ++line) table.add({"", lines[line]});
  }
  return "\n" + table.render(style, 2);
}

}  // namespace

std::string overlay_label(std::size_t index) {
  constexpr std::size_t kLetters = 26;
  std::string label;
  for (std::size_t rest = index + 1; rest > 0; rest = (rest - 1) / kLetters) {
    label.insert(label.begin(), static_cast<char>('a' + (rest - 1) % kLetters));
  }
  return label;
}

std::size_t label_index(std::string_view label) {
  constexpr std::size_t kLetters = 26;
  std::size_t index = 0;
  for (const char c : label) {
    if (c < 'a' || c > 'z') return 0;
    index = index * kLetters + static_cast<std::size_t>(c - 'a') + 1;
  }
  return index == 0 ? 0 : index - 1;
}

std::string more_facts(const Machine& machine, const Picture& picture) {
  return distances(machine, picture.style) +
         (picture.pci ? pci_table(*picture.pci, picture.style) : "");
}

std::string render_node(const Machine& machine, const Picture& picture) {
  const Style& style = picture.style;
  const Layout layout = lay_out(machine);
  const std::size_t cpus = machine.cpus().size();
  std::string out = headline(machine, style) + "\n";
  if (cpus <= kMaxBoxedCpus && layout.parts.size() <= kMaxBoxedParts) {
    out += draw_boxes(machine, make_scene(machine, layout), picture);
  } else if (cpus <= kMaxDenseCpus && !picture.overlay.entries.empty()) {
    out += draw_dense(make_scene(machine, layout), picture);
  } else {
    out += draw_table(machine, layout, picture);
  }
  out += legend(picture);
  out += draw_numa_use(machine, picture);
  return out + more_facts(machine, picture);
}

}  // namespace pinfold::tools
