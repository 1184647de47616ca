#include "pinfold/audit/checks.hpp"

#include <algorithm>

namespace pinfold::audit {

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kProblem:
      return "problem";
    case Verdict::kWarning:
      return "warning";
    case Verdict::kUnknown:
      return "unknown";
    case Verdict::kOk:
      break;
  }
  return "ok";
}

std::size_t count(const Checks& checks, Verdict verdict) {
  return static_cast<std::size_t>(
      std::count_if(checks.begin(), checks.end(),
                    [verdict](const Check& check) { return check.verdict == verdict; }));
}

}  // namespace pinfold::audit
