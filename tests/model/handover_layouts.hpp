#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <istream>
#include <map>
#include <string>
#include <vector>

#include "pinfold/enforce/plan.hpp"

/// Layouts of the size of the model handover.pml, in the form that it prints.
namespace pinfold::enforce {

inline constexpr int kContainers = 3;
inline constexpr int kCpus = 4;
inline constexpr unsigned kNobody = 3;  ///< owner of the CPUs of the shared pool

/// Each container of the model is the only one of its pod.
inline GroupName container(int index) { return {PodUid(std::to_string(index)), "c"}; }

inline CpuSet cpus_of(unsigned mask) {
  CpuSet cpus;
  for (int cpu = 0; cpu < kCpus; ++cpu) {
    if (((mask >> static_cast<unsigned>(cpu)) & 1U) != 0) cpus.insert(CpuId{cpu});
  }
  return cpus;
}
inline unsigned mask_of(const CpuSet& cpus) {
  unsigned mask = 0;
  for (const CpuId cpu : cpus) mask |= 1U << static_cast<unsigned>(cpu.value);
  return mask;
}

inline void add_container(Layout& layout, int index, const CpuSet& cpus, Isolation isolation) {
  GroupSettings settings;
  settings.cpus = cpus;
  layout[container(index).parent()] = settings;
  settings.isolation = isolation;
  layout[container(index)] = settings;
}

/// " s14 x1 -": in the shared pool, exclusive, no group.
inline std::string text_of(const Layout& layout) {
  std::string text;
  for (int index = 0; index < kContainers; ++index) {
    const auto found = layout.find(container(index));
    text += found == layout.end()
                ? " -"
                : fmt::format(" {}{}", found->second.isolation == Isolation::kHost ? 's' : 'x',
                              mask_of(found->second.cpus));
  }
  return text;
}

inline Layout parse_layout(std::istream& in) {
  Layout layout;
  for (int index = 0; index < kContainers; ++index) {
    std::string word;
    in >> word;
    if (word == "-") continue;
    add_container(layout, index, cpus_of(static_cast<unsigned>(std::stoul(word.substr(1)))),
                  word[0] == 's' ? Isolation::kHost : Isolation::kContainer);
  }
  return layout;
}

/// Returns the kernel's sets, without knowledge of which CPUs are exclusive.
inline Layout kernel_layout(const std::array<unsigned, kContainers>& sets) {
  Layout layout;
  for (int index = 0; index < kContainers; ++index) {
    const unsigned set = sets.at(static_cast<std::size_t>(index));
    if (set != 0) add_container(layout, index, cpus_of(set), Isolation::kHost);
  }
  return layout;
}

/// The containers of a layout that run.
inline Layout running(const Layout& layout, unsigned started) {
  Layout result;
  for (int index = 0; index < kContainers; ++index) {
    const auto found = layout.find(container(index));
    const bool runs = ((started >> static_cast<unsigned>(index)) & 1U) != 0;
    if (runs && found != layout.end()) result.insert(*found);
  }
  return result;
}

/// Returns a decision. `owners`: see kNobody. `exists`: containers in the shared pool, without
/// exclusive CPUs.
inline Layout layout_of(const std::array<unsigned, kCpus>& owners, unsigned exists) {
  std::array<unsigned, kContainers + 1> masks{};
  for (unsigned cpu = 0; cpu < kCpus; ++cpu) masks.at(owners.at(cpu)) |= 1U << cpu;
  Layout layout;
  for (unsigned index = 0; index < kContainers; ++index) {
    const bool is_exclusive = masks.at(index) != 0;
    if (!is_exclusive && ((exists >> index) & 1U) == 0) continue;
    add_container(layout, static_cast<int>(index),
                  cpus_of(is_exclusive ? masks.at(index) : masks.at(kNobody)),
                  is_exclusive ? Isolation::kContainer : Isolation::kHost);
  }
  return layout;
}

/// Returns the decisions with these owners. Empty without a CPU in the shared pool, see
/// handover.pml.
inline std::vector<Layout> layouts_of(const std::array<unsigned, kCpus>& owners) {
  std::map<std::string, Layout> layouts;
  if (std::find(owners.begin(), owners.end(), kNobody) == owners.end()) return {};
  for (unsigned exists = 0; exists < 1U << kContainers; ++exists) {
    Layout layout = layout_of(owners, exists);
    layouts.emplace(text_of(layout), layout);
  }
  std::vector<Layout> all;
  for (const auto& [text, layout] : layouts) all.push_back(layout);
  return all;
}

}  // namespace pinfold::enforce
