#include "svg_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "pinfold/picture/numa_use.hpp"
#include "pinfold/text/message.hpp"
#include "pinfold/text/xml.hpp"

namespace pinfold::tools::svg {
namespace {

constexpr int kGap = 16;      // between frames
constexpr int kPadding = 12;  // inside frames
constexpr int kCoreGap = 4;
constexpr int kCacheGap = 12;
constexpr int kCacheTitle = 16;
constexpr int kMaxThreadsInColumn = 4;

constexpr std::size_t kColours = 7;
constexpr std::size_t kPatterns = 4;
// The palette of Okabe and Ito for colour-blind readers, lightened for dark text.
constexpr std::array<const char*, kColours> kFills = {"#f3bd62", "#9fd3f0", "#7fcfb4", "#f2e58a",
                                                      "#93b5e1", "#f2a287", "#dfa6c6"};

}  // namespace

std::string xml(std::string_view text) { return escape_xml(escaped(text)); }

std::string text_at(int x, int y, std::string_view css, std::string_view text) {
  return fmt::format("<text x=\"{}\" y=\"{}\" class=\"{}\">{}</text>\n", x, y, css, xml(text));
}

std::string fill_of(const Overlay::Entry& entry, Fills& fills) {
  if (entry.use == CpuUse::kReserved) return "url(#reserved)";
  if (entry.use != CpuUse::kExclusive) return "";
  const std::size_t index = label_index(entry.label);
  const auto fill = std::pair(index % kColours, index % kPatterns);
  fills.insert(fill);
  return fmt::format("url(#e{}p{})", fill.first, fill.second);
}

std::string patterns(const Fills& fills) {
  static constexpr std::array<const char*, kPatterns> kShapes = {
      "", "<path d=\"M-2 2l4-4M0 8l8-8M6 10l4-4\"/>",
      "<circle cx=\"2\" cy=\"2\" r=\"1\"/><circle "
      "cx=\"6\" cy=\"6\" r=\"1\"/>",
      "<path d=\"M0 2h8M0 6h8\"/>"};
  std::string out =
      "<pattern id=\"reserved\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\">"
      "<rect width=\"8\" height=\"8\" class=\"hatchground\"/>"
      "<path class=\"hatch\" d=\"M-2 6l4 4M0 0l8 8M6-2l4 4\"/></pattern>\n";
  for (const auto& [colour, pattern] : fills) {
    out += fmt::format(
        "<pattern id=\"e{0}p{1}\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\">"
        "<rect width=\"8\" height=\"8\" fill=\"{2}\"/><g class=\"shape\">{3}</g></pattern>\n",
        colour, pattern, kFills[colour], kShapes[pattern]);
  }
  return out;
}

NodeDrawing::NodeDrawing(const Machine& machine, const Picture& picture)
    : machine_(machine), picture_(picture), scene_(make_scene(machine, lay_out(machine))) {
  constexpr std::size_t kFew = 64;
  constexpr std::size_t kMany = 320;
  const std::size_t cpus = machine.cpus().size();
  cell_ = cpus <= kFew    ? Cell{42, 40, true, "big"}
          : cpus <= kMany ? Cell{28, 28, true, "mid"}
                          : Cell{17, 16, false, "small"};
  std::size_t threads = 1;
  for (const Machine::Group& core : machine.cores()) threads = std::max(threads, core.cpus.size());
  const int most = static_cast<int>(threads);
  columns_in_core_ = (most + kMaxThreadsInColumn - 1) / kMaxThreadsInColumn;
  rows_in_core_ = (most + columns_in_core_ - 1) / columns_in_core_;
}

int NodeDrawing::draw(std::string& out, int y, Fills& fills) const {
  const int count = columns();
  const int width = (kWidth - 2 * kMargin - (count - 1) * kGap) / count;
  int bottom = y;
  int row_bottom = y;
  for (std::size_t i = 0; i < scene_.outers.size(); ++i) {
    const int column = static_cast<int>(i) % count;
    if (column == 0) bottom = row_bottom;
    const int x = kMargin + column * (width + kGap);
    const int height = draw_outer(out, scene_.outers[i], x, bottom, width, fills);
    row_bottom = std::max(row_bottom, bottom + height + kGap);
  }
  return row_bottom - y;
}

int NodeDrawing::height_in(int columns) const {
  const int width = (kWidth - 2 * kMargin - (columns - 1) * kGap) / columns;
  Fills ignored;
  std::string drawn;
  int sum = 0;
  int row = 0;
  for (std::size_t i = 0; i < scene_.outers.size(); ++i) {
    if (static_cast<int>(i) % columns == 0) row = 0;
    const int height = draw_outer(drawn, scene_.outers[i], 0, 0, width, ignored) + kGap;
    sum += std::max(0, height - row);
    row = std::max(row, height);
  }
  return sum;
}

/// Returns the number of columns that minimizes the height of the drawing.
int NodeDrawing::columns() const {
  constexpr int kMost = 4;
  constexpr int kMostWithBars = 2;  // the labels of the bars need the width
  const int outers = static_cast<int>(scene_.outers.size());
  const int most = std::min(outers, picture_.numa.empty() ? kMost : kMostWithBars);
  int best = 1;
  int lowest = height_in(1);
  for (int count = 2; count <= most; ++count) {
    const int height = height_in(count);
    if (height >= lowest) continue;
    lowest = height;
    best = count;
  }
  return best;
}

int NodeDrawing::draw_outer(std::string& out, const Scene::Outer& outer, int x, int y, int width,
                            Fills& fills) const {
  std::string inside;
  int at = y + kPadding;
  at += draw_title(inside, outer.title, "outer", x + kPadding, at);
  for (const Scene::Inner& inner : outer.inners) {
    at += draw_title(inside, inner.title, "inner", x + kPadding, at);
    at += draw_caches(inside, inner, x + kPadding, at, width - 2 * kPadding, fills);
  }
  const int height = at - y + kPadding / 2;
  out +=
      fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"8\" class=\"frame\"/>\n",
                  x, y, width, height);
  out += inside;
  return height;
}

int NodeDrawing::draw_title(std::string& out, const Scene::Title& title, const char* css, int x,
                            int y) const {
  constexpr int kLine = 22;
  const auto position = static_cast<std::size_t>(title.numa);
  const bool has_use = title.numa >= 0 && position < picture_.numa.size();
  std::string facts = title.facts;
  if (has_use) {
    const CpuSet& cpus = machine_.cpus_of_numa(title.numa);
    const FreeCpus free = free_cpus(machine_, picture_.overlay, cpus);
    facts = cpus.empty()
                ? "no CPUs"
                : fmt::format("{}, {} free", counted(cpus.size(), "CPU"), free.cpus.size());
  }
  out += fmt::format(
      "<text x=\"{}\" y=\"{}\" class=\"{}\">{}<tspan class=\"facts\" dx=\"10\">{}</tspan></text>\n",
      x, y + 14, css, xml(title.name), xml(facts));
  return kLine + (has_use ? draw_memory(out, title.numa, x, y + kLine) : 0);
}

int NodeDrawing::draw_memory(std::string& out, int numa, int x, int y) const {
  constexpr int kBar = 200;
  constexpr int kBarAt = 110;
  constexpr int kLine = 18;
  int at = y;
  for (const MemoryUse& memory : picture_.numa[static_cast<std::size_t>(numa)].memory) {
    const auto length = [&](std::uint64_t bytes) {
      if (memory.total == 0 || bytes == 0) return 0;
      const double share = static_cast<double>(bytes) / static_cast<double>(memory.total);
      return std::clamp(static_cast<int>(std::lround(share * kBar)), 2, kBar);
    };
    const int held = length(memory.held);
    const int reserved = std::min(kBar - held, length(memory.reserved));
    out += text_at(x, at + 11, "facts", memory.kind + "   " + human_bytes(memory.total));
    const auto rect = [&](int from, int width, const char* attributes) {
      out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"10\" {}/>\n",
                         x + kBarAt + from, at + 2, width, attributes);
    };
    rect(0, kBar, "class=\"bar\"");
    if (held > 0) rect(0, held, "class=\"held\"");
    if (reserved > 0) rect(held, reserved, "fill=\"url(#reserved)\"");
    std::string text = "not assigned";
    if (picture_.assigns_memory) {
      text = fmt::format("held {}, reserved {}, free {}", human_bytes(memory.held),
                         human_bytes(memory.reserved), human_bytes(free_bytes(memory)));
    }
    if (memory.kernel_free) {
      text += fmt::format(" (kernel: {})", human_bytes(*memory.kernel_free));
    }
    out += text_at(x + kBarAt + kBar + 10, at + 11, "facts", text);
    at += kLine;
  }
  return at - y + 4;
}

int NodeDrawing::draw_caches(std::string& out, const Scene::Inner& inner, int x, int y, int width,
                             Fills& fills) const {
  const int core_width = columns_in_core_ * cell_.width + 4;
  const int core_height = rows_in_core_ * cell_.height + 4;
  const int step = core_width + kCoreGap;
  int left = x;
  int top = y;
  int bottom = y;
  for (const Scene::Cache& cache : inner.caches) {
    const int title = cache.name.empty() ? 0 : kCacheTitle;
    const int count = static_cast<int>(cache.cores.size());
    const int in_row = std::clamp((width + kCoreGap) / step, 1, count);
    const int rows = (count + in_row - 1) / in_row;
    const int needed = in_row * step - kCoreGap;
    if (left > x && left + needed > x + width) {
      left = x;
      top = bottom;
    }
    if (title > 0) out += text_at(left, top + 11, "facts", cache.name);
    for (int i = 0; i < count; ++i) {
      draw_core(out, cache.cores[static_cast<std::size_t>(i)], left + i % in_row * step,
                top + title + i / in_row * (core_height + kCoreGap), fills);
    }
    bottom = std::max(bottom, top + title + rows * (core_height + kCoreGap) + kCacheGap / 2);
    left += needed + kCacheGap;
  }
  return bottom - y + (inner.caches.empty() ? 0 : kCacheGap / 2);
}

void NodeDrawing::draw_core(std::string& out, const CpuSet& core, int x, int y,
                            Fills& fills) const {
  out +=
      fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\" class=\"core\"/>\n",
                  x, y, columns_in_core_ * cell_.width + 4, rows_in_core_ * cell_.height + 4);
  int i = 0;
  for (const CpuId cpu : core) {
    draw_cpu(out, cpu, x + 2 + i / rows_in_core_ * cell_.width,
             y + 2 + i % rows_in_core_ * cell_.height, fills);
    ++i;
  }
}

void NodeDrawing::draw_cpu(std::string& out, CpuId cpu, int x, int y, Fills& fills) const {
  const std::size_t index = entry_of(picture_.overlay, cpu);
  const Overlay::Entry* const entry =
      index == kNoEntry ? nullptr : &picture_.overlay.entries[index];
  const std::string sign = sign_of(picture_.overlay, cpu);
  const std::string fill = entry == nullptr ? "" : fill_of(*entry, fills);
  const std::string_view use = entry == nullptr ? "shared" : to_string(entry->use);
  out += fmt::format("<g class=\"cpu {} {}\"><title>CPU {}{}</title>", use, cell_.size, cpu.value,
                     entry == nullptr ? "" : ": " + xml(entry->text));
  out +=
      fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"2\"{}{}/>", x + 1, y + 1,
                  cell_.width - 2, cell_.height - 2, sign.empty() ? "" : " class=\"marked\"",
                  fill.empty() ? "" : fmt::format(" fill=\"{}\"", fill));
  const int middle = x + cell_.width / 2;
  const std::string label = (entry == nullptr ? "" : entry->label) + sign;
  if (label.empty()) {
    const std::string number = cell_.has_number ? std::to_string(cpu.value) : "";
    out += fmt::format("<text x=\"{}\" y=\"{}\" class=\"number\">{}</text></g>\n", middle,
                       y + cell_.height / 2 + 4, number);
    return;
  }
  if (cell_.has_number) {
    out += fmt::format("<text x=\"{}\" y=\"{}\" class=\"number\">{}</text>", middle,
                       y + cell_.height * 2 / 5, cpu.value);
  }
  out += fmt::format("<text x=\"{}\" y=\"{}\" class=\"label\">{}</text></g>\n", middle,
                     y + cell_.height - (cell_.has_number ? cell_.height / 6 : 4), xml(label));
}

}  // namespace pinfold::tools::svg
