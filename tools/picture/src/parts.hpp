#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/machine/machine.hpp"
#include "pinfold/picture/picture.hpp"

namespace pinfold::tools {

/// CPUs that share socket, NUMA node, last-level cache and kind of core, with their cores.
struct MachinePart {
  std::int32_t socket = -1;
  int numa = -1;  ///< position of the NUMA node
  std::int32_t l3 = -1;
  std::string kind;  ///< "performance"; "": all cores of the machine are alike
  CpuSet cpus;
  std::vector<CpuSet> cores;
};

/// A machine divided into parts. Usually a socket contains NUMA nodes; in some machines a NUMA node
/// contains sockets.
struct Layout {
  bool numa_outside = false;
  std::vector<MachinePart> parts;  ///< by outer, inner, cache and kind, the fastest first
};
[[nodiscard]] Layout lay_out(const Machine& machine);

/// The content that every renderer of a picture draws: nested boxes, down to the cores.
struct Scene {
  /// The title of a socket or NUMA node, with its facts.
  struct Title {
    std::string name;   ///< "NUMA 0"
    std::string facts;  ///< "16Gi   huge pages 2Mi: 1Gi"; "" for a socket
    int numa = -1;      ///< position; -1 for a socket
  };
  /// A last-level cache, or its cores of one kind.
  struct Cache {
    std::string name;  ///< "L3 0"; "" if unknown
    std::string kind;  ///< of its cores; "": all of the machine are alike
    std::vector<CpuSet> cores;

    /// Returns "L3 0 performance".
    [[nodiscard]] std::string title() const;
  };
  struct Inner {
    Title title;
    std::vector<Cache> caches;  ///< empty for a NUMA node without CPUs
  };
  struct Outer {
    Title title;
    std::vector<Inner> inners;
  };
  std::vector<Outer> outers;
};
[[nodiscard]] Scene make_scene(const Machine& machine, const Layout& layout);

struct Glyphs {
  std::string dot;         ///< between the facts on a line
  std::string times;       ///< 2 x 4
  std::string line;        ///< horizontal
  std::string bar;         ///< vertical
  std::string corners[4];  ///< of frames: top left, top right, bottom left, bottom right
  std::string top[3];      ///< of boxes: left, between, right
  std::string middle[3];
  std::string bottom[3];
  std::string fill[3];   ///< of bars: held, reserved, free
  std::string loads[9];  ///< from idle to busy
};
[[nodiscard]] const Glyphs& glyphs(const Style& style);

/// Returns the colour of an entry of an overlay.
[[nodiscard]] Paint paint_of(const Overlay& overlay, std::size_t entry);
/// Returns the inverse of overlay_label; 0 for other labels.
[[nodiscard]] std::size_t label_index(std::string_view label);
/// Returns the label of a CPU's entry; "" if it has none.
[[nodiscard]] std::string label_of(const Overlay& overlay, CpuId cpu);
/// Returns the first mark that contains a CPU, or null.
[[nodiscard]] const Overlay::Mark* mark_of(const Overlay& overlay, CpuId cpu);
/// Returns the sign of the first mark that contains a CPU; "" if there is none.
[[nodiscard]] std::string sign_of(const Overlay& overlay, CpuId cpu);
/// Returns the load of some CPUs, 0 to 1; nullopt if it is unknown for all of them.
[[nodiscard]] std::optional<double> load_of(const Picture& picture, const CpuSet& cpus);
/// Returns one character for the load; " " if it is unknown.
[[nodiscard]] std::string load_glyph(const Picture& picture, CpuId cpu);

/// Returns the cores of a part, their threads and their kind: "8 x 2", "8 x 2 performance".
[[nodiscard]] std::string cores_and_threads(const MachinePart& part, const Style& style);
/// Returns "16Gi   huge pages 2Mi: 1Gi, 1Gi: 0".
[[nodiscard]] std::string memory_of(const NumaNode& node);
/// Returns "2 sockets, 2 NUMA nodes, 4 cores, 8 CPUs (0-7), 32Gi", with `dot` in place of commas.
[[nodiscard]] std::string machine_facts(const Machine& machine, const std::string& dot);
/// Returns "Kinds of cores: performance 0-15, efficiency 16-23"; "" if all are alike.
[[nodiscard]] std::string core_kinds(const Machine& machine);
/// Breaks a list of CPUs after commas into lines of at most `width` characters.
[[nodiscard]] std::vector<std::string> wrapped_list(const std::string& list, std::size_t width);

}  // namespace pinfold::tools
