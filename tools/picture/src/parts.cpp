#include "parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

namespace pinfold::tools {
namespace {

/// Returns the position of a CPU's kind of core; that after the last if it is of none.
std::size_t kind_of(const Machine& machine, CpuId cpu) {
  const auto& kinds = machine.description().core_kinds;
  if (!kinds) return 0;
  const auto found = std::find_if(kinds->begin(), kinds->end(),
                                  [&](const CoreKind& kind) { return kind.cpus.contains(cpu); });
  return static_cast<std::size_t>(found - kinds->begin());
}

std::string name_of_kind(const Machine& machine, std::size_t kind) {
  const auto& kinds = machine.description().core_kinds;
  return kinds && kind < kinds->size() ? (*kinds)[kind].name : "";
}

}  // namespace

Layout lay_out(const Machine& machine) {
  std::map<int, std::set<std::int32_t>> sockets_of_numa;
  std::map<std::int32_t, std::set<int>> numa_of_socket;
  for (const Cpu& cpu : machine.cpus()) {
    const int numa = machine.groups_of(cpu.id).numa;
    sockets_of_numa[numa].insert(cpu.socket.value);
    numa_of_socket[cpu.socket.value].insert(numa);
  }
  const auto several = [](const auto& entry) { return entry.second.size() > 1; };
  Layout layout;
  layout.numa_outside = std::any_of(sockets_of_numa.begin(), sockets_of_numa.end(), several) &&
                        std::none_of(numa_of_socket.begin(), numa_of_socket.end(), several);
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t, std::size_t>, MachinePart> parts;
  for (const Cpu& cpu : machine.cpus()) {
    const int numa = machine.groups_of(cpu.id).numa;
    const std::size_t kind = kind_of(machine, cpu.id);
    const auto key = layout.numa_outside ? std::tuple(numa, cpu.socket.value, cpu.l3.value, kind)
                                         : std::tuple(cpu.socket.value, numa, cpu.l3.value, kind);
    MachinePart& part = parts[key];
    part.socket = cpu.socket.value;
    part.numa = numa;
    part.l3 = cpu.l3.value;
    part.kind = name_of_kind(machine, kind);
    part.cpus.insert(cpu.id);
  }
  for (auto& [key, part] : parts) {
    std::map<CoreId, CpuSet> cores_here;
    for (const CpuId cpu : part.cpus) cores_here[machine.find(cpu)->core].insert(cpu);
    for (auto& [core, cpus] : cores_here) part.cores.push_back(std::move(cpus));
    layout.parts.push_back(std::move(part));
  }
  return layout;
}

namespace {

Scene::Title title_of_socket(std::int32_t socket) {
  return {socket < 0 ? "socket unknown" : fmt::format("socket {}", socket), "", -1};
}

Scene::Title title_of_numa(const Machine& machine, int numa) {
  const NumaNode& node = machine.numa_nodes()[static_cast<std::size_t>(numa)];
  return {fmt::format("NUMA {}", node.id.value), memory_of(node), numa};
}

}  // namespace

std::string Scene::Cache::title() const {
  return name + (name.empty() || kind.empty() ? "" : " ") + kind;
}

Scene make_scene(const Machine& machine, const Layout& layout) {
  Scene scene;
  const MachinePart* last = nullptr;
  for (const MachinePart& part : layout.parts) {
    const bool new_socket = last == nullptr || last->socket != part.socket;
    const bool new_numa = last == nullptr || last->numa != part.numa;
    Scene::Title socket = title_of_socket(part.socket);
    Scene::Title numa = title_of_numa(machine, part.numa);
    if (layout.numa_outside) std::swap(socket, numa);  // outer and inner
    if (layout.numa_outside ? new_numa : new_socket) {
      scene.outers.push_back({std::move(socket), {}});
    }
    Scene::Outer& outer = scene.outers.back();
    if (new_numa || new_socket) outer.inners.push_back({std::move(numa), {}});
    const bool has_cache = machine.description().has_cache_info;
    outer.inners.back().caches.push_back(
        {has_cache ? fmt::format("L3 {}", part.l3) : "", part.kind, part.cores});
    last = &part;
  }
  Scene::Outer bare{{"NUMA nodes without CPUs", "", -1}, {}};
  for (int numa = 0; numa < machine.numa_count(); ++numa) {
    if (machine.cpus_of_numa(numa).empty()) {
      bare.inners.push_back({title_of_numa(machine, numa), {}});
    }
  }
  if (!bare.inners.empty()) scene.outers.push_back(std::move(bare));
  return scene;
}

const Glyphs& glyphs(const Style& style) {
  static const Glyphs kUnicode = {" · ",
                                  " × ",
                                  "─",
                                  "│",
                                  {"╭", "╮", "╰", "╯"},
                                  {"┌", "┬", "┐"},
                                  {"├", "┼", "┤"},
                                  {"└", "┴", "┘"},
                                  {"█", "▒", "·"},
                                  {"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}};
  static const Glyphs kAscii = {", ",
                                " x ",
                                "-",
                                "|",
                                {"+", "+", "+", "+"},
                                {"+", "+", "+"},
                                {"+", "+", "+"},
                                {"+", "+", "+"},
                                {"#", "=", "."},
                                {"0", "1", "2", "3", "4", "5", "6", "7", "8"}};
  return style.unicode ? kUnicode : kAscii;
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

std::string label_of(const Overlay& overlay, CpuId cpu) {
  const std::size_t entry = entry_of(overlay, cpu);
  return entry == kNoEntry ? "" : overlay.entries[entry].label;
}

const Overlay::Mark* mark_of(const Overlay& overlay, CpuId cpu) {
  for (const Overlay::Mark& mark : overlay.marks) {
    if (mark.cpus.contains(cpu)) return &mark;
  }
  return nullptr;
}

std::string sign_of(const Overlay& overlay, CpuId cpu) {
  const Overlay::Mark* const mark = mark_of(overlay, cpu);
  return mark == nullptr ? "" : mark->sign;
}

std::optional<double> load_of(const Picture& picture, const CpuSet& cpus) {
  double sum = 0;
  std::size_t count = 0;
  for (const CpuId cpu : cpus) {
    const auto load = picture.load.find(cpu);
    if (load == picture.load.end()) continue;
    sum += load->second;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

std::string load_glyph(const Picture& picture, CpuId cpu) {
  const auto load = picture.load.find(cpu);
  if (load == picture.load.end()) return " ";
  constexpr double kBusiest = 8;
  const double step = std::clamp(load->second, 0.0, 1.0) * kBusiest + 0.5;
  return glyphs(picture.style).loads[static_cast<std::size_t>(step)];
}

Paint paint_of(const Overlay& overlay, std::size_t entry) {
  if (entry == kNoEntry) return Paint::kPlain;
  switch (overlay.entries[entry].use) {
    case CpuUse::kShared:
      return Paint::kGreen;
    case CpuUse::kReserved:
      return Paint::kYellow;
    case CpuUse::kOffline:
      return Paint::kDim;
    case CpuUse::kExclusive:
      break;
  }
  // Neighbours in the legend get different colours.
  static constexpr std::array kCycle = {Paint::kMagenta, Paint::kCyan, Paint::kBlue, Paint::kRed};
  return kCycle[label_index(overlay.entries[entry].label) % kCycle.size()];
}

std::string cores_and_threads(const MachinePart& part, const Style& style) {
  std::map<std::size_t, std::size_t, std::greater<>>
      cores;  // by threads per core: hybrid CPUs have two kinds of cores
  for (const CpuSet& core : part.cores) ++cores[core.size()];
  std::string out;
  for (const auto& [threads, count] : cores) {
    out += fmt::format("{}{}{}{}", out.empty() ? "" : " + ", count, glyphs(style).times, threads);
  }
  return out + (part.kind.empty() ? "" : " ") + part.kind;
}

std::string memory_of(const NumaNode& node) {
  std::string out = node.memory == 0 ? "no memory" : human_bytes(node.memory);
  if (node.hugepages.empty()) return out;
  out += "   huge pages ";
  std::string separator;
  for (const auto& [resource, bytes] : node.hugepages) {
    const auto dash = resource.find('-');
    out += fmt::format("{}{}: {}", separator,
                       dash == std::string::npos ? resource : resource.substr(dash + 1),
                       human_bytes(bytes));
    separator = ", ";
  }
  return out;
}

std::string machine_facts(const Machine& machine, const std::string& dot) {
  std::string out = counted(machine.sockets().size(), "socket") + dot;
  out += counted(machine.numa_nodes().size(), "NUMA node") + dot;
  out += counted(machine.cores().size(), "core") + dot;
  out +=
      fmt::format("{} ({})", counted(machine.cpus().size(), "CPU"), machine.all_cpus().to_string());
  return out + dot + human_bytes(machine.memory());
}

std::string core_kinds(const Machine& machine) {
  const auto& kinds = machine.description().core_kinds;
  if (!kinds) return "";
  std::string out;
  for (const CoreKind& kind : *kinds) {
    out += fmt::format("{}{} {}", out.empty() ? "Kinds of cores: " : ", ", kind.name,
                       kind.cpus.to_string());
  }
  return out;
}

std::vector<std::string> wrapped_list(const std::string& list, std::size_t width) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < list.size();) {
    std::size_t end = std::min(list.size(), begin + std::max<std::size_t>(width, 1));
    if (end < list.size()) {
      const std::size_t comma = list.rfind(',', end - 1);
      // Does not break an item that is wider than a line.
      end = comma != std::string::npos && comma >= begin ? comma + 1 : list.find(',', end) + 1;
      if (end == 0) end = list.size();
    }
    lines.push_back(list.substr(begin, end - begin));
    begin = end;
  }
  return lines;
}

}  // namespace pinfold::tools
