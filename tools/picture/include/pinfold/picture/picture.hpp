#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/discover/pci.hpp"
#include "pinfold/picture/text.hpp"
#include "pinfold/types/pod_ref.hpp"

namespace pinfold::tools {

/// The use of a CPU. Each use has a colour on a terminal.
enum class CpuUse { kShared, kReserved, kExclusive, kOffline };
/// Returns "shared", "reserved", "exclusive" or "offline".
[[nodiscard]] std::string_view to_string(CpuUse use);

/// The owners of CPUs, drawn into the picture of a node.
struct Overlay {
  /// One line of the legend. Its label is printed under its CPUs, so it should be short: "a".
  struct Entry {
    std::string label;
    CpuUse use = CpuUse::kExclusive;
    std::string text;  ///< "default/db/main", "shared pool"
    CpuSet cpus;
    std::string memory = {};  ///< "2Gi on NUMA 0"; "": not shown
    /// The container that has the CPUs exclusively; its name is "" for a pod shared pool.
    std::optional<ContainerRef> owner = std::nullopt;
  };
  /// In the order of the legend; a CPU in two entries is drawn with the first one.
  std::vector<Entry> entries;

  /// CPUs that are marked with a sign of one character after the label.
  struct Mark {
    std::string sign;  ///< "!"
    std::string text;  ///< "drift"
    CpuSet cpus;
    bool is_problem = true;  ///< false: a change that is planned or possible
  };
  std::vector<Mark> marks = {};
};

/// Returns the label of an entry by its position in the legend: a to z, then aa, ab and so on.
[[nodiscard]] std::string overlay_label(std::size_t index);
/// Returns the first entry that contains a CPU, or kNoEntry.
[[nodiscard]] std::size_t entry_of(const Overlay& overlay, CpuId cpu);
inline constexpr std::size_t kNoEntry = static_cast<std::size_t>(-1);

/// The use of one kind of memory of a NUMA node, in bytes.
struct MemoryUse {
  std::string kind;  ///< "4Ki" for regular memory, else the size of the huge pages: "2Mi"
  std::uint64_t total = 0;
  std::uint64_t reserved = 0;  ///< for the system
  std::uint64_t held = 0;      ///< allocated to containers
  /// The kernel's free memory, as printed by `numactl -H`.
  std::optional<std::uint64_t> kernel_free = {};
};
/// The memory of a NUMA node.
struct NumaUse {
  std::vector<MemoryUse> memory;  ///< regular memory first
  /// Bytes of the kernel's free memory in blocks of at least 2 MiB.
  std::optional<std::uint64_t> in_large_blocks = {};
};

/// Everything in a picture except the machine.
struct Picture {
  Style style;
  Overlay overlay;
  /// Shown with their NUMA nodes; nullopt: not shown.
  std::optional<std::vector<PciDevice>> pci = std::nullopt;
  /// By position of the NUMA node; empty: no table of free CPUs and memory.
  std::vector<NumaUse> numa = {};
  /// False: no memory manager assigns memory, so nothing is known of what containers hold.
  bool assigns_memory = true;
  /// Load of CPUs, 0 to 1; empty: not shown.
  std::map<CpuId, double> load = {};
};

}  // namespace pinfold::tools
