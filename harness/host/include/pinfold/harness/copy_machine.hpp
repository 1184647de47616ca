#pragma once

#include <cstdint>
#include <optional>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/machine_copy.hpp"
#include "pinfold/harness/source_traits.hpp"
#include "pinfold/machine/machine.hpp"

namespace pinfold::harness {

/// Copies a machine. If it has more than `memory` bytes (nullopt: 4 GiB, or the least that its NUMA
/// nodes need), its memory is scaled down to that. Everything that the source has and the copy does
/// not is among the differences. Errors: kInvalidArgument if `memory` is too little for its NUMA
/// nodes.
[[nodiscard]] Result<MachineCopy> copy_machine(const Machine& source, const SourceTraits& traits,
                                               std::optional<std::uint64_t> memory);

}  // namespace pinfold::harness
