#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "parts.hpp"

/// The parts of an SVG image. Lengths are in pixels.
namespace pinfold::tools::svg {

inline constexpr int kWidth = 1280;
inline constexpr int kMargin = 24;

/// Escapes text for an element or attribute: control characters as on a terminal, then as XML.
[[nodiscard]] std::string xml(std::string_view text);
/// Returns a <text> element of a class.
[[nodiscard]] std::string text_at(int x, int y, std::string_view css, std::string_view text);

/// The fills that a drawing uses: colour and pattern of exclusive CPUs.
using Fills = std::set<std::pair<std::size_t, std::size_t>>;
/// Returns the fill of an entry: "url(#e0p1)", or "" if its class determines it.
[[nodiscard]] std::string fill_of(const Overlay::Entry& entry, Fills& fills);
/// Returns the <pattern> elements of the fills.
[[nodiscard]] std::string patterns(const Fills& fills);

/// Draws sockets, NUMA nodes, caches and cores.
class NodeDrawing {
 public:
  NodeDrawing(const Machine& machine, const Picture& picture);

  /// Draws the node from `y` down, and returns the height. Adds the used fills to `fills`.
  int draw(std::string& out, int y, Fills& fills) const;

 private:
  /// The size of a CPU, depending on their number.
  struct Cell {
    int width = 0;
    int height = 0;
    bool has_number = true;
    const char* size = "";  ///< the class that sets the size of its text
  };
  int draw_outer(std::string& out, const Scene::Outer& outer, int x, int y, int width,
                 Fills& fills) const;
  int draw_title(std::string& out, const Scene::Title& title, const char* css, int x, int y) const;
  int draw_memory(std::string& out, int numa, int x, int y) const;
  int draw_caches(std::string& out, const Scene::Inner& inner, int x, int y, int width,
                  Fills& fills) const;
  void draw_core(std::string& out, const CpuSet& core, int x, int y, Fills& fills) const;
  void draw_cpu(std::string& out, CpuId cpu, int x, int y, Fills& fills) const;
  [[nodiscard]] int columns() const;
  [[nodiscard]] int height_in(int columns) const;

  const Machine& machine_;
  const Picture& picture_;
  Scene scene_;
  Cell cell_;
  int rows_in_core_ = 1;
  int columns_in_core_ = 1;
};

}  // namespace pinfold::tools::svg
