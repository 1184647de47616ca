#include "frames.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>

namespace pinfold::tools {

namespace {

/// Draws a frame around `height` lines of `width` columns.
std::vector<std::string> framed(const TitledBox& box, std::size_t width, std::size_t height,
                                const Style& style) {
  const Glyphs& g = glyphs(style);
  const auto run = [&](std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += g.line;
    return text;
  };
  const auto dim = [&](const std::string& text) { return paint(style, Paint::kDim, text); };
  std::vector<std::string> lines = {dim(g.corners[0] + g.line) + " " + box.title + " " +
                                    dim(run(width - display_width(box.title) - 1) + g.corners[1])};
  for (std::size_t i = 0; i < height; ++i) {
    const std::string line = i < box.lines.size() ? box.lines[i] : "";
    lines.push_back(dim(g.bar) + " " + pad_right(line, width) + " " + dim(g.bar));
  }
  lines.push_back(dim(g.corners[2] + run(width + 2) + g.corners[3]));
  return lines;
}

std::size_t widest(const std::vector<TitledBox>& frames) {
  std::size_t width = 0;
  for (const TitledBox& frame : frames) {
    width = std::max(width, display_width(frame.title) + 2);
    for (const std::string& line : frame.lines) width = std::max(width, display_width(line));
  }
  return width;
}

/// Draws frames side by side.
std::string draw_row(std::span<const TitledBox> frames, std::size_t width, const Style& style) {
  std::size_t height = 0;
  for (const TitledBox& frame : frames) height = std::max(height, frame.lines.size());
  std::vector<std::string> rows(height + 2);
  for (const TitledBox& frame : frames) {
    const std::vector<std::string> lines = framed(frame, width, height, style);
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i] += (rows[i].empty() ? "" : " ") + lines[i];
  }
  return fmt::format("{}\n", fmt::join(rows, "\n"));
}

}  // namespace

std::string draw_frames(const std::vector<TitledBox>& frames, const Style& style) {
  constexpr std::size_t kEdges = 4;  // columns of a frame around its lines
  const std::size_t width = widest(frames);
  const std::size_t fitting = std::max<std::size_t>(1, (style.width + 1) / (width + kEdges + 1));
  std::string out;
  const std::span<const TitledBox> all = frames;
  for (std::size_t first = 0; first < all.size(); first += fitting) {
    out += draw_row(all.subspan(first, std::min(fitting, all.size() - first)), width, style);
  }
  return out;
}

std::string title_text(const Scene::Title& title, const Style& style) {
  const std::string name = paint(style, Paint::kBold, title.name);
  return title.facts.empty() ? name : name + "   " + title.facts;
}

}  // namespace pinfold::tools
