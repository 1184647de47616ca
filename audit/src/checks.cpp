#include "pinfold/audit/checks.hpp"

#include <algorithm>

namespace pinfold::audit {

std::string_view to_string(CheckStatus verdict) {
  switch (verdict) {
    case CheckStatus::kProblem:
      return "problem";
    case CheckStatus::kWarning:
      return "warning";
    case CheckStatus::kUnknown:
      return "unknown";
    case CheckStatus::kOk:
      break;
  }
  return "ok";
}

std::size_t count(const Checks& checks, CheckStatus verdict) {
  return static_cast<std::size_t>(
      std::count_if(checks.begin(), checks.end(),
                    [verdict](const Check& check) { return check.verdict == verdict; }));
}

}  // namespace pinfold::audit
