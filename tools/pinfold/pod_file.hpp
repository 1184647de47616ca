#pragma once

#include <string>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/cli/command.hpp"

/// The file that the annotation io.pinfold.pod-file names. The author of a container chooses the
/// path and the hook runs as root: it opens files only where its operator allows it.
namespace pinfold::tools {

/// --pod-file-dir, for the operator of the hook.
[[nodiscard]] cli::Option pod_file_dir_option(std::vector<std::string>& directories);

/// The contents of a regular file of at most 1 MiB below one of `directories`. No link below that
/// directory is followed, and nothing else of the file system is touched.
/// Errors: kInvalidArgument, also if there is no directory; kUnsupported if the kernel has no
/// openat2 (Linux 5.6); kNotFound, kIo. No error quotes the contents.
[[nodiscard]] Result<std::string> read_pod_file(const std::string& path,
                                                const std::vector<std::string>& directories);

}  // namespace pinfold::tools
