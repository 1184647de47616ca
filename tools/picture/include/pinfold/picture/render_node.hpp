#pragma once

#include <string>

#include "pinfold/machine/machine.hpp"
#include "pinfold/picture/picture.hpp"

namespace pinfold::tools {

/// Draws the node as text: sockets, NUMA nodes with memory and huge pages, last-level caches, cores
/// with their SMT siblings, distances, PCI devices. Draws every core of machines with up to 64
/// CPUs; with owners, one character per CPU up to 512 CPUs; otherwise a table with lists of CPUs.
[[nodiscard]] std::string render_node(const Machine& machine, const Picture& picture);

}  // namespace pinfold::tools
