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

/// QEMU's name of the memory of a NUMA node: "m0".
[[nodiscard]] std::string node_memory_name(std::size_t node);

/// A page of the memory of a NUMA node. `bytes` has kPageBytes, or is empty: they are all zero.
struct SavedPage {
  std::string_view memory;  ///< its name
  std::uint64_t offset = 0;
  std::string_view bytes;
};
inline constexpr std::size_t kPageBytes = 4096;

/// The memory of a NUMA node in a saved machine.
struct SavedMemory {
  std::string name;
  std::uint64_t bytes = 0;
};

/// What is left of a saved machine without the memory of its NUMA nodes.
struct SavedState {
  std::vector<SavedMemory> memory;  ///< what is missing
  std::string stream;               ///< QEMU reads it like any other
};

/// Takes the memory of NUMA nodes out of a saved machine: calls `on_page` for each page of it, in
/// the order of the stream; the last word on a page counts. QEMU need not read what is in files
/// that it can map. Source: QEMU's docs/devel/migration/main.rst and migration/ram.c (7.2, 10.0).
/// Errors: kCorrupt if the stream is not as these versions write it, and those of `on_page`.
[[nodiscard]] Result<SavedState> split_saved_state(
    std::string_view stream, const std::function<Result<void>(const SavedPage&)>& on_page);

/// QEMU's command line for a snapshot, "DIR/KEY.vm": the memory of each NUMA node is that of a
/// file, "DIR/KEY.m0", of which QEMU changes only its own copy.
[[nodiscard]] std::vector<std::string> with_saved_memory(std::vector<std::string> command,
                                                         const std::filesystem::path& snapshot);

}  // namespace pinfold::harness
