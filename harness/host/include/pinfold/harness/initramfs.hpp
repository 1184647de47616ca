#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/cpio.hpp"
#include "pinfold/harness/guest_programs.hpp"
#include "pinfold/harness/image.hpp"

namespace pinfold::harness {

/// Returns the names of busybox's applets, as symbolic links to /bin/busybox.
[[nodiscard]] Result<std::vector<CpioEntry>> busybox_links(const std::filesystem::path& busybox);

/// Builds the initramfs: busybox, the agent as /init, the programs, and the kernel modules and
/// other files in `files`. Returns a file in the cache, named after its content.
[[nodiscard]] Result<std::filesystem::path> build_initramfs(
    const Image& image, const std::filesystem::path& agent,
    const std::vector<GuestProgram>& programs, const std::vector<CpioEntry>& files);

/// Data to load into a running guest: the contents of files, one after the other.
struct GuestLoad {
  struct File {
    std::string path;
    std::size_t offset = 0;
    std::size_t size = 0;
  };
  std::vector<File> files;
  std::string bytes;
};

/// Collects programs with their libraries, and files.
[[nodiscard]] Result<GuestLoad> load_of(const std::vector<GuestProgram>& programs,
                                        std::vector<CpioEntry> files, Arch arch);

}  // namespace pinfold::harness
