#pragma once

#include <filesystem>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/image.hpp"

namespace pinfold::harness {

/// The shared libraries that a program needs, with their places in the guest: as this host's
/// dynamic linker resolves them, or, for another architecture, from Debian's folders for it. None
/// for a static program or a script. Errors: kNotFound, a library; kInvalidArgument, a program for
/// another architecture.
[[nodiscard]] Result<std::vector<GuestProgram>> libraries_of(const std::filesystem::path& program,
                                                             Arch arch);

}  // namespace pinfold::harness
