#pragma once

#include <string>

namespace pinfold {

/// Returns the id of the running kernel's boot; "" if it cannot be read. Reads it once.
[[nodiscard]] const std::string& boot_id();

}  // namespace pinfold
