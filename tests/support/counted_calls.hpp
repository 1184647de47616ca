#pragma once

#include <cstdint>

/// Counts what a program does, in numbers that do not depend on the load of the machine. A program
/// that uses them compiles counted_calls.cpp, which replaces functions of the C library.
namespace pinfold::test {

/// Returns how often the program has called operator new.
[[nodiscard]] std::uint64_t allocations();
/// Returns how often it has called fsync and fdatasync.
[[nodiscard]] std::uint64_t syncs();

}  // namespace pinfold::test
