#pragma once

#include <cstddef>
#include <string>

#include "pinfold/base/result.hpp"

namespace pinfold {

/// The readers' default size limit, far more than any configuration, manifest or state file needs.
inline constexpr std::size_t kMaxFileBytes = std::size_t{16} << 20U;

/// Reads a file of at most `most` bytes. Stops as soon as it has read more, so that endless files
/// are an error too.
/// Errors: kNotFound or kIo, "read 'PATH'"; kInvalidArgument for a directory or a larger file.
[[nodiscard]] Result<std::string> read_file(const std::string& path,
                                            std::size_t most = kMaxFileBytes);

/// Reads the rest of an open file or pipe, with the same limit. `name` is used in errors, for
/// example "standard input".
[[nodiscard]] Result<std::string> read_rest(int fd, const std::string& name,
                                            std::size_t most = kMaxFileBytes);

}  // namespace pinfold
