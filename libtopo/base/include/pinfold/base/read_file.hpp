#pragma once

#include <string>

#include "pinfold/base/result.hpp"

namespace pinfold {

/// The contents of a file. Errors: kNotFound or kIo, "read 'PATH'".
[[nodiscard]] Result<std::string> read_file(const std::string& path);

}  // namespace pinfold
