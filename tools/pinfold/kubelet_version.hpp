#pragma once

#include <string>

#include "pinfold/base/result.hpp"

namespace pinfold::tools {

/// Returns the output line of `program --version`. The program gets an empty environment and no
/// input, and is killed after ten seconds.
/// Errors: kIo if it cannot be run, fails, takes too long, or does not print a short line.
[[nodiscard]] Result<std::string> kubelet_version(const std::string& program);

}  // namespace pinfold::tools
