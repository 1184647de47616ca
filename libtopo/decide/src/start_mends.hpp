#pragma once

#include <optional>

#include "failed_start.hpp"

namespace pinfold {

/// Returns the advice on an error whose remedy follows from the machine and the configuration;
/// nullopt if it is none of them.
[[nodiscard]] std::optional<StartAdvice> mend_start(const FailedStart& start);

}  // namespace pinfold
