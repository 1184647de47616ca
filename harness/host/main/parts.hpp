#pragma once

#include <filesystem>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/run.hpp"

namespace pinfold::harness {

/// The files of the harness. Installed or in the build directory, they are in the same places
/// relative to the program: ../libexec/pinfold-harness and ../share/pinfold-harness. In the build
/// directory these contain symbolic links (made by harness/host/CMakeLists.txt). The program
/// therefore contains no absolute path, and an installation can be moved.
struct Parts {
  GuestParts amd64;  ///< pinfold-guest and the pinfold command, also in the program's directory
  GuestParts arm64;  ///< the same programs in arm64/
  std::filesystem::path image_script;  ///< build-image, which is vm-images/build
  std::filesystem::path cri_client;    ///< pinfold-cri; "": built without gRPC
  std::filesystem::path share;         ///< scenarios and their files, as in the sources
};

/// Finds the parts. Errors: those of reading /proc/self/exe. The files need not exist.
[[nodiscard]] Result<Parts> find_parts();

}  // namespace pinfold::harness
