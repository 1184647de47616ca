#pragma once

#include <string>

#include "parts.hpp"

/// The drawings of a node, by the number of its CPUs; each has its own file.
namespace pinfold::tools {

[[nodiscard]] std::string draw_boxes(const Machine& machine, const Scene& scene,
                                     const Picture& picture);
/// Draws one character per CPU, without its number.
[[nodiscard]] std::string draw_dense(const Scene& scene, const Picture& picture);
[[nodiscard]] std::string draw_table(const Machine& machine, const Layout& layout,
                                     const Picture& picture);

}  // namespace pinfold::tools
