#include "pinfold/picture/render_node.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "drawings.hpp"
#include "facts.hpp"
#include "parts.hpp"
#include "pinfold/picture/numa_use.hpp"
#include "pinfold/text/message.hpp"

namespace pinfold::tools {
namespace {

// More boxes than this would fill several screens.
constexpr std::size_t kMaxBoxedCpus = 64;
constexpr std::size_t kMaxBoxedParts = 16;
// More characters than this would, too.
constexpr std::size_t kMaxDenseCpus = 512;

std::string headline(const Machine& machine, const Style& style) {
  const std::string name =
      machine.name().empty() ? "" : paint(style, Paint::kBold, machine.name()) + "   ";
  const std::string kinds = core_kinds(machine);
  return name + machine_facts(machine, glyphs(style).dot) + "\n" +
         (kinds.empty() ? "" : wrapped_lines(kinds + "\n", style));
}

std::string legend(const Picture& picture) {
  const Overlay& overlay = picture.overlay;
  const Style& style = picture.style;
  if (overlay.entries.empty()) return "";
  // Limits the width of the list of CPUs, so that the rest of the line fits.
  std::size_t text = 0;
  for (const Overlay::Entry& entry : overlay.entries) {
    text = std::max(text, display_width(entry.text) + display_width(entry.memory));
  }
  const std::size_t list = style.width - std::min(style.width - 30, text + 20);
  TextTable table({{""}, {"CPUs"}, {"load", TextTable::Align::kRight}, {"used by"}, {"memory"}});
  for (std::size_t i = 0; i < overlay.entries.size(); ++i) {
    const Overlay::Entry& entry = overlay.entries[i];
    const auto load = load_of(picture, entry.cpus);
    const auto lines = wrapped_list(entry.cpus.empty() ? "none" : entry.cpus.to_string(), list);
    table.add_painted({paint(style, paint_of(overlay, i), entry.label), lines.front(),
                       load ? fmt::format("{:.0f} %", *load * 100) : "", escaped(entry.text),
                       escaped(entry.memory)});
    for (std::size_t line = 1; line < lines.size(); ++line) table.add({"", lines[line]});
  }
  for (const Overlay::Mark& mark : overlay.marks) {
    const auto lines = wrapped_list(mark.cpus.to_string(), list);
    if (lines.empty()) continue;
    table.add_painted({paint(style, mark.is_problem ? Paint::kRed : Paint::kBold, mark.sign),
                       lines.front(), "", escaped(mark.text)});
    for (std::size_t line = 1; line < lines.size(); ++line) table.add({"", lines[line]});
  }
  return "\n" + table.render(style, 2);
}

}  // namespace

std::string render_node(const Machine& machine, const Picture& picture) {
  const Style& style = picture.style;
  const Layout layout = lay_out(machine);
  const std::size_t cpus = machine.cpus().size();
  std::string out = headline(machine, style) + "\n";
  if (cpus <= kMaxBoxedCpus && layout.parts.size() <= kMaxBoxedParts) {
    out += draw_boxes(machine, make_scene(machine, layout), picture);
  } else if (cpus <= kMaxDenseCpus && !picture.overlay.entries.empty()) {
    out += draw_dense(make_scene(machine, layout), picture);
  } else {
    out += draw_table(machine, layout, picture);
  }
  out += legend(picture);
  out += draw_numa_use(machine, picture);
  return out + more_facts(machine, picture);
}

}  // namespace pinfold::tools
