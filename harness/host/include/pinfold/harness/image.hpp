#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/platform.hpp"

namespace pinfold::harness {

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

}  // namespace pinfold::harness
