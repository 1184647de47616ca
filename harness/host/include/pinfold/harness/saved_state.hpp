#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"

namespace pinfold::harness {

/// Returns QEMU's name for the memory of a NUMA node: "m0".
[[nodiscard]] std::string node_memory_name(std::size_t node);

/// A page of a NUMA node's memory. `bytes` has kPageBytes, or is empty for a page of zeros.
struct SavedPage {
  std::string_view memory;  ///< the name of the memory
  std::uint64_t offset = 0;
  std::string_view bytes;
};
inline constexpr std::size_t kPageBytes = 4096;

/// The memory of a NUMA node in a saved machine.
struct SavedMemory {
  std::string name;
  std::uint64_t bytes = 0;
};

/// A saved machine without the memory of its NUMA nodes.
struct SavedState {
  std::vector<SavedMemory> memory;  ///< the memory that is left out
  std::string stream;               ///< QEMU reads it like any other saved machine
};

/// Separates the memory of NUMA nodes from a saved machine: calls `on_page` for each of its pages,
/// in the order of the stream; the last call for a page counts. QEMU need not read memory from the
/// stream that it can map from files. Source: QEMU's docs/devel/migration/main.rst and
/// migration/ram.c (7.2, 10.0).
/// Errors: kCorrupt if the stream is not in the format of these versions, and those of `on_page`.
[[nodiscard]] Result<SavedState> split_saved_state(
    std::string_view stream, const std::function<Result<void>(const SavedPage&)>& on_page);

/// Returns QEMU's command line for a snapshot "DIR/KEY.vm": the memory of each NUMA node is mapped
/// from a file, "DIR/KEY.m0", which QEMU changes only in its own copy.
[[nodiscard]] std::vector<std::string> with_saved_memory(std::vector<std::string> command,
                                                         const std::filesystem::path& snapshot);

}  // namespace pinfold::harness
