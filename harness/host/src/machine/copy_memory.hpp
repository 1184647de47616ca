#pragma once

#include <cstdint>
#include <optional>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/machine_copy.hpp"
#include "pinfold/machine/machine.hpp"

namespace pinfold::harness {

/// Gives the NUMA nodes of a copy memory and huge pages in proportion to the source, at most
/// `budget` bytes in all (nullopt: 4 GiB, or the least that they need). Domain: the copy already
/// has its nodes and CPUs. Errors: kInvalidArgument if the budget is too small.
[[nodiscard]] Result<void> copy_memory(MachineCopy& copy, const Machine& source,
                                       std::optional<std::uint64_t> budget);

}  // namespace pinfold::harness
