#pragma once

#include <string>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/cli/command.hpp"

/// Reads the file that the annotation io.pinfold.pod-file names. The author of a container chooses
/// the path, and the hook runs as root, so it only opens files where its operator permits it.
namespace pinfold::tools {

/// Declares --pod-file-dir, for the operator of the hook.
[[nodiscard]] cli::Option pod_file_dir_option(std::vector<std::string>& directories);

/// Reads a regular file of at most 1 MiB below one of `directories`. Follows no link below that
/// directory, and touches nothing else in the file system.
/// Errors: kInvalidArgument, including if there is no directory; kUnsupported if the kernel has no
/// openat2 (Linux 5.6); kNotFound, kIo. No error quotes the contents.
[[nodiscard]] Result<std::string> read_pod_file(const std::string& path,
                                                const std::vector<std::string>& directories);

}  // namespace pinfold::tools
