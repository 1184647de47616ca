#pragma once

#include <filesystem>

#include "pinfold/harness/vm.hpp"

namespace pinfold::harness {

/// Collects the gcov data of instrumented programs in the guest: copies their .gcda files to their
/// full paths below `folder`.
[[nodiscard]] VmResult<void> collect_coverage(Vm& vm, const std::filesystem::path& folder);

}  // namespace pinfold::harness
