#include "pinfold/picture/numa_use.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "parts.hpp"

namespace pinfold::tools {
namespace {

/// Draws a bar of held, reserved and free memory; held and reserved get at least one character.
std::string bar_text(const MemoryUse& memory, const Style& style) {
  constexpr std::uint64_t kBarWidth = 10;
  if (memory.total == 0) return "";
  const auto length = [&](std::uint64_t bytes) {
    if (bytes == 0) return std::uint64_t{0};
    const double share = static_cast<double>(bytes) / static_cast<double>(memory.total);
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(share * 10.0)));
  };
  const std::uint64_t held = std::min(kBarWidth, length(memory.held));
  const std::uint64_t reserved = std::min(kBarWidth - held, length(memory.reserved));
  const Glyphs& g = glyphs(style);
  std::string text;
  for (std::uint64_t i = 0; i < kBarWidth; ++i) {
    text += g.fill[i < held ? 0 : i < held + reserved ? 1 : 2];
  }
  return text;
}

std::string bars_note(const Style& style, bool has_bars, bool has_kernel) {
  const Glyphs& g = glyphs(style);
  std::string note;
  if (has_bars) {
    note = fmt::format("use: {} held by containers, {} reserved, {} free", g.fill[0], g.fill[1],
                       g.fill[2]);
  }
  if (has_kernel) note += (note.empty() ? "" : "; ") + std::string("kernel: free for the kernel");
  return note;
}

}  // namespace

std::uint64_t free_bytes(const MemoryUse& memory) {
  return memory.total - std::min(memory.total, memory.reserved + memory.held);
}

FreeCpus free_cpus(const Machine& machine, const Overlay& overlay, const CpuSet& among) {
  FreeCpus free;
  for (const CpuId cpu : among) {
    const std::size_t entry = entry_of(overlay, cpu);
    if (entry != kNoEntry && overlay.entries[entry].use == CpuUse::kShared) free.cpus.insert(cpu);
  }
  for (const Machine::Group& core : machine.cores()) {
    const std::size_t here = core.cpus.count_common(free.cpus);
    if (here == core.cpus.size()) {
      ++free.whole_cores;
    } else {
      free.in_parts += here;
    }
  }
  return free;
}

std::vector<std::string> fragmentation(const Machine& machine, const Picture& picture) {
  const FreeCpus all = free_cpus(machine, picture.overlay, machine.all_cpus());
  std::size_t most_cpus = 0;
  std::uint64_t bytes = 0;
  std::uint64_t most_bytes = 0;
  for (int numa = 0; numa < machine.numa_count(); ++numa) {
    const CpuSet& cpus = machine.cpus_of_numa(numa);
    most_cpus = std::max(most_cpus, free_cpus(machine, picture.overlay, cpus).cpus.size());
    const auto position = static_cast<std::size_t>(numa);
    if (position >= picture.numa.size() || picture.numa[position].memory.empty()) continue;
    const std::uint64_t here = free_bytes(picture.numa[position].memory.front());
    bytes += here;
    most_bytes = std::max(most_bytes, here);
  }
  const bool has_several = machine.numa_count() > 1;
  std::string cpu_text = fmt::format("Free: {}", counted(all.cpus.size(), "CPU"));
  if (!all.cpus.empty()) {
    cpu_text += fmt::format(" ({}", counted(all.whole_cores, "whole core"));
    cpu_text += all.in_parts > 0 ? fmt::format(", {} in split cores)", all.in_parts) : ")";
    if (has_several) cpu_text += fmt::format(", at most {} on one NUMA node", most_cpus);
  }
  if (!picture.assigns_memory) {
    return {std::move(cpu_text), "Memory: not assigned (memoryManagerPolicy None)"};
  }
  std::string memory_text = fmt::format("Free: {} of memory", human_bytes(bytes));
  if (has_several && bytes > 0) {
    memory_text += fmt::format(", at most {} on one NUMA node", human_bytes(most_bytes));
  }
  return {std::move(cpu_text), std::move(memory_text)};
}

std::string draw_numa_use(const Machine& machine, const Picture& picture) {
  constexpr std::size_t kWide = 90;
  if (picture.numa.empty()) return "";
  using Align = TextTable::Align;
  const Style& style = picture.style;
  TextTable table({{"NUMA", Align::kRight},
                   {"CPUs", Align::kRight},
                   {"free", Align::kRight},
                   {"load", Align::kRight},
                   {"pages"},
                   {"size", Align::kRight},
                   {"held", Align::kRight},
                   {"free", Align::kRight},
                   {"use"},
                   {"kernel", Align::kRight}});
  // A narrow terminal has no room for bars next to the loads.
  const bool has_bars = picture.assigns_memory && (picture.load.empty() || style.width >= kWide);
  bool has_kernel = false;
  for (std::size_t i = 0; i < picture.numa.size(); ++i) {
    const int numa = static_cast<int>(i);
    const CpuSet& cpus = machine.cpus_of_numa(numa);
    const auto load = load_of(picture, cpus);
    std::vector<std::string> cells = {
        paint(style, Paint::kBold, std::to_string(machine.numa_id(numa).value)),
        std::to_string(cpus.size()),
        std::to_string(free_cpus(machine, picture.overlay, cpus).cpus.size()),
        load ? fmt::format("{:.0f} %", *load * 100) : ""};
    for (const MemoryUse& memory : picture.numa[i].memory) {
      cells.resize(4);
      cells.insert(cells.end(), {memory.kind, human_bytes(memory.total),
                                 picture.assigns_memory ? human_bytes(memory.held) : "",
                                 picture.assigns_memory ? human_bytes(free_bytes(memory)) : "",
                                 has_bars ? bar_text(memory, style) : "",
                                 memory.kernel_free ? human_bytes(*memory.kernel_free) : ""});
      has_kernel = has_kernel || memory.kernel_free.has_value();
      table.add_painted(cells);
      cells.assign(4, "");
    }
  }
  std::string out = "\n" + table.render(style, 2);
  const std::string note = bars_note(style, has_bars, has_kernel);
  if (!note.empty()) out += "  " + paint(style, Paint::kDim, note) + "\n";
  for (const std::string& line : fragmentation(machine, picture)) out += line + "\n";
  for (std::size_t i = 0; i < picture.numa.size(); ++i) {
    const NumaUse& use = picture.numa[i];
    if (!use.in_large_blocks || use.memory.empty() || !use.memory.front().kernel_free) continue;
    out +=
        fmt::format("NUMA {}: {} of the kernel's {} free are in blocks of 2Mi or more\n",
                    machine.numa_id(static_cast<int>(i)).value, human_bytes(*use.in_large_blocks),
                    human_bytes(*use.memory.front().kernel_free));
  }
  return out;
}

}  // namespace pinfold::tools
