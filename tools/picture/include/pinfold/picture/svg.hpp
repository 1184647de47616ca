#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/machine/machine.hpp"
#include "pinfold/picture/picture.hpp"

namespace pinfold::tools {

/// CPUs that a pod lacks, drawn next to the node that rejects it.
struct NeededCpus {
  std::string text;  ///< "shop/web needs 10 CPUs"
  std::size_t count = 0;
};

/// One node in a drawing.
struct SvgPanel {
  std::string caption;  ///< "before"; "" if none
  Machine machine;
  Picture picture;                 ///< its style and loads are not used
  std::vector<std::string> notes;  ///< sentences below the legend
  std::optional<NeededCpus> needed = std::nullopt;
};

/// Draws the nodes as an SVG image with a width of 1280 pixels, with the same content as
/// render_node. With a short legend, 64 NUMA nodes or 256 CPUs fit a slide of 1280 x 720; large
/// machines have less detail. The image is self-contained: no scripts, fonts or other files. It
/// follows the reader's preference for light or dark. Every colour also has a letter. The same
/// input produces the same bytes.
[[nodiscard]] std::string render_svg(const std::string& title, const std::vector<SvgPanel>& panels);

}  // namespace pinfold::tools
