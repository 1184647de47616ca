#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/discover/pci.hpp"
#include "pinfold/machine/machine.hpp"
#include "text.hpp"

namespace pinfold::tools {

/// The use of a CPU. Each use has a colour on a terminal.
enum class CpuUse { kShared, kReserved, kExclusive };

/// The owners of CPUs, drawn into the picture of a node.
struct Overlay {
  /// One line of the legend. Its label is printed under its CPUs: best one character, "a".
  struct Entry {
    std::string label;
    CpuUse use = CpuUse::kExclusive;
    std::string text;  ///< "default/db/main", "shared pool"
    CpuSet cpus;
  };
  /// In the order of the legend; a CPU in two entries is drawn with the first.
  std::vector<Entry> entries;
};

/// Labels for entries in the order of the legend: a to z, then aa, ab and so on.
[[nodiscard]] std::string overlay_label(std::size_t index);

/// Everything in a picture except the machine.
struct Picture {
  Style style;
  Overlay overlay;
  /// Shown with their NUMA nodes; nullopt: not shown.
  std::optional<std::vector<PciDevice>> pci;
};

/// The node as text for people: sockets, NUMA nodes with memory and huge pages, last-level caches,
/// cores with their SMT siblings, distances, PCI devices. Draws every core of machines with up to
/// 64 CPUs, and a table with lists of CPUs for larger ones.
[[nodiscard]] std::string render_node(const Machine& machine, const Picture& picture);

}  // namespace pinfold::tools
