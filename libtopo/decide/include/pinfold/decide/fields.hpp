#pragma once

#include <span>

#include "pinfold/decide/resize.hpp"
#include "pinfold/fields/types.hpp"

namespace pinfold {

[[nodiscard]] std::span<const Isolation> enumerators(Isolation type);
[[nodiscard]] std::span<const ResizeReason> enumerators(ResizeReason type);

/// A container in its pod, as every document shows it.
void describe(fields::Fields& fields, ContainerResources& container);
/// The members with the values for its control group, which some documents add.
void describe(fields::Fields& fields, MemoryQos& qos);
void describe(fields::Fields& fields, LinuxResources& resources);

void describe(fields::Fields& fields, NotResized& refused);

/// Returns the names of the active pods.
[[nodiscard]] PodNames names_of_pods(const NodeState& state);

}  // namespace pinfold
