#pragma once

#include <cstdint>

/// Counts what a program does, in numbers that do not depend on the load of the machine.
namespace pinfold::test {

/// Returns how often the program has called operator new, which counted_allocations.cpp replaces.
[[nodiscard]] std::uint64_t allocations();
/// Returns how often it has called fsync and fdatasync, which counted_syncs.cpp replaces.
[[nodiscard]] std::uint64_t syncs();

/// Both numbers, since the start of the program or between two moments.
struct CountedCalls {
  static CountedCalls now() { return {test::allocations(), test::syncs()}; }
  friend CountedCalls operator-(const CountedCalls& after, const CountedCalls& before) {
    return {after.allocations - before.allocations, after.syncs - before.syncs};
  }

  std::uint64_t allocations = 0;
  std::uint64_t syncs = 0;
};

}  // namespace pinfold::test
