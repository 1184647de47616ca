#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/cpio.hpp"

namespace pinfold::harness {

/// Returns the files of a module and of all its dependencies, in load order; none if it is built
/// into the kernel. `folder`: an image's modules, with modules.dep and modules.builtin.
/// Errors: kNotFound, "module 'nbd': expected one of the kernel's modules", also for a bare image,
/// which has no modules.dep; as read_file.
[[nodiscard]] Result<std::vector<std::filesystem::path>> module_files(
    const std::filesystem::path& folder, const std::string& name);

/// Returns the same files, uncompressed, at the paths from which the guest's agent loads them: in a
/// directory with the module's name.
/// Errors: as module_files; kIo.
[[nodiscard]] Result<std::vector<CpioEntry>> module_entries(const std::filesystem::path& folder,
                                                            const std::string& name);

}  // namespace pinfold::harness
