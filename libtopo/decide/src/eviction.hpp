#pragma once

#include <optional>

#include "pinfold/api/config.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/machine/machine.hpp"
#include "pinfold/types/quantity.hpp"

namespace pinfold {

/// Returns evictionHard's memory.available as an amount; nullopt if it is not listed, or "0%" or
/// "100%".
/// Errors: kInvalidArgument with the kubelet's text for any threshold that it rejects.
/// Source: kubelet v1.36 pkg/kubelet/eviction/helpers.go, ParseThresholdConfig.
[[nodiscard]] Result<std::optional<Quantity>> hard_memory_threshold(const Machine& machine,
                                                                    const Config& config);

/// Checks evictionSoft with its grace periods, and evictionMinimumReclaim. The kubelet reads them
/// after its managers have started. Errors: as above.
[[nodiscard]] Result<void> check_soft_eviction(const Config& config);

}  // namespace pinfold
