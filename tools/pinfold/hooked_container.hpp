#pragma once

#include <optional>

#include "oci.hpp"
#include "pinfold/verbs/hooked.hpp"

namespace pinfold::tools {

/// Returns the error that the author of a container reads if the hook's request fails. It does not
/// quote a pod from a pod file, which the author may not be permitted to read.
[[nodiscard]] Result<void> answer_of(const HookRequest& request,
                                     std::optional<verbs::Refusal> refusal);

}  // namespace pinfold::tools
