#pragma once

#include <span>

#include "pinfold/decide/decide.hpp"
#include "pinfold/fields/types.hpp"

namespace pinfold {

[[nodiscard]] std::span<const Isolation> enumerators(Isolation type);

/// A container in its pod, as every document shows it.
void describe(fields::Fields& fields, ContainerResources& container);
/// The members with the values for its control group, which some documents add.
void describe(fields::Fields& fields, LinuxResources& resources);

/// Returns the names of the active pods.
[[nodiscard]] PodNames names_of_pods(const NodeState& state);

}  // namespace pinfold
