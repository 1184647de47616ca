#pragma once

#include <optional>

#include "oci.hpp"
#include "pinfold/agent/hooked.hpp"

namespace pinfold::tools {

/// The error that the author of a container reads if the hook's request fails. He may not be
/// allowed to read the pod file: no error quotes a pod that comes from one.
[[nodiscard]] Result<void> answer_of(const HookRequest& request,
                                     std::optional<agent::Refusal> refusal);

}  // namespace pinfold::tools
