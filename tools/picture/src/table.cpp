#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "drawings.hpp"

namespace pinfold::tools {
namespace {

/// Returns the users of the CPUs of a part, in lines of at most `width` columns: "a 0-3  s 4-7".
std::vector<std::string> users(const MachinePart& part, const Picture& picture, std::size_t width) {
  std::map<std::size_t, CpuSet> cpus;  // by entry; CPUs without a user are not listed
  for (const CpuId cpu : part.cpus) cpus[entry_of(picture.overlay, cpu)].insert(cpu);
  cpus.erase(kNoEntry);
  std::vector<std::string> lines(1);
  for (const auto& [entry, list] : cpus) {
    const std::string& label = picture.overlay.entries[entry].label;
    const std::size_t rest = width - std::min(width, label.size() + 1);
    bool is_first = true;
    for (const std::string& piece : wrapped_list(list.to_string(), rest)) {
      const std::string item = (is_first ? label : std::string(label.size(), ' ')) + " " + piece;
      const std::size_t gap = lines.back().empty() ? 0 : 2;
      if (gap > 0 && display_width(lines.back()) + gap + item.size() > width) {
        lines.emplace_back();
      } else if (gap > 0) {
        lines.back() += "  ";
      }
      lines.back() += paint(picture.style, paint_of(picture.overlay, entry), item);
      is_first = false;
    }
  }
  return lines;
}

/// Returns the width that the other columns of the table leave.
std::size_t width_of_users(const Layout& layout, const Picture& picture, std::size_t columns) {
  constexpr std::size_t kColumn = 8;  // with its gap
  constexpr std::size_t kLeast = 24;
  std::size_t list = 0;
  for (const MachinePart& part : layout.parts) list = std::max(list, part.cpus.to_string().size());
  const std::size_t others = kColumn * (columns - 2) + list;
  return std::max(kLeast, picture.style.width - std::min(picture.style.width, others));
}

/// Returns the page sizes of all NUMA nodes, sorted by name.
std::vector<std::string> page_sizes(const Machine& machine) {
  std::set<std::string> sizes;
  for (const NumaNode& node : machine.numa_nodes()) {
    for (const auto& [resource, bytes] : node.hugepages) sizes.insert(resource);
  }
  return {sizes.begin(), sizes.end()};
}

/// One row of the table: parts of one socket and NUMA node. Parts with a single core (POWER, where
/// every core has its own cache) share a row.
struct TopologyRow {
  MachinePart part;
  std::string caches;
  bool cache_each = false;
};

std::vector<TopologyRow> rows_of(const Layout& layout, int numa) {
  std::map<std::int32_t, std::vector<const MachinePart*>> by_socket;
  for (const MachinePart& part : layout.parts) {
    if (part.numa == numa) by_socket[part.socket].push_back(&part);
  }
  std::vector<TopologyRow> rows;
  for (const auto& [socket, parts] : by_socket) {
    const bool cache_each =
        parts.size() > 1 && std::all_of(parts.begin(), parts.end(), [](const MachinePart* part) {
          return part->cores.size() == 1 && part->kind.empty();
        });
    if (!cache_each) {
      for (const MachinePart* part : parts)
        rows.push_back({*part, std::to_string(part->l3), false});
      continue;
    }
    TopologyRow row{*parts.front(), "", true};
    CpuSet caches;  // the same list format
    for (const MachinePart* part : parts) {
      caches.insert(CpuId{part->l3});
      row.part.cpus |= part->cpus;
      if (part != parts.front()) row.part.cores.push_back(part->cpus);
    }
    row.caches = caches.to_string();
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

std::string draw_table(const Machine& machine, const Layout& layout, const Picture& picture) {
  using Align = TextTable::Align;
  // If the use of memory is known, another table shows it.
  const bool has_memory = picture.numa.empty();
  const auto sizes = has_memory ? page_sizes(machine) : std::vector<std::string>();
  std::vector<TextTable::Column> columns = {{"NUMA", Align::kRight}};
  if (has_memory) columns.push_back({"memory", Align::kRight});
  for (const std::string& size : sizes) {
    columns.push_back({size.substr(size.find('-') + 1), Align::kRight});
  }
  columns.insert(
      columns.end(),
      {{"socket", Align::kRight}, {"L3", Align::kRight}, {"cores"}, {"CPUs"}, {"used by"}});
  const std::size_t users_width = width_of_users(layout, picture, columns.size());
  TextTable table(std::move(columns));
  const auto node_cells = [&](const NumaNode& node) {
    std::vector<std::string> cells = {
        paint(picture.style, Paint::kBold, std::to_string(node.id.value))};
    if (has_memory) cells.push_back(human_bytes(node.memory));
    for (const std::string& size : sizes) {
      const auto pages = node.hugepages.find(size);
      cells.push_back(pages == node.hugepages.end() ? "-" : human_bytes(pages->second));
    }
    return cells;
  };
  for (int numa = 0; numa < machine.numa_count(); ++numa) {
    const NumaNode& node = machine.numa_nodes()[static_cast<std::size_t>(numa)];
    std::vector<std::string> cells = node_cells(node);
    if (machine.cpus_of_numa(numa).empty()) {
      cells.insert(cells.end(), {"-", "", "", "none"});
      table.add_painted(std::move(cells));
      continue;
    }
    std::optional<std::int32_t> last_socket;
    for (const auto& [part, caches, cache_each] : rows_of(layout, numa)) {
      if (last_socket) cells.assign((has_memory ? 2 : 1) + sizes.size(), "");
      const std::string socket = part.socket < 0 ? "?" : std::to_string(part.socket);
      cells.push_back(last_socket == part.socket ? "" : socket);
      cells.push_back(machine.description().has_cache_info ? caches : "");
      cells.push_back(cores_and_threads(part, picture.style) + (cache_each ? ", an L3 each" : ""));
      cells.push_back(part.cpus.to_string());
      const std::vector<std::string> lines = users(part, picture, users_width);
      cells.push_back(lines.front());
      table.add_painted(cells);
      for (std::size_t i = 1; i < lines.size(); ++i) {
        std::vector<std::string> more(cells.size(), "");
        more.back() = lines[i];
        table.add_painted(std::move(more));
      }
      last_socket = part.socket;
    }
  }
  return table.render(picture.style);
}

}  // namespace pinfold::tools
