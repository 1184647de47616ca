#pragma once

#include <filesystem>
#include <string>

#include "pinfold/base/result.hpp"

namespace pinfold::harness {

/// Returns a checksum of a large file, many times faster than Fingerprint; any damaged word changes
/// it. Holes count as zeros and take no time.
[[nodiscard]] Result<std::string> sum_of_file(const std::filesystem::path& file);

}  // namespace pinfold::harness
