#include "pinfold/picture/svg.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "facts.hpp"
#include "parts.hpp"
#include "pinfold/picture/numa_use.hpp"
#include "pinfold/types/named.hpp"
#include "svg_node.hpp"
#include "svg_parts.hpp"

namespace pinfold::tools {
namespace {

using svg::Canvas;
using svg::kMargin;
using svg::kWidth;
using svg::text_at;
using svg::xml;

/// The style sheet, without the fonts of svg_parts.hpp.
constexpr const char* kStyle =
    R"(svg { --ground: #ffffff; --ink: #1b1f24; --muted: #4d565f; --line: #8c959f; --panel: #f4f6f8;
  --free: #ffffff; --hatch: #9aa4ae; --held: #3f6fb5; --warn: #c1121f; }
@media (prefers-color-scheme: dark) {
  svg { --ground: #0d1117; --ink: #e8edf2; --muted: #a9b4c0; --line: #6b7683; --panel: #161b22;
    --free: #0d1117; --hatch: #6b7683; --held: #7aa7e8; --warn: #ff7b72; }
}
text { font-family: system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--ink); }
.ground { fill: var(--ground); }
.subtitle, .facts, .tilefacts { fill: var(--muted); }
.mono { font-family: ui-monospace, "DejaVu Sans Mono", monospace; white-space: pre; }
.frame { fill: var(--panel); stroke: var(--line); }
.core { fill: none; stroke: var(--line); }
.cpu text { text-anchor: middle; }
.cpu rect { stroke: none; }
.cpu rect.swatch { fill: none; stroke: var(--line); }
.shared rect { fill: var(--free); }
.offline rect { fill: none; stroke: var(--line); stroke-dasharray: 2 2; }
.exclusive text { fill: #101418; }
.cpu rect.marked { stroke: var(--warn); stroke-width: 2.5; }
.cpu rect.change { stroke: var(--held); stroke-dasharray: 5 2; }
.needed { fill: none; stroke: var(--ink); stroke-dasharray: 3 2; }
.number { font-size: 10px; }
.label { font-weight: 700; }
.big .number { font-size: 12px; }
.big .label { font-size: 16px; }
.mid .label { font-size: 12px; }
.mid .number { font-size: 9px; }
.small .label { font-size: 10px; }
.tiny .label { font-size: 8px; }
.bar { fill: var(--free); stroke: var(--line); }
.held { fill: var(--held); }
.hatchground { fill: var(--panel); }
.hatch { stroke: var(--hatch); fill: none; }
.shape { stroke: #101418; stroke-opacity: 0.28; fill: none; }
.warn { fill: var(--warn); font-weight: 700; }
.plan { fill: var(--held); font-weight: 700; }
)";

constexpr int kInside = kWidth - 2 * kMargin;
constexpr int kLine = 22;
constexpr int kSlide = 720;  ///< the height of 16:9, which all panels together keep to if they can

/// Breaks words into lines that fit the image.
std::vector<std::string> wrapped_words(const std::string& text) {
  std::vector<std::string> lines(1);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    const std::string longer = lines.back() + (lines.back().empty() ? "" : " ") + word;
    if (svg::text_width(svg::kNote, longer) <= kInside || lines.back().empty()) {
      lines.back() = longer;
    } else {
      lines.push_back(word);
    }
    begin = end + 1;
  }
  return lines;
}

/// Draws sentences of a font, each on as many lines as it needs, and returns their height.
int draw_sentences(Canvas& canvas, const std::vector<std::string>& sentences, int y) {
  int at = y;
  for (const std::string& sentence : sentences) {
    for (const std::string& line : wrapped_words(sentence)) {
      canvas.out +=
          text_at(kMargin, at + 17, svg::kNote, svg::shortened(svg::kNote, line, kInside));
      at += kLine;
    }
  }
  return at - y;
}

/// The form of a legend: small type and more columns for many entries.
struct LegendForm {
  svg::Font name;
  svg::Font facts;
  int line;
  int box_width;
  int box_height;
  std::size_t columns;

  [[nodiscard]] int text_at() const { return box_width + 10; }
};
using Entries = std::vector<const Overlay::Entry*>;

LegendForm legend_form(const Entries& entries) {
  constexpr std::size_t kMany = 16;
  constexpr std::size_t kFew = 4;
  constexpr std::size_t kVeryMany = 40;
  if (entries.size() <= kMany) {
    return {svg::kNote, svg::kFacts, kLine, 26, 18, entries.size() > kFew ? 2U : 1U};
  }
  LegendForm form{svg::kSmallNote, svg::kTileFacts, 13, 20, 11, 1};
  int longest = 1;
  for (const Overlay::Entry* const entry : entries) {
    longest = std::max(longest, svg::text_width(form.name, entry->text));
  }
  const int width = form.text_at() + longest + kMargin / 2;
  const std::size_t most = entries.size() > kVeryMany ? 8 : 5;
  form.columns = std::clamp<std::size_t>(static_cast<std::size_t>(kInside / width), 2, most);
  return form;
}

/// Draws an entry: its name, and as many whole facts as fit after it. A pointer over it shows all.
void draw_entry(Canvas& canvas, const Overlay::Entry& entry, const LegendForm& form, int x, int y,
                int width) {
  const int text_at = form.text_at();
  const std::string fill = svg::fill_of(entry, canvas.fills);
  const std::string cpus = cpus_named(entry.cpus);
  const std::string all = entry.memory.empty() ? cpus : cpus + " · memory " + entry.memory;
  canvas.out += fmt::format(
      "<g class=\"cpu {0}\"><rect x=\"{1}\" y=\"{2}\" width=\"{3}\" height=\"{4}\" rx=\"2\"{5}/>"
      "<rect x=\"{1}\" y=\"{2}\" width=\"{3}\" height=\"{4}\" rx=\"2\" class=\"swatch\"/>"
      "<text x=\"{6}\" y=\"{7}\" class=\"label {8}\">{9}</text></g>\n",
      to_string(entry.use), x, y, form.box_width, form.box_height,
      fill.empty() ? "" : fmt::format(" fill=\"{}\"", fill), x + form.box_width / 2,
      y + form.box_height - 4 + (form.box_height < kLine / 2 + 4 ? 2 : 0), form.name.css,
      xml(entry.label));
  const int most = width - text_at - kMargin / 2;
  const std::string name = svg::shortened(form.name, entry.text, most);
  const int rest = most - svg::text_width(form.name, name) - svg::kBetweenTexts;
  std::string facts;
  for (const std::string& one : {all, cpus}) {
    if (facts.empty() && svg::text_width(form.facts, one) <= rest) facts = one;
  }
  canvas.out += svg::two_texts_at(x + text_at, y + form.box_height - 4, form.name, name, form.facts,
                                  facts, entry.text + ", " + all);
}

/// Draws entries in columns, and returns their height.
int draw_entries(Canvas& canvas, const Entries& entries, const LegendForm& form, int y) {
  const std::size_t rows = (entries.size() + form.columns - 1) / form.columns;
  const int width = kInside / static_cast<int>(form.columns);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    draw_entry(canvas, *entries[i], form, kMargin + static_cast<int>(i / rows) * width,
               y + static_cast<int>(i % rows) * form.line, width);
  }
  return static_cast<int>(rows) * form.line;
}

/// Draws the owners of exclusive CPUs, the other uses of CPUs, which have longer names, and marks.
int draw_legend(Canvas& canvas, const Overlay& overlay, int y) {
  constexpr std::size_t kOthersSideBySide = 3;
  Entries owners;
  Entries others;
  for (const Overlay::Entry& entry : overlay.entries) {
    (entry.use == CpuUse::kExclusive ? owners : others).push_back(&entry);
  }
  LegendForm form = legend_form(owners);
  const bool is_small = form.line < kLine;
  if (!is_small) {
    owners.insert(owners.end(), others.begin(), others.end());
    form = legend_form(owners);
  }
  int at = y + draw_entries(canvas, owners, form, y);
  if (is_small) {
    form.columns = kOthersSideBySide;
    at += draw_entries(canvas, others, form, at);
  }
  for (const Overlay::Mark& mark : overlay.marks) {
    if (mark.cpus.empty()) continue;
    canvas.out += fmt::format("<text x=\"{}\" y=\"{}\" class=\"{} note\">{}</text>\n", kMargin + 10,
                              at + 14, mark.is_problem ? "warn" : "plan", xml(mark.sign));
    canvas.out +=
        text_at(kMargin + 36, at + 14, svg::kNote,
                svg::shortened(svg::kNote, mark.text + ": " + cpus_named(mark.cpus), kInside - 36));
    at += kLine;
  }
  return at - y;
}

/// Draws a box for each CPU that a pod needs, as many as fit three rows.
int draw_needed(Canvas& canvas, const NeededCpus& needed, int y) {
  constexpr int kBox = 20;
  constexpr int kStep = 24;
  constexpr std::size_t kInRow = kInside / kStep;
  const std::size_t count = std::min(needed.count, 3 * kInRow);
  canvas.out += text_at(kMargin, y + 14, svg::kNote, needed.text);
  for (std::size_t i = 0; i < count; ++i) {
    canvas.out += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"3\" class=\"needed\"/>\n",
        kMargin + static_cast<int>(i % kInRow) * kStep,
        y + kLine + static_cast<int>(i / kInRow) * kStep, kBox, kBox);
  }
  return kLine + static_cast<int>((count + kInRow - 1) / kInRow) * kStep + 8;
}

/// Draws lines of a table, as a terminal shows them.
int draw_lines(Canvas& canvas, const std::string& text, int y) {
  constexpr int kMonoLine = 17;
  int at = y;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (!line.empty()) {
      canvas.out +=
          fmt::format("<text x=\"{}\" y=\"{}\" class=\"mono\" xml:space=\"preserve\">{}</text>\n",
                      kMargin, at + 14, xml(line));
    }
    at += line.empty() ? kMonoLine / 2 : kMonoLine;
    begin = end + 1;
  }
  return at - y;
}

/// Draws what follows the machine: the legend and the sentences.
int draw_below(Canvas& canvas, const SvgPanel& panel, int y) {
  constexpr std::size_t kColumns = 150;       // of fixed width, in kInside
  constexpr std::size_t kMostDistances = 16;  // NUMA nodes; a table of more would fill the slide
  int at = y;
  if (panel.needed) at += draw_needed(canvas, *panel.needed, at);
  at += draw_legend(canvas, panel.picture.overlay, at);
  if (!panel.picture.numa.empty()) {
    at += draw_sentences(canvas, fragmentation(panel.machine, panel.picture), at) + 4;
  }
  at += draw_sentences(canvas, panel.notes, at);
  Picture plain;
  plain.pci = panel.picture.pci;
  plain.style.width = kColumns;
  at += draw_lines(canvas, more_facts(panel.machine, plain, kMostDistances), at);
  return at - y;
}

/// Returns how high the drawing of the machine may be: what a panel of `height` leaves after
/// `above` it and the legend and sentences below it.
int height_of_drawing(const SvgPanel& panel, int height, int above) {
  constexpr int kLeast = 200;  // a lower one shows nothing
  constexpr int kMost = 530;
  Canvas measured;
  return std::clamp(height - above - draw_below(measured, panel, 0) - kMargin, kLeast, kMost);
}

/// `height`: of the panel, if it has not much more to show.
int draw_panel(Canvas& canvas, const SvgPanel& panel, int y, int height) {
  constexpr int kCaption = 30;
  int at = y;
  if (!panel.caption.empty()) {
    canvas.out += text_at(kMargin, at + 18, svg::kCaption,
                          svg::shortened(svg::kCaption, panel.caption, kInside));
    at += kCaption;
  }
  canvas.out +=
      text_at(kMargin, at + 12, svg::kSubtitle,
              svg::shortened(svg::kSubtitle, machine_facts(panel.machine, " · "), kInside));
  at += kLine + 2;
  if (const std::string kinds = core_kinds(panel.machine); !kinds.empty()) {
    at += draw_sentences(canvas, {kinds}, at - kLine / 3);
  }
  const int most = height_of_drawing(panel, height, at - y);
  at += svg::NodeDrawing(panel.machine, panel.picture, most).draw(canvas, at);
  at += draw_below(canvas, panel, at);
  return at - y + kMargin;
}

std::string described(const SvgPanel& panel) {
  std::string text = panel.caption.empty() ? "" : panel.caption + ": ";
  text += machine_facts(panel.machine, ", ") + ".";
  if (const std::string kinds = core_kinds(panel.machine); !kinds.empty())
    text += " " + kinds + ".";
  for (const Overlay::Entry& entry : panel.picture.overlay.entries) {
    text += fmt::format(" {}: {}, {}.", entry.label, entry.text, cpus_named(entry.cpus));
  }
  for (const Overlay::Mark& mark : panel.picture.overlay.marks) {
    text += fmt::format(" {}: {}.", mark.text, cpus_named(mark.cpus));
  }
  if (panel.needed) text += " " + panel.needed->text + ".";
  return text + (panel.notes.empty() ? " " : fmt::format(" {} ", fmt::join(panel.notes, " ")));
}

}  // namespace

std::string render_svg(const std::string& title, const std::vector<SvgPanel>& panels) {
  constexpr int kTitleHeight = 40;
  Canvas canvas;
  canvas.out =
      text_at(kMargin, kMargin + 20, svg::kTitle, svg::shortened(svg::kTitle, title, kInside));
  std::string description;
  int y = kMargin + kTitleHeight;
  const int height = (kSlide - y) / std::max(1, static_cast<int>(panels.size()));
  for (const SvgPanel& panel : panels) {
    y += draw_panel(canvas, panel, y, height);
    description += described(panel);
  }
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
             "viewBox=\"0 0 {0} {1}\" role=\"img\" aria-labelledby=\"title desc\">\n"
             "<title id=\"title\">{2}</title>\n<desc id=\"desc\">{3}</desc>\n",
             kWidth, y, xml(title), xml(description)) +
         "<style>\n" + svg::font_rules() + kStyle + "</style>\n<defs>\n" +
         svg::patterns(canvas.fills) + "</defs>\n" +
         fmt::format("<rect width=\"{}\" height=\"{}\" class=\"ground\"/>\n", kWidth, y) +
         canvas.out + "</svg>\n";
}

}  // namespace pinfold::tools
