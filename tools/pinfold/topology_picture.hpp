#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/discover/pci.hpp"
#include "pinfold/machine/machine.hpp"
#include "text.hpp"

namespace pinfold::tools {

/// What a CPU is used for. Each use has a colour on a terminal.
enum class CpuUse { kShared, kReserved, kExclusive };

/// What is drawn over the CPUs of a node: who has them.
struct Overlay {
  /// One line of the legend. Its label stands under its CPUs, so it is best one character: "a".
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

/// Everything about a picture but the machine.
struct Picture {
  Style style;
  Overlay overlay;
  /// Shown with their NUMA nodes; nullopt: not asked for.
  std::optional<std::vector<PciDevice>> pci;
};

/// The node as text for people: sockets, NUMA nodes with memory and huge pages, last-level caches,
/// cores with their SMT siblings, distances, PCI devices. Up to 64 CPUs every core is drawn; above,
/// lists of CPUs stand in a table.
[[nodiscard]] std::string render_node(const Machine& machine, const Picture& picture);

}  // namespace pinfold::tools
