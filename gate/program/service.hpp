#pragma once

#include <string_view>

#include "os.hpp"
#include "pinfold/gate/decision.hpp"

namespace pinfold::gate {

/// Asks the service to adopt the group of a container, which applies the decision to the kernel:
/// docs/service.md. Waits until `end_ms` at most. Returns whether the service did; false also if
/// none listens, or it is another user's.
[[nodiscard]] bool ask_to_adopt(const char* socket, const StateName& owner,
                                std::string_view directory, std::int64_t end_ms);

}  // namespace pinfold::gate
