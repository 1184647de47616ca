#include "pod_validation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "pinfold/api/validation.hpp"

namespace pinfold::tools {

cli::Option no_validation_option(bool& is_set) {
  return {"--no-validation", &is_set,
          "Accept pods whose resources the API server would refuse, such as requests above limits"};
}

Result<void> validate_all(const std::vector<PodSpec>& pods) {
  std::vector<std::string> messages;
  for (const PodSpec& pod : pods) {
    if (auto valid = validate(pod); !valid) messages.push_back(std::move(valid).error().message);
  }
  if (messages.empty()) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}", fmt::join(messages, "; ")));
}

}  // namespace pinfold::tools
