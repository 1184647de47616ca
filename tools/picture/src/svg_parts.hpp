#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "pinfold/picture/picture.hpp"

/// The parts of an SVG image. Lengths are in pixels.
namespace pinfold::tools::svg {

inline constexpr int kWidth = 1280;
inline constexpr int kMargin = 24;
inline constexpr int kBetweenTexts = 8;

/// A class of text in the style sheet.
struct Font {
  const char* css;
  double size;
  bool is_bold;
};
inline constexpr Font kTitle{"title", 22, true};
inline constexpr Font kCaption{"caption", 18, true};
inline constexpr Font kOuter{"outer", 15, true};
inline constexpr Font kInner{"inner", 13.5, true};
inline constexpr Font kTile{"tile", 12, true};
inline constexpr Font kSubtitle{"subtitle", 15, false};
inline constexpr Font kFacts{"facts", 13, false};
inline constexpr Font kTileFacts{"tilefacts", 10.5, false};
inline constexpr Font kNote{"note", 15, false};
inline constexpr Font kSmallNote{"smallnote", 11.5, false};
inline constexpr Font kMono{"mono", 13, false};
/// Returns the rules of the style sheet for all fonts.
[[nodiscard]] std::string font_rules();
/// Returns a width that text does not exceed in common fonts.
[[nodiscard]] int text_width(const Font& font, std::string_view text);
/// Returns text that fits a width, with an ellipsis if characters are missing.
[[nodiscard]] std::string shortened(const Font& font, const std::string& text, int width);

/// Escapes text for an element or attribute: control characters as on a terminal, then as XML.
[[nodiscard]] std::string xml(std::string_view text);
/// Returns a <text> element.
[[nodiscard]] std::string text_at(int x, int y, const Font& font, std::string_view text);
/// Returns a <text> element of two fonts on one line. `title`: what a pointer over it shows; "":
/// nothing.
[[nodiscard]] std::string two_texts_at(int x, int y, const Font& font, std::string_view text,
                                       const Font& other_font, std::string_view other,
                                       std::string_view title = {});

/// The fills that a drawing uses: colour and pattern of exclusive CPUs.
using Fills = std::set<std::pair<std::size_t, std::size_t>>;
/// Returns the fill of an entry: "url(#e0p1)", or "" if its class determines it.
[[nodiscard]] std::string fill_of(const Overlay::Entry& entry, Fills& fills);
/// Returns the <pattern> elements of the fills.
[[nodiscard]] std::string patterns(const Fills& fills);

/// Where a drawing goes, and what was noticed while it was made.
struct Canvas {
  std::string out;
  Fills fills = {};
  bool has_cpus = true;    ///< false: the drawing is only measured, so CPUs are left out
  bool overflows = false;  ///< something is wider than its place
};

}  // namespace pinfold::tools::svg
