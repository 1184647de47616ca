#include "pinfold/picture/svg.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "facts.hpp"
#include "parts.hpp"
#include "pinfold/picture/numa_use.hpp"
#include "svg_parts.hpp"

namespace pinfold::tools {
namespace {

using svg::kMargin;
using svg::kWidth;
using svg::text_at;
using svg::xml;

constexpr const char* kStyle = R"(<style>
svg { --ground: #ffffff; --ink: #1b1f24; --muted: #4d565f; --line: #8c959f; --panel: #f4f6f8;
  --free: #ffffff; --hatch: #9aa4ae; --held: #3f6fb5; --warn: #c1121f; }
@media (prefers-color-scheme: dark) {
  svg { --ground: #0d1117; --ink: #e8edf2; --muted: #a9b4c0; --line: #6b7683; --panel: #161b22;
    --free: #0d1117; --hatch: #6b7683; --held: #7aa7e8; --warn: #ff7b72; }
}
text { font-family: system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--ink); }
.ground { fill: var(--ground); }
.title { font-size: 22px; font-weight: 600; }
.caption { font-size: 18px; font-weight: 600; }
.outer { font-size: 15px; font-weight: 600; }
.inner { font-size: 13px; font-weight: 600; }
.subtitle { font-size: 14px; fill: var(--muted); }
.facts { font-size: 11.5px; font-weight: 400; fill: var(--muted); }
.legend { font-size: 13px; }
.note { font-size: 13px; }
.mono { font-size: 12px; font-family: ui-monospace, "DejaVu Sans Mono", monospace;
  white-space: pre; }
.frame { fill: var(--panel); stroke: var(--line); }
.core { fill: none; stroke: var(--line); }
.cpu text { text-anchor: middle; }
.cpu rect { stroke: none; }
.cpu rect.swatch { fill: none; stroke: var(--line); }
.shared rect { fill: var(--free); }
.offline rect { fill: none; stroke: var(--line); stroke-dasharray: 2 2; }
.exclusive text { fill: #101418; }
.cpu rect.marked { stroke: var(--warn); stroke-width: 2.5; }
.number { font-size: 10px; }
.label { font-weight: 700; }
.big .number { font-size: 12px; }
.big .label { font-size: 16px; }
.mid .label { font-size: 12px; }
.mid .number { font-size: 9px; }
.small .label { font-size: 10px; }
.bar { fill: var(--free); stroke: var(--line); }
.held { fill: var(--held); }
.hatchground { fill: var(--panel); }
.hatch { stroke: var(--hatch); fill: none; }
.shape { stroke: #101418; stroke-opacity: 0.28; fill: none; }
.warn { fill: var(--warn); font-weight: 700; }
</style>
)";

constexpr std::size_t kLineLength = 150;  // characters of a note
constexpr int kLine = 20;

std::string shortened(const std::string& text, std::size_t width) {
  if (display_width(text) <= width) return text;
  std::size_t end = 0;
  for (std::size_t characters = 0; end < text.size(); ++end) {
    const bool is_first_byte = (static_cast<unsigned char>(text[end]) & 0xc0U) != 0x80U;
    if (is_first_byte && ++characters == width) break;
  }
  return text.substr(0, end) + "…";
}

/// Breaks words into lines of at most kLineLength characters.
std::vector<std::string> wrapped_words(const std::string& text) {
  std::vector<std::string> lines(1);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    const bool fits = display_width(lines.back()) + 1 + display_width(word) <= kLineLength;
    if (!fits && !lines.back().empty()) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
    begin = end + 1;
  }
  return lines;
}

int draw_legend(std::string& out, const Overlay& overlay, int y, svg::Fills& fills) {
  constexpr std::size_t kLength = 76;
  const std::size_t count = overlay.entries.size();
  const std::size_t columns = count > 4 ? 2 : 1;
  const std::size_t rows = (count + columns - 1) / columns;
  for (std::size_t i = 0; i < count; ++i) {
    const Overlay::Entry& entry = overlay.entries[i];
    const int x =
        kMargin + static_cast<int>(i / rows) * ((kWidth - 2 * kMargin) / static_cast<int>(columns));
    const int top = y + static_cast<int>(i % rows) * kLine;
    const std::string fill = svg::fill_of(entry, fills);
    std::string facts = entry.cpus.empty() ? "no CPUs" : "CPUs " + entry.cpus.to_string();
    if (!entry.memory.empty()) facts += " · memory " + entry.memory;
    out += fmt::format(
        "<g class=\"cpu {}\"><rect x=\"{}\" y=\"{}\" width=\"26\" height=\"16\" rx=\"2\" "
        "stroke-width=\"1\"{}/><rect x=\"{}\" y=\"{}\" width=\"26\" height=\"16\" rx=\"2\" "
        "class=\"swatch\"/><text x=\"{}\" y=\"{}\" class=\"label legend\">{}</text></g>\n",
        to_string(entry.use), x, top, fill.empty() ? "" : fmt::format(" fill=\"{}\"", fill), x, top,
        x + 13, top + 13, xml(entry.label));
    const std::size_t length = columns == 1 ? kLineLength : kLength;
    const std::string name = shortened(entry.text, length);
    const std::size_t rest = length - std::min(length - 8, display_width(name));
    out += fmt::format(
        "<text x=\"{}\" y=\"{}\" class=\"legend\">{}<tspan class=\"facts\" "
        "dx=\"10\">{}</tspan><title>{}</title></text>\n",
        x + 36, top + 13, xml(name), xml(shortened(facts, rest)), xml(entry.text + ", " + facts));
  }
  int at = y + static_cast<int>(rows) * kLine;
  for (const Overlay::Mark& mark : overlay.marks) {
    if (mark.cpus.empty()) continue;
    out += text_at(kMargin + 10, at + 13, "legend warn", mark.sign);
    out += text_at(kMargin + 36, at + 13, "legend",
                   shortened(mark.text + "   CPUs " + mark.cpus.to_string(), kLineLength));
    at += kLine;
  }
  return at - y;
}

/// Draws lines of a table, as a terminal shows them.
int draw_lines(std::string& out, const std::string& text, int y) {
  constexpr int kMonoLine = 16;
  int at = y;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (!line.empty()) {
      out +=
          fmt::format("<text x=\"{}\" y=\"{}\" class=\"mono\" xml:space=\"preserve\">{}</text>\n",
                      kMargin, at + 13, xml(line));
    }
    at += line.empty() ? kMonoLine / 2 : kMonoLine;
    begin = end + 1;
  }
  return at - y;
}

int draw_panel(std::string& out, const SvgPanel& panel, int y, svg::Fills& fills) {
  constexpr int kCaption = 30;
  int at = y;
  if (!panel.caption.empty()) {
    out += text_at(kMargin, at + 18, "caption", panel.caption);
    at += kCaption;
  }
  out += text_at(kMargin, at + 12, "subtitle", machine_facts(panel.machine, " · "));
  at += kLine + 6;
  at += svg::NodeDrawing(panel.machine, panel.picture).draw(out, at, fills);
  at += draw_legend(out, panel.picture.overlay, at, fills);
  if (!panel.picture.numa.empty()) {
    for (const std::string& line : fragmentation(panel.machine, panel.picture)) {
      out += text_at(kMargin, at + 18, "note", line);
      at += kLine;
    }
    at += 6;
  }
  for (const std::string& note : panel.notes) {
    for (const std::string& line : wrapped_words(note)) {
      out += text_at(kMargin, at + 18, "note", line);
      at += kLine;
    }
  }
  Picture plain;
  plain.pci = panel.picture.pci;
  plain.style.width = kLineLength;
  at += draw_lines(out, more_facts(panel.machine, plain), at);
  return at - y + kMargin;
}

}  // namespace

std::string render_svg(const std::string& title, const std::vector<SvgPanel>& panels) {
  constexpr int kTitle = 40;
  svg::Fills fills;
  std::string body = text_at(kMargin, kMargin + 20, "title", title);
  std::string description;
  int y = kMargin + kTitle;
  for (const SvgPanel& panel : panels) {
    y += draw_panel(body, panel, y, fills);
    description += panel.caption.empty() ? "" : panel.caption + ": ";
    description += machine_facts(panel.machine, ", ") + ".";
    for (const Overlay::Entry& entry : panel.picture.overlay.entries) {
      description += fmt::format(" {}: {}, CPUs {}.", entry.label, entry.text,
                                 entry.cpus.empty() ? "none" : entry.cpus.to_string());
    }
    description += panel.notes.empty() ? " " : fmt::format(" {} ", fmt::join(panel.notes, " "));
  }
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
             "viewBox=\"0 0 {0} {1}\" role=\"img\" aria-labelledby=\"title desc\">\n"
             "<title id=\"title\">{2}</title>\n<desc id=\"desc\">{3}</desc>\n",
             kWidth, y, xml(title), xml(description)) +
         kStyle + "<defs>\n" + svg::patterns(fills) + "</defs>\n" +
         fmt::format("<rect width=\"{}\" height=\"{}\" class=\"ground\"/>\n", kWidth, y) + body +
         "</svg>\n";
}

}  // namespace pinfold::tools
