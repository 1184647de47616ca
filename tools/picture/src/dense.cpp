#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "drawings.hpp"
#include "frames.hpp"

namespace pinfold::tools {
namespace {

constexpr std::size_t kMargins = 6;        // of the frame, and the indent
constexpr std::size_t kCaptionWidth = 18;  // columns that "L3 12  128-143  " may take

/// The columns of a CPU: its label, its sign, its load; and of the caption before a line of CPUs.
struct CpuColumns {
  std::size_t label = 1;
  bool has_sign = false;
  bool has_load = false;
  std::size_t caption = kCaptionWidth;
  [[nodiscard]] std::size_t width() const {
    return label + (has_sign ? 1 : 0) + (has_load ? 1 : 0);
  }
};

/// Calls `visit` for every cache.
template <class Visit>
void for_each_cache(const Scene& scene, const Visit& visit) {
  for (const Scene::Outer& outer : scene.outers) {
    for (const Scene::Inner& inner : outer.inners) {
      for (const Scene::Cache& cache : inner.caches) visit(cache);
    }
  }
}

CpuColumns measure_slot(const Scene& scene, const Picture& picture) {
  CpuColumns slot;
  std::size_t kind = 0;
  for_each_cache(scene, [&](const Scene::Cache& cache) {
    kind = std::max(kind, cache.title().size() - cache.name.size());
  });
  slot.caption += kind;
  for (const Overlay::Entry& entry : picture.overlay.entries) {
    slot.label = std::max(slot.label, display_width(entry.label));
  }
  slot.has_sign = !picture.overlay.marks.empty();
  slot.has_load = !picture.load.empty();
  return slot;
}

std::string cpu_text(CpuId cpu, const CpuColumns& slot, const Picture& picture) {
  const std::size_t entry = entry_of(picture.overlay, cpu);
  std::string text = label_of(picture.overlay, cpu);
  text = pad_left(text.empty() ? "?" : std::move(text), slot.label);
  if (slot.has_sign) text += pad_left(sign_of(picture.overlay, cpu), 1);
  if (slot.has_load) text += load_glyph(picture, cpu);
  return paint(picture.style, paint_of(picture.overlay, entry), text);
}

/// Returns "0-15", or "0,2..30" for CPUs with gaps between them.
std::string short_list(const std::vector<CpuId>& cpus) {
  CpuSet all;
  for (const CpuId cpu : cpus) all.insert(cpu);
  std::string list = all.to_string();
  if (std::count(list.begin(), list.end(), ',') < 2) return list;
  return fmt::format("{},{}..{}", cpus[0].value, cpus[1].value, cpus.back().value);
}

/// A line with one SMT sibling, by number, of each of several cores.
struct DenseLine {
  std::string cache;  ///< the caption, on the first line of a cache
  std::string cpus;   ///< the list of CPUs
  std::string cells;  ///< the drawing
};

DenseLine dense_line(std::span<const CpuSet> cores, std::size_t thread, const CpuColumns& slot,
                     const Picture& picture) {
  DenseLine line;
  std::vector<CpuId> cpus;
  for (const CpuSet& core : cores) {
    if (!line.cells.empty()) line.cells += ' ';
    if (core.size() <= thread) {
      line.cells += std::string(slot.width(), ' ');
      continue;
    }
    cpus.push_back(*std::next(core.begin(), static_cast<std::ptrdiff_t>(thread)));
    line.cells += cpu_text(cpus.back(), slot, picture);
  }
  line.cpus = short_list(cpus);
  return line;
}

std::vector<DenseLine> dense_lines(const Scene::Cache& cache, const CpuColumns& slot,
                                   const Picture& picture) {
  const std::size_t fitting = std::max<std::size_t>(
      1, (picture.style.width - kMargins - slot.caption) / (slot.width() + 1));
  std::vector<DenseLine> lines;
  const std::span<const CpuSet> all = cache.cores;
  const std::size_t rows = (all.size() + fitting - 1) / fitting;
  const std::size_t in_row = (all.size() + rows - 1) / rows;  // rows of similar length
  for (std::size_t first = 0; first < all.size(); first += in_row) {
    const auto cores = all.subspan(first, std::min(in_row, all.size() - first));
    std::size_t threads = 0;
    for (const CpuSet& core : cores) threads = std::max(threads, core.size());
    for (std::size_t thread = 0; thread < threads; ++thread) {
      lines.push_back(dense_line(cores, thread, slot, picture));
    }
  }
  if (!lines.empty()) lines.front().cache = cache.title();
  return lines;
}

/// Widths of captions: the same in the whole picture, so that CPUs line up in columns.
struct Captions {
  std::size_t cache = 0;
  std::size_t cpus = 0;
};

Captions measure_captions(const Scene& scene, const CpuColumns& slot, const Picture& picture) {
  Captions captions;
  for_each_cache(scene, [&](const Scene::Cache& cache) {
    captions.cache = std::max(captions.cache, cache.title().size());
    for (const DenseLine& line : dense_lines(cache, slot, picture)) {
      captions.cpus = std::max(captions.cpus, line.cpus.size());
    }
  });
  return captions;
}

/// Arranges blocks of lines, as many side by side as fit.
std::vector<std::string> abreast(const std::vector<std::vector<std::string>>& blocks,
                                 std::size_t width) {
  constexpr std::size_t kGap = 3;
  if (blocks.empty()) return {};
  std::size_t widest = 1;
  for (const auto& block : blocks) {
    for (const std::string& line : block) widest = std::max(widest, display_width(line));
  }
  const std::size_t in_row =
      std::clamp<std::size_t>((width + kGap) / (widest + kGap), 1, blocks.size());
  std::vector<std::string> lines;
  for (std::size_t first = 0; first < blocks.size(); first += in_row) {
    const std::size_t last = std::min(blocks.size(), first + in_row);
    std::size_t height = 0;
    for (std::size_t i = first; i < last; ++i) height = std::max(height, blocks[i].size());
    for (std::size_t y = 0; y < height; ++y) {
      std::string line;
      for (std::size_t i = first; i < last; ++i) {
        const std::string part = y < blocks[i].size() ? blocks[i][y] : "";
        line += i + 1 == last ? part : pad_right(part, widest + kGap);
      }
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

}  // namespace

std::string draw_dense(const Scene& scene, const Picture& picture) {
  const Style& style = picture.style;
  const CpuColumns slot = measure_slot(scene, picture);
  const Captions captions = measure_captions(scene, slot, picture);
  const auto block_of = [&](const Scene::Cache& cache) {
    std::vector<std::string> block;
    for (const DenseLine& line : dense_lines(cache, slot, picture)) {
      block.push_back(pad_right(line.cache, captions.cache) + (captions.cache > 0 ? "  " : "") +
                      paint(style, Paint::kDim, pad_left(line.cpus, captions.cpus)) + "  " +
                      line.cells);
    }
    return block;
  };
  std::vector<TitledBox> frames;
  for (const Scene::Outer& outer : scene.outers) {
    frames.push_back({title_text(outer.title, style), {}});
    for (const Scene::Inner& inner : outer.inners) {
      frames.back().lines.push_back(title_text(inner.title, style));
      std::vector<std::vector<std::string>> blocks;
      for (const Scene::Cache& cache : inner.caches) blocks.push_back(block_of(cache));
      for (const std::string& line : abreast(blocks, style.width - kMargins)) {
        frames.back().lines.push_back("  " + line);
      }
    }
  }
  return draw_frames(frames, style);
}

}  // namespace pinfold::tools
