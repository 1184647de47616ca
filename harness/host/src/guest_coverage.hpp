#pragma once

#include <filesystem>

#include "pinfold/harness/vm.hpp"

namespace pinfold::harness {

/// Brings back what programs that were built for gcov have counted in the guest: their .gcda files,
/// with their full paths below `folder`.
[[nodiscard]] VmResult<void> collect_coverage(Vm& vm, const std::filesystem::path& folder);

}  // namespace pinfold::harness
