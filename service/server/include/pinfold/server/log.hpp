#pragma once

#include <string>
#include <string_view>

#include "pinfold/agent/log.hpp"

namespace pinfold::service {

/// "debug", "info", "warning", "error".
[[nodiscard]] std::string_view to_string(agent::LogLevel level);

/// One line with its line break: `level=info msg="..."`. `time`: in front; "" for the journal,
/// which has its own: then the level is also in front as the journal reads it, "<6>".
[[nodiscard]] std::string log_line(agent::LogLevel level, std::string_view message,
                                   std::string_view time);

/// True if standard error is the journal, which is what JOURNAL_STREAM names; "": it is not set.
[[nodiscard]] bool is_journal(const std::string& journal_stream);

/// Writes one line to standard error, in one system call.
void write_log(agent::LogLevel level, std::string_view message, bool to_journal);

}  // namespace pinfold::service
