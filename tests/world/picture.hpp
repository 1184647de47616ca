#pragma once

#include <string>

#include "world.hpp"

namespace pinfold::world {

/// A history over its operations as an SVG image: a band for each action, a row for each group in
/// which a container is, with its CPUs; red: exclusive CPUs on which another one runs, and faults.
/// Domain: the outcome of a run with a log.
[[nodiscard]] std::string picture_of(const History& history, const Outcome& outcome);

}  // namespace pinfold::world
