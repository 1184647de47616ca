#include "svg_parts.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "parts.hpp"
#include "pinfold/text/message.hpp"
#include "pinfold/text/xml.hpp"

namespace pinfold::tools::svg {
namespace {

constexpr std::size_t kColours = 7;
constexpr std::size_t kPatterns = 4;
// The palette of Okabe and Ito for colour-blind readers, lightened for dark text.
constexpr std::array<const char*, kColours> kFills = {"#f3bd62", "#9fd3f0", "#7fcfb4", "#f2e58a",
                                                      "#93b5e1", "#f2a287", "#dfa6c6"};

}  // namespace

std::string xml(std::string_view text) { return escape_xml(escaped(text)); }

std::string text_at(int x, int y, const Font& font, std::string_view text) {
  return fmt::format("<text x=\"{}\" y=\"{}\" class=\"{}\">{}</text>\n", x, y, font.css, xml(text));
}

std::string two_texts_at(int x, int y, const Font& font, std::string_view text,
                         const Font& other_font, std::string_view other, std::string_view title) {
  std::string out =
      fmt::format("<text x=\"{}\" y=\"{}\" class=\"{}\">{}", x, y, font.css, xml(text));
  if (!other.empty()) {
    out += fmt::format("<tspan class=\"{}\" dx=\"{}\">{}</tspan>", other_font.css, kBetweenTexts,
                       xml(other));
  }
  if (!title.empty()) out += fmt::format("<title>{}</title>", xml(title));
  return out + "</text>\n";
}

std::string font_rules() {
  std::string rules;
  for (const Font& font : {kTitle, kCaption, kOuter, kInner, kTile, kSubtitle, kFacts, kTileFacts,
                           kNote, kSmallNote, kMono}) {
    rules += fmt::format(".{} {{ font-size: {}px; font-weight: {}; }}\n", font.css, font.size,
                         font.is_bold ? 600 : 400);
  }
  return rules;
}

int text_width(const Font& font, std::string_view text) {
  // DejaVu Sans, which is wider than most other fonts, for words and numbers.
  const double character = font.is_bold ? 0.69 : 0.6;
  return static_cast<int>(
      std::ceil(static_cast<double>(display_width(text)) * font.size * character));
}

std::string shortened(const Font& font, const std::string& text, int width) {
  if (text_width(font, text) <= width) return text;
  const int ellipsis = text_width(font, "…");
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t next = at + 1;
    while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xc0U) == 0x80U) ++next;
    if (text_width(font, text.substr(0, next)) + ellipsis > width) break;
    out = text.substr(0, next);
    at = next;
  }
  return out + "…";
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

}  // namespace pinfold::tools::svg
