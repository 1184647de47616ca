#pragma once

#include <string>

#include "output.hpp"
#include "pinfold/base/result.hpp"

namespace pinfold::tools {

/// Runs `pinfold simulate --cluster PLAN`: all rules, one after the other.
/// Errors: those of parse_cluster_plan.
[[nodiscard]] Result<ExitStatus> simulate_cluster_of(const std::string& plan, OutputFormat format);

}  // namespace pinfold::tools
