#pragma once

#include <string>
#include <vector>

#include "topology_picture.hpp"

namespace pinfold::tools {

/// One node in a drawing.
struct SvgPanel {
  std::string caption;  ///< "before"; "": none
  Machine machine;
  Picture picture;                 ///< its style and loads are not used
  std::vector<std::string> notes;  ///< sentences below the legend
};

/// The nodes as an SVG image of 1280 pixels width: the same content as render_node. Needs nothing
/// else: no scripts, fonts or other files. It follows the reader's choice of light or dark. Every
/// colour has a letter too. The same input gives the same bytes.
[[nodiscard]] std::string render_svg(const std::string& title, const std::vector<SvgPanel>& panels);

}  // namespace pinfold::tools
