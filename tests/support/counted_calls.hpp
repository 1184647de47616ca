#pragma once

#include <cstdint>

/// Counts what a program does, in numbers that do not depend on the load of the machine.
namespace pinfold::test {

/// Returns how often the program has called operator new, which counted_allocations.cpp replaces.
[[nodiscard]] std::uint64_t allocations();
/// Returns how often it has called fsync and fdatasync, which counted_syncs.cpp replaces.
[[nodiscard]] std::uint64_t syncs();

}  // namespace pinfold::test
