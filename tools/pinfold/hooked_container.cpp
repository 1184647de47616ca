#include "hooked_container.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "pinfold/agent/hooked.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::tools {
namespace {

/// The error that the author of the container reads.
Result<void> answer(const HookRequest& request, std::optional<agent::Refusal> refusal) {
  if (!refusal) return {};
  Error& error = refusal->error;
  if (!request.pod_file.empty()) {
    error.message = fmt::format("pod file '{}': {}", printable(request.pod_file), refusal->summary);
  }
  return fail(std::move(error));
}

}  // namespace

Result<void> admit_hooked(agent::NodeAgent& agent, const HookRequest& request,
                          const std::string& directory, const std::function<bool()>& has_ended) {
  return answer(request,
                agent::admit_hooked(agent, request.pod, {request.container, directory}, has_ended));
}

Result<void> remove_hooked(agent::NodeAgent& agent, const HookRequest& request) {
  return answer(request, agent::remove_hooked(agent, {request.pod.uid, request.container}));
}

}  // namespace pinfold::tools
