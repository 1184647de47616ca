#pragma once

#include "output.hpp"
#include "serve/serve_options.hpp"

namespace pinfold::tools {

/// Runs the service until a signal ends it. Errors: those of the options, the configuration file,
/// the state directory, the groups and the socket.
[[nodiscard]] Result<ExitStatus> serve(const ServeOptions& options);

}  // namespace pinfold::tools
