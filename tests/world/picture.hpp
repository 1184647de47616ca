#pragma once

#include <string>

#include "world.hpp"

namespace pinfold::world {

/// Draws a history over its operations as an SVG image: a band for each action, and a row for each
/// container's group with its CPUs. Red: exclusive CPUs that another container runs on, and faults.
/// Domain: the outcome of a run with a log.
[[nodiscard]] std::string picture_of(const History& history, const Outcome& outcome);

}  // namespace pinfold::world
