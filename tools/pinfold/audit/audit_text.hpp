#pragma once

#include <chrono>
#include <string>

#include "pinfold/audit/findings.hpp"
#include "pinfold/audit/overlap_watch.hpp"
#include "pinfold/picture/text.hpp"

namespace pinfold::tools {

/// Returns the output of `pinfold audit` for people: a line with the result, facts about the
/// kubelet, then the findings, worst first.
[[nodiscard]] std::string audit_text(const audit::Report& report, const audit::Observed& observed,
                                     const Style& style);
/// Returns the first line of --watch, which says what is watched.
[[nodiscard]] std::string watched_text(const audit::Report& report,
                                       std::chrono::milliseconds interval);
/// Returns one event of --watch, without its time.
[[nodiscard]] std::string event_text(const audit::WatchEvent& event);

}  // namespace pinfold::tools
