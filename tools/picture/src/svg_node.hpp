#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "parts.hpp"
#include "svg_parts.hpp"

namespace pinfold::tools::svg {

/// How much detail a drawing has.
struct Form {
  int cpu_width;
  int cpu_height;
  bool has_number;   ///< in each CPU
  const char* size;  ///< the class that sets the size of the text in a CPU
  bool is_compact;   ///< caches have no titles, and bars of memory no amounts
};
struct Arrangement {
  Form form;
  int outers = 1;  ///< outer boxes side by side
  int inners = 1;  ///< inner boxes side by side in an outer one
};

/// Draws sockets, NUMA nodes, caches and cores, in as much detail as fits a slide. How it works:
/// it tries the forms from the most detailed one down, each with every number of boxes side by
/// side, and takes the first form whose lowest drawing is not higher than it may be.
class NodeDrawing {
 public:
  /// `most_height`: of the drawing, if a form is as low.
  NodeDrawing(const Machine& machine, const Picture& picture, int most_height);

  /// Draws the node from `y` down, and returns the height.
  int draw(Canvas& canvas, int y) const;

 private:
  struct Place {
    int x;
    int y;
    int width;
  };
  [[nodiscard]] Arrangement choose_arrangement() const;
  /// Returns the arrangement of a form with the lowest drawing, and its height.
  [[nodiscard]] std::optional<std::pair<int, Arrangement>> lowest(const Form& form) const;

  int draw(Canvas& canvas, const Arrangement& arrangement, int y) const;
  int draw_outer(Canvas& canvas, const Arrangement& arrangement, const Scene::Outer& outer,
                 const Place& place) const;
  [[nodiscard]] const Scene::Title* only_numa(const Scene::Outer& outer) const;
  int draw_inners(Canvas& canvas, const Arrangement& arrangement, const Scene::Outer& outer,
                  const Place& place) const;
  int draw_title(Canvas& canvas, const Form& form, const Scene::Title& title, const Font& font,
                 const Place& place) const;
  [[nodiscard]] std::vector<std::string> facts_of(const Scene::Title& title,
                                                  const Form& form) const;
  int draw_memory(Canvas& canvas, const Form& form, int numa, const Place& place) const;
  int draw_caches(Canvas& canvas, const Form& form, const std::vector<Scene::Cache>& caches,
                  const Place& place) const;
  void draw_core(Canvas& canvas, const Form& form, const CpuSet& core, int x, int y) const;
  void draw_cpu(Canvas& canvas, const Form& form, CpuId cpu, int x, int y) const;
  [[nodiscard]] int columns_in_core(const Form& form) const;
  [[nodiscard]] int rows_in_core(const Form& form) const;
  [[nodiscard]] int core_width(const Form& form) const;
  [[nodiscard]] int core_height(const Form& form) const;
  [[nodiscard]] bool has_use(int numa) const;

  const Machine& machine_;
  const Picture& picture_;
  int most_height_;
  Scene scene_;
  int threads_;                    ///< of the core with the most
  std::vector<std::size_t> free_;  ///< CPUs of each NUMA node, by position
  Arrangement arrangement_;
};

}  // namespace pinfold::tools::svg
