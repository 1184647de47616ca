#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/platform.hpp"

namespace pinfold::harness {

/// The limit for programs and libraries of the guest; with debug information they are large.
inline constexpr std::size_t kMaxProgram = std::size_t{1} << 30U;

/// A program of the host that is copied into the guest with its libraries.
struct GuestProgram {
  std::filesystem::path host_path;
  std::string guest_path;  ///< "/usr/bin/pinfold"
};

/// Reads a program without its debug information; unchanged if strip is not installed.
[[nodiscard]] Result<std::string> read_program(const std::filesystem::path& program);

/// Returns true for a program or library that Linux loads; false for a script and the like.
[[nodiscard]] bool is_elf(const std::filesystem::path& file);

/// Returns the shared libraries that a program needs or loads itself, with their paths in the
/// guest: as this host's dynamic linker resolves them or, for another architecture, from Debian's
/// directories for it. None for a static program or a script. Errors: kNotFound for a missing
/// library, except one that this host's programs load; kInvalidArgument for a program of another
/// architecture, and for one that ends before its ELF header says.
[[nodiscard]] Result<std::vector<GuestProgram>> libraries_of(const std::filesystem::path& program,
                                                             Arch arch);

}  // namespace pinfold::harness
