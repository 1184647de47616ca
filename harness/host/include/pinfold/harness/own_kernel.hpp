#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/image.hpp"
#include "pinfold/harness/kernel_config.hpp"
#include "pinfold/harness/vm_machine.hpp"

namespace pinfold::harness {

/// The form of a user's kernel.
enum class KernelKind {
  kImage,          ///< a bzImage or, for arm64, an Image, such as /boot/vmlinuz-6.1.0
  kBuildTree,      ///< the build directory of a kernel
  kDebianPackage,  ///< linux-image-*.deb with its configuration and modules
};
/// Recognises the form of a kernel by its content.
/// Errors: kNotFound; kInvalidArgument, "kernel 'x': an arm64 Image, expected ...".
[[nodiscard]] Result<KernelKind> recognise_kernel(const std::filesystem::path& path,
                                                  Arch arch = Arch::kAmd64);

/// Returns the version in the header of a bzImage: "6.1.0-56-cloud-amd64"; "" if it has none.
[[nodiscard]] std::string version_of_image(std::string_view bytes);

/// Makes an image from the kernel at `path`, with a busybox from Debian. The script `script`
/// (vm-images/build) unpacks it. The configuration is the file next to the kernel, or the one
/// embedded in it; if neither exists, `unchecked` of the result is set.
/// Errors: as recognise_kernel; kUnsupported if its configuration lacks an option; kIo.
[[nodiscard]] Result<Image> prepare_own_kernel(const std::filesystem::path& script,
                                               const std::filesystem::path& path,
                                               const VmMachine& machine, GuestWork work);

}  // namespace pinfold::harness
