#include "steps/step_result.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "judge/difference.hpp"

namespace pinfold::harness {

StepResult success() {
  StepResult result;
  result.ok = true;
  return result;
}

StepResult failure(std::string message) {
  StepResult result;
  result.message = std::move(message);
  return result;
}

StepResult as_result(const Json& reply) {
  return reply.value("ok", false) ? success() : failure(reply.value("error", "no reason given"));
}

StepResult concluded(StepResult result) {
  std::vector<std::string> wrong;
  if (!result.message.empty()) wrong.push_back(std::move(result.message));
  for (const CheckedValue& check : result.checks) {
    if (check.ok) continue;
    const std::string difference = list_difference(check);
    wrong.push_back(fmt::format("{}: expected '{}', {} has '{}'{}{}", check.what, check.expected,
                                check.owner, check.observed, difference.empty() ? "" : ": ",
                                difference));
  }
  result.ok = wrong.empty();
  result.message = fmt::format("{}", fmt::join(wrong, "; "));
  return result;
}

}  // namespace pinfold::harness
