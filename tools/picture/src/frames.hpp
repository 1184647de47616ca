#pragma once

#include <string>
#include <vector>

#include "parts.hpp"

namespace pinfold::tools {

/// A frame with a title in its upper edge.
struct TitledBox {
  std::string title;
  std::vector<std::string> lines;
};
/// Draws frames of the same width, as many side by side as fit.
[[nodiscard]] std::string draw_frames(const std::vector<TitledBox>& frames, const Style& style);
/// Formats the title of a socket or NUMA node in bold, with its facts.
[[nodiscard]] std::string title_text(const Scene::Title& title, const Style& style);

}  // namespace pinfold::tools
