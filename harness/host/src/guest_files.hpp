#pragma once

#include <filesystem>
#include <memory>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/image.hpp"
#include "pinfold/harness/run.hpp"
#include "pinfold/harness/scenario.hpp"

namespace pinfold::harness {

/// What a guest has beside its kernel.
struct GuestFiles {
  std::filesystem::path initramfs;        ///< of every guest on this machine
  std::shared_ptr<const GuestLoad> load;  ///< the product, the scenario's programs and modules
};

/// Makes them, or takes those that were made before in this process from the same files.
/// Errors: what is missing, or too large.
[[nodiscard]] Result<GuestFiles> guest_files(const Scenario& scenario, const RunOptions& options,
                                             const Image& image);

}  // namespace pinfold::harness
