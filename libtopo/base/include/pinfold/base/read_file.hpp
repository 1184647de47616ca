#pragma once

#include <cstddef>
#include <string>

#include "pinfold/base/result.hpp"

namespace pinfold {

/// The most that a reader takes unless its caller sets another limit: no configuration, manifest
/// or state is nearly as large.
inline constexpr std::size_t kMaxFileBytes = std::size_t{16} << 20U;

/// The contents of a file of at most `most` bytes. Stops as soon as it has read more, so that
/// endless files are an error too.
/// Errors: kNotFound or kIo, "read 'PATH'"; kInvalidArgument for a directory and for more bytes.
[[nodiscard]] Result<std::string> read_file(const std::string& path,
                                            std::size_t most = kMaxFileBytes);

/// The rest of an open file or pipe, under the same limit. `name`: in errors, "standard input".
[[nodiscard]] Result<std::string> read_rest(int fd, const std::string& name,
                                            std::size_t most = kMaxFileBytes);

}  // namespace pinfold
