#pragma once

#include <filesystem>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/run.hpp"

namespace pinfold::harness {

/// The files of the harness. Installed and in the build directory they lie in the same folders next
/// to the one of the program: ../libexec/pinfold-harness and ../share/pinfold-harness; in the build
/// directory these have symbolic links (harness/host/CMakeLists.txt makes them). So the program
/// contains no path, and an installation can be moved.
struct Parts {
  GuestParts amd64;  ///< pinfold-guest, and the pinfold command, also in the program's folder
  GuestParts arm64;  ///< the same in arm64/
  std::filesystem::path image_script;  ///< build-image, which is vm-images/build
  std::filesystem::path cri_client;    ///< pinfold-cri; "": built without gRPC
  std::filesystem::path share;         ///< scenarios and what they use, as in the sources
};

/// Errors: of reading /proc/self/exe. The files need not exist.
[[nodiscard]] Result<Parts> find_parts();

}  // namespace pinfold::harness
