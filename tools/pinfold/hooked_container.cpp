#include "hooked_container.hpp"

#include <fmt/format.h>

#include <utility>

#include "pinfold/text/field.hpp"

namespace pinfold::tools {

Result<void> answer_of(const HookRequest& request, std::optional<verbs::Refusal> refusal) {
  if (!refusal) return {};
  Error& error = refusal->error;
  if (!request.pod_file.empty()) {
    error.message = fmt::format("pod file '{}': {}", printable(request.pod_file), refusal->summary);
  }
  return fail(std::move(error));
}

}  // namespace pinfold::tools
