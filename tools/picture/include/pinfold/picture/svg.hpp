#pragma once

#include <string>
#include <vector>

#include "pinfold/machine/machine.hpp"
#include "pinfold/picture/picture.hpp"

namespace pinfold::tools {

/// One node in a drawing.
struct SvgPanel {
  std::string caption;  ///< "before"; "" if none
  Machine machine;
  Picture picture;                 ///< its style and loads are not used
  std::vector<std::string> notes;  ///< sentences below the legend
};

/// Draws the nodes as an SVG image with a width of 1280 pixels, with the same content as
/// render_node. The image is self-contained: no scripts, fonts or other files. It follows the
/// reader's preference for light or dark. Every colour also has a letter. The same input produces
/// the same bytes.
[[nodiscard]] std::string render_svg(const std::string& title, const std::vector<SvgPanel>& panels);

}  // namespace pinfold::tools
