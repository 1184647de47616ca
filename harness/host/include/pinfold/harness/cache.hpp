#pragma once

#include <cstdint>
#include <filesystem>

/// The files that can be rebuilt: downloads, initramfs, snapshots.
namespace pinfold::harness {

/// Returns the directory for everything that can be rebuilt: $PINFOLD_CACHE, else
/// $XDG_CACHE_HOME/pinfold, else ~/.cache/pinfold.
[[nodiscard]] std::filesystem::path cache_folder();

/// Removes the least recently used files of a cache directory until it takes at most `max_bytes` on
/// disk, but none used in the last ten minutes. Files with the same name up to the first dot are
/// kept or removed together.
void prune_cache(const std::filesystem::path& folder, std::uintmax_t max_bytes);

}  // namespace pinfold::harness
