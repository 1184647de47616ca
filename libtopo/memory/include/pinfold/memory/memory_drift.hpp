#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "pinfold/api/config.hpp"
#include "pinfold/base/result.hpp"

/// How much the memory of a NUMA node may differ from that of the state at a start: KEP-6232.
namespace pinfold {

/// Returns the size of the kernel in memory, by the lines "Kernel code", "Kernel data" and "Kernel
/// bss" of /proc/iomem, at most 1 TiB; nullopt without them, or if all are zero, as readers without
/// CAP_SYS_ADMIN see them.
[[nodiscard]] std::optional<std::uint64_t> kernel_image_size(std::string_view iomem);

/// Returns whether memory-drift-tolerance is "auto", so that Config::kernel_image counts.
[[nodiscard]] bool needs_kernel_image(const Config& config);

/// Returns the tolerance in bytes; 0: none. Kubelets before 1.38 do not know the option and ignore
/// it; 1.38 needs the feature gate MemoryManagerDriftTolerance for it, `fixed` only that the gate
/// is not off. Errors: kInvalidArgument for an unknown option, a bad value, and any policy but
/// Static. Source: the KEP and the code proposed in kubernetes#140473 and kubernetes#142121.
[[nodiscard]] Result<std::uint64_t> memory_drift_tolerance(const Config& config);

}  // namespace pinfold
