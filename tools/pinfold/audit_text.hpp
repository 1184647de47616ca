#pragma once

#include <chrono>
#include <string>

#include "pinfold/audit/findings.hpp"
#include "pinfold/audit/overlap_watch.hpp"
#include "text.hpp"

namespace pinfold::tools {

/// What `pinfold audit` prints for people: a line with the result, what was found of the kubelet,
/// then the findings, the worst first.
[[nodiscard]] std::string audit_text(const audit::Report& report, const audit::Observed& observed,
                                     const Style& style);
/// The first line of --watch: what is watched.
[[nodiscard]] std::string watched_text(const audit::Report& report,
                                       std::chrono::milliseconds interval);
/// One event of --watch, without a time.
[[nodiscard]] std::string event_text(const audit::WatchEvent& event);
[[nodiscard]] nlohmann::json event_json(const audit::WatchEvent& event);

}  // namespace pinfold::tools
