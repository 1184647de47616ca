#pragma once

#include <string>
#include <string_view>

namespace pinfold::harness {

/// Returns the configuration embedded in a kernel image (CONFIG_IKCONFIG=y); "" if it has none, or
/// if the program to unpack the kernel is missing. Domain: any bytes.
[[nodiscard]] std::string embedded_config(std::string_view image);

}  // namespace pinfold::harness
