#pragma once

#include <filesystem>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/image.hpp"

namespace pinfold::harness {

/// Returns the shared libraries that a program needs, with their paths in the guest: as this host's
/// dynamic linker resolves them or, for another architecture, from Debian's directories for it.
/// None for a static program or a script. Errors: kNotFound for a missing library; kInvalidArgument
/// for a program of another architecture.
[[nodiscard]] Result<std::vector<GuestProgram>> libraries_of(const std::filesystem::path& program,
                                                             Arch arch);

}  // namespace pinfold::harness
