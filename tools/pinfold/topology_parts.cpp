#include "topology_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

namespace pinfold::tools {

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
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, Part> parts;
  for (const Cpu& cpu : machine.cpus()) {
    const int numa = machine.groups_of(cpu.id).numa;
    const auto key = layout.numa_outside ? std::tuple(numa, cpu.socket.value, cpu.l3.value)
                                         : std::tuple(cpu.socket.value, numa, cpu.l3.value);
    Part& part = parts[key];
    part.socket = cpu.socket.value;
    part.numa = numa;
    part.l3 = cpu.l3.value;
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

const Glyphs& glyphs(const Style& style) {
  static const Glyphs kUnicode = {
      " · ",           " × ",          "─", "│", {"╭", "╮", "╰", "╯"}, {"┌", "┬", "┐"},
      {"├", "┼", "┤"}, {"└", "┴", "┘"}};
  static const Glyphs kAscii = {
      ", ",           " x ", "-", "|", {"+", "+", "+", "+"}, {"+", "+", "+"}, {"+", "+", "+"},
      {"+", "+", "+"}};
  return style.unicode ? kUnicode : kAscii;
}

std::size_t entry_of(const Overlay& overlay, CpuId cpu) {
  for (std::size_t i = 0; i < overlay.entries.size(); ++i) {
    if (overlay.entries[i].cpus.contains(cpu)) return i;
  }
  return kNoEntry;
}

Paint paint_of(const Overlay& overlay, std::size_t entry) {
  if (entry == kNoEntry) return Paint::kPlain;
  switch (overlay.entries[entry].use) {
    case CpuUse::kShared:
      return Paint::kGreen;
    case CpuUse::kReserved:
      return Paint::kYellow;
    case CpuUse::kExclusive:
      break;
  }
  // Neighbours in the legend get different colours.
  static constexpr std::array kCycle = {Paint::kMagenta, Paint::kCyan, Paint::kBlue, Paint::kRed};
  return kCycle[entry % kCycle.size()];
}

std::string cores_and_threads(const Part& part, const Style& style) {
  std::map<std::size_t, std::size_t, std::greater<>>
      cores;  // by threads per core: hybrid CPUs have two kinds of cores
  for (const CpuSet& core : part.cores) ++cores[core.size()];
  std::string out;
  for (const auto& [threads, count] : cores) {
    out += fmt::format("{}{}{}{}", out.empty() ? "" : " + ", count, glyphs(style).times, threads);
  }
  return out;
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

}  // namespace pinfold::tools
