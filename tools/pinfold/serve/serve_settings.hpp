#pragma once

#include "agent/agent_arguments.hpp"
#include "pinfold/agent/node_agent.hpp"
#include "pinfold/agent/watch.hpp"
#include "pinfold/settings/settings.hpp"
#include "serve/serve_options.hpp"

namespace pinfold::tools {

/// Reads the configuration file, and overrides it with the options.
[[nodiscard]] Result<settings::Settings> read_settings(const ServeOptions& options);

[[nodiscard]] AgentArguments agent_arguments_of(const settings::Settings& settings,
                                                bool is_insecure, agent::LogSink log);
[[nodiscard]] agent::WatchTimes watch_times(const settings::Settings& settings);
[[nodiscard]] agent::PageMoves page_moves(const settings::Settings& settings);

}  // namespace pinfold::tools
