#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "drawings.hpp"
#include "frames.hpp"

namespace pinfold::tools {
namespace {

/// The size of a CPU's cell, which is the same in the whole picture, so that cores line up.
struct Cell {
  std::size_t cpu = 1;   ///< columns of a CPU number or its label
  std::size_t core = 1;  ///< columns of a core
  bool labels = false;   ///< a second line for the overlay
};

Cell measure(const Machine& machine, const Picture& picture) {
  Cell cell;
  cell.cpu = std::to_string(machine.all_cpus().last().value).size();
  std::size_t label = 0;
  for (const Overlay::Entry& entry : picture.overlay.entries) {
    label = std::max(label, display_width(entry.label));
  }
  label += (picture.overlay.marks.empty() ? 0 : 1) + (picture.load.empty() ? 0 : 1);
  cell.labels = label > 0;
  cell.cpu = std::max(cell.cpu, label);
  std::size_t threads = 1;
  for (const auto& core : machine.cores()) threads = std::max(threads, core.cpus.size());
  cell.core = threads * (cell.cpu + 1) - 1;
  return cell;
}

/// Draws the edge above, between or below two rows of boxes. `above`, `below`: their numbers of
/// boxes.
std::string edge(const Style& style, std::size_t above, std::size_t below, std::size_t width) {
  const Glyphs& g = glyphs(style);
  const std::size_t boxes = std::max(above, below);
  std::string segment;
  for (std::size_t i = 0; i < width + 2; ++i) segment += g.line;
  std::string out;
  for (std::size_t joint = 0; joint <= boxes; ++joint) {
    const auto& from = joint > below ? g.bottom : joint > above ? g.top : g.middle;
    // The last box of a row is followed by its right end, or by a joint if the other row continues.
    const auto& shape = above == 0 ? g.top : below == 0 ? g.bottom : from;
    out += shape[joint == 0 ? 0 : joint == boxes ? 2 : 1];
    if (joint < boxes) out += segment;
  }
  return paint(style, Paint::kDim, out);
}

/// Draws one row of cores: the CPU numbers, and below them the labels of their users.
void add_row(const std::vector<CpuSet>& cores, std::size_t first, std::size_t count,
             const Cell& cell, const Picture& picture, std::vector<std::string>& lines) {
  const Style& style = picture.style;
  const std::string bar = paint(style, Paint::kDim, glyphs(style).bar);
  std::string numbers = bar;
  std::string labels = bar;
  for (std::size_t i = first; i < first + count; ++i) {
    std::string number_cell;
    std::string label_cell;
    for (const CpuId cpu : cores[i]) {
      const std::size_t entry = entry_of(picture.overlay, cpu);
      const Paint colour = paint_of(picture.overlay, entry);
      std::string label = label_of(picture.overlay, cpu);
      if (!picture.overlay.marks.empty()) label += pad_left(sign_of(picture.overlay, cpu), 1);
      if (!picture.load.empty()) label += load_glyph(picture, cpu);
      const std::string gap = number_cell.empty() ? "" : " ";
      number_cell += gap + paint(style, colour, pad_left(std::to_string(cpu.value), cell.cpu));
      label_cell += gap + paint(style, colour, pad_left(label, cell.cpu));
    }
    numbers += " " + pad_right(number_cell, cell.core) + " " + bar;
    labels += " " + pad_right(label_cell, cell.core) + " " + bar;
  }
  lines.push_back(numbers);
  if (cell.labels) lines.push_back(labels);
}

std::vector<std::string> draw_cores(const std::vector<CpuSet>& all, const Cell& cell,
                                    const Picture& picture, std::size_t width) {
  const std::size_t fitting = std::max<std::size_t>(1, (width - 1) / (cell.core + 3));
  const std::size_t rows = (all.size() + fitting - 1) / fitting;
  const std::size_t in_row = (all.size() + rows - 1) / rows;  // rows of similar length
  std::vector<std::string> lines;
  std::size_t above = 0;
  for (std::size_t first = 0; first < all.size(); first += in_row) {
    const std::size_t count = std::min(in_row, all.size() - first);
    lines.push_back(edge(picture.style, above, count, cell.core));
    add_row(all, first, count, cell, picture, lines);
    above = count;
  }
  lines.push_back(edge(picture.style, above, 0, cell.core));
  return lines;
}

constexpr std::size_t kAround = 6;  // of the frame, and the indent

/// Returns what stands before the lines of a cache: its name before the first row of numbers, and
/// below it the kind of its cores.
std::vector<std::string> captions_of(const Scene::Cache& cache) {
  std::vector<std::string> captions = {""};
  for (const std::string& text : {cache.name, cache.kind}) {
    if (!text.empty()) captions.push_back(text);
  }
  return captions;
}

/// Returns the columns of the widest caption with the gap after it; 0 if there is none.
std::size_t measure_captions(const Scene& scene) {
  constexpr std::size_t kGap = 2;
  std::size_t widest = 0;
  for (const Scene::Outer& outer : scene.outers) {
    for (const Scene::Inner& inner : outer.inners) {
      for (const Scene::Cache& cache : inner.caches) {
        for (const std::string& text : captions_of(cache)) widest = std::max(widest, text.size());
      }
    }
  }
  return widest == 0 ? 0 : widest + kGap;
}

}  // namespace

std::string draw_boxes(const Machine& machine, const Scene& scene, const Picture& picture) {
  const Style& style = picture.style;
  const Cell cell = measure(machine, picture);
  const std::size_t caption = measure_captions(scene);
  const std::size_t width = style.width - std::min(style.width - 1, kAround + caption);
  std::vector<TitledBox> frames;
  for (const Scene::Outer& outer : scene.outers) {
    frames.push_back({title_text(outer.title, style), {}});
    std::vector<std::string>& lines = frames.back().lines;
    for (const Scene::Inner& inner : outer.inners) {
      lines.push_back(title_text(inner.title, style));
      for (const Scene::Cache& cache : inner.caches) {
        const std::vector<std::string> cores = draw_cores(cache.cores, cell, picture, width);
        const auto captions = captions_of(cache);
        for (std::size_t i = 0; i < cores.size(); ++i) {
          lines.push_back("  " + pad_right(i < captions.size() ? captions[i] : "", caption) +
                          cores[i]);
        }
      }
    }
  }
  return draw_frames(frames, style);
}

}  // namespace pinfold::tools
