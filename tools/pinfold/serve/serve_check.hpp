#pragma once

#include <string>

#include "output.hpp"
#include "pinfold/settings/settings.hpp"

namespace pinfold::tools {

/// Checks the service at the socket. `what` is "live" (it answers, and no request takes longer than
/// WorkerOptions::longest_request) or "ready" (also, if it follows a container runtime, that is
/// connected or was recently). Prints why not. Errors: kInvalidArgument for any other `what`.
[[nodiscard]] Result<ExitStatus> check_service(const settings::Settings& settings,
                                               const std::string& what);

}  // namespace pinfold::tools
