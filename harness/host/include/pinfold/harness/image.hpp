#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/cpio.hpp"
#include "pinfold/harness/platform.hpp"

namespace pinfold::harness {

/// Returns the directory for everything that can be rebuilt: $PINFOLD_CACHE, else
/// $XDG_CACHE_HOME/pinfold, else ~/.cache/pinfold.
[[nodiscard]] std::filesystem::path cache_folder();

/// A kernel and a busybox from Debian packages.
struct Image {
  std::filesystem::path kernel;
  std::filesystem::path busybox;
  std::filesystem::path modules;  ///< all modules, with modules.dep; empty for a bare image
  std::string version;            ///< "6.1.0-56-cloud-amd64"
  Arch arch = Arch::kAmd64;
  bool unchecked = false;  ///< a user's kernel whose configuration is unknown
};

/// Prepares an image with the script vm-images/build, which downloads missing parts.
/// Errors: kNotFound; kIo with the end of the script's output.
[[nodiscard]] Result<Image> prepare_image(const std::filesystem::path& script,
                                          const std::string& kernel, Arch arch);

/// Runs the script with arguments. Returns the directory that it prints.
/// Errors: kIo with the script's message.
[[nodiscard]] Result<std::filesystem::path> run_image_script(
    const std::vector<std::string>& command);

/// Prepares the newer QEMU in the same way. Returns the path of its program.
[[nodiscard]] Result<std::filesystem::path> prepare_qemu(const std::filesystem::path& script);

/// Prepares a container runtime in the same way. Returns its directory.
[[nodiscard]] Result<std::filesystem::path> prepare_runtime_image(
    const std::filesystem::path& script, const std::string& runtime);

/// Reads a program without its debug information; unchanged if strip is not installed.
[[nodiscard]] Result<std::string> read_program(const std::filesystem::path& program);
/// Returns the names of busybox's applets, as symbolic links to /bin/busybox.
[[nodiscard]] Result<std::vector<CpioEntry>> busybox_links(const std::filesystem::path& busybox);

/// A program of the host that is copied into the guest with its libraries.
struct GuestProgram {
  std::filesystem::path host_path;
  std::string guest_path;  ///< "/usr/bin/pinfold"
};

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

/// Removes the least recently used files of a cache directory until it takes at most `max_bytes` on
/// disk, but none used in the last ten minutes. Files with the same name up to the first dot are
/// kept or removed together.
void prune_cache(const std::filesystem::path& folder, std::uintmax_t max_bytes);

}  // namespace pinfold::harness
