#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "pinfold/enforce/processes.hpp"

namespace pinfold::agent {

/// Which processes ran in which group ("pod1/c1") at the last reconciliation.
using ProcessList = std::map<std::string, std::set<enforce::ProcessId>>;

/// The side file with the process list.
inline constexpr std::string_view kProcessesFileName = ".pinfold_processes";
/// Writes one line per process: "PID START_TIME GROUP".
[[nodiscard]] std::string encode_processes(const ProcessList& list);
/// Skips malformed lines.
[[nodiscard]] ProcessList decode_processes(std::string_view text);

}  // namespace pinfold::agent
