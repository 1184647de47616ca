#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pinfold/base/result.hpp"

namespace pinfold::harness {

/// Directory of everything that can be built again: $PINFOLD_CACHE, else $XDG_CACHE_HOME/pinfold,
/// else ~/.cache/pinfold.
[[nodiscard]] std::filesystem::path cache_folder();

/// A kernel and a busybox from Debian packages.
struct Image {
  std::filesystem::path kernel;
  std::filesystem::path busybox;
  std::filesystem::path modules;  ///< a folder for each, with those that it needs
  std::string version;            ///< "6.1.0-56-cloud-amd64"
};

/// Asks the script vm-images/build for an image; it downloads what is missing.
/// Errors: kNotFound, kIo with the end of what the script said.
[[nodiscard]] Result<Image> prepare_image(const std::filesystem::path& script,
                                          const std::string& kernel);

/// Prepares the newer QEMU in the same way. Returns the program.
[[nodiscard]] Result<std::filesystem::path> prepare_qemu(const std::filesystem::path& script);

/// A program of the host that goes into the guest with the libraries it needs.
struct GuestProgram {
  std::filesystem::path host_path;
  std::string guest_path;  ///< "/usr/bin/pinfold"
};

/// The initramfs: busybox, the agent as /init, programs, and the kernel modules of these names.
/// Returns the file, in the cache, named after its content.
[[nodiscard]] Result<std::filesystem::path> build_initramfs(
    const Image& image, const std::filesystem::path& agent,
    const std::vector<GuestProgram>& programs, const std::vector<std::string>& modules);

/// Removes what has not been used for long from a folder of the cache, and keeps the newest.
void prune_cache(const std::filesystem::path& folder, std::size_t keep);

}  // namespace pinfold::harness
