#pragma once

#include <string>
#include <vector>

#include "pinfold/machine/machine.hpp"
#include "topology_picture.hpp"

namespace pinfold::tools {

/// CPUs that share socket, NUMA node and last-level cache, with their cores.
struct Part {
  std::int32_t socket = -1;
  int numa = -1;  ///< position
  std::int32_t l3 = -1;
  CpuSet cpus;
  std::vector<CpuSet> cores;
};

/// A machine divided into parts. Usually a socket contains NUMA nodes; in some machines a NUMA node
/// contains sockets.
struct Layout {
  bool numa_outside = false;
  std::vector<Part> parts;  ///< by outer, inner and cache
};
[[nodiscard]] Layout lay_out(const Machine& machine);

struct Glyphs {
  std::string dot;         ///< between the facts on a line
  std::string times;       ///< 2 x 4
  std::string line;        ///< horizontal
  std::string bar;         ///< vertical
  std::string corners[4];  ///< of frames: top left, top right, bottom left, bottom right
  std::string top[3];      ///< of boxes: left, between, right
  std::string middle[3];
  std::string bottom[3];
};
[[nodiscard]] const Glyphs& glyphs(const Style& style);

/// The colour of an entry of an overlay.
[[nodiscard]] Paint paint_of(const Overlay& overlay, std::size_t entry);
/// The first entry that contains a CPU, or kNoEntry.
[[nodiscard]] std::size_t entry_of(const Overlay& overlay, CpuId cpu);
inline constexpr std::size_t kNoEntry = static_cast<std::size_t>(-1);

/// "8 x 2": cores of a part and their threads.
[[nodiscard]] std::string cores_and_threads(const Part& part, const Style& style);
/// "16 GiB  huge pages 2Mi 1 GiB, 1Gi 0".
[[nodiscard]] std::string memory_of(const NumaNode& node);

[[nodiscard]] std::string draw_boxes(const Machine& machine, const Layout& layout,
                                     const Picture& picture);
[[nodiscard]] std::string draw_table(const Machine& machine, const Layout& layout,
                                     const Picture& picture);

}  // namespace pinfold::tools
