#pragma once

#include <filesystem>
#include <memory>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/image.hpp"
#include "pinfold/harness/initramfs.hpp"
#include "pinfold/harness/run_options.hpp"
#include "pinfold/harness/scenario.hpp"

namespace pinfold::harness {

/// The contents of a guest besides its kernel.
struct GuestFiles {
  std::filesystem::path initramfs;        ///< for every guest on this machine
  std::shared_ptr<const GuestLoad> load;  ///< the product, the scenario's programs and modules
};

/// Makes them, or reuses those made earlier in this process from the same files.
/// Errors: a file is missing or too large.
[[nodiscard]] Result<GuestFiles> guest_files(const Scenario& scenario, const RunOptions& options,
                                             const Image& image);

}  // namespace pinfold::harness
