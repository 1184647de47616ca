#pragma once

#include <string>

#include "output.hpp"
#include "pinfold/server/settings.hpp"

namespace pinfold::tools {

/// Asks the service at the socket how it does. `what`: "live": it answers, and does nothing for
/// longer than WorkerOptions::longest_request; "ready": also, a container runtime is connected or
/// was lately, if it follows one. Prints why not. Errors: kInvalidArgument for anything else.
[[nodiscard]] Result<ExitStatus> check_service(const service::Settings& settings,
                                               const std::string& what);

}  // namespace pinfold::tools
