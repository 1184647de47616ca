#pragma once

#include <string>
#include <string_view>

#include "pinfold/agent/log.hpp"

namespace pinfold::settings {

/// Returns "debug", "info", "warning" or "error".
[[nodiscard]] std::string_view to_string(agent::LogLevel level);

/// Returns one line with its line break, `level=info msg="..."`, preceded by `time`. An empty
/// `time` is for the journal, which adds its own; the line then starts with the level as the
/// journal reads it, "<6>".
[[nodiscard]] std::string log_line(agent::LogLevel level, std::string_view message,
                                   std::string_view time);

/// Returns whether standard error is the journal that JOURNAL_STREAM names; empty: it is not set.
[[nodiscard]] bool is_journal(const std::string& journal_stream);

/// Writes one line to standard error, in one system call.
void write_log(agent::LogLevel level, std::string_view message, bool to_journal);

}  // namespace pinfold::settings
