#include "frames.hpp"

#include <algorithm>
#include <cstddef>

namespace pinfold::tools {

std::string draw_frames(const std::vector<TitledBox>& frames, const Style& style) {
  const Glyphs& g = glyphs(style);
  std::size_t width = 0;
  for (const TitledBox& frame : frames) {
    width = std::max(width, display_width(frame.title) + 2);
    for (const std::string& line : frame.lines) width = std::max(width, display_width(line));
  }
  const auto run = [&](std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += g.line;
    return text;
  };
  const auto dim = [&](const std::string& text) { return paint(style, Paint::kDim, text); };
  std::string out;
  for (const TitledBox& frame : frames) {
    out += dim(g.corners[0] + g.line) + " " + frame.title + " " +
           dim(run(width - display_width(frame.title) - 1) + g.corners[1]) + "\n";
    for (const std::string& line : frame.lines) {
      out += dim(g.bar) + " " + pad_right(line, width) + " " + dim(g.bar) + "\n";
    }
    out += dim(g.corners[2] + run(width + 2) + g.corners[3]) + "\n";
  }
  return out;
}

std::string title_text(const Scene::Title& title, const Style& style) {
  const std::string name = paint(style, Paint::kBold, title.name);
  return title.facts.empty() ? name : name + "   " + title.facts;
}

}  // namespace pinfold::tools
