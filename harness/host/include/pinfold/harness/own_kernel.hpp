#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/image.hpp"
#include "pinfold/harness/vm_machine.hpp"

namespace pinfold::harness {

/// What a kernel of the user is given as.
enum class KernelKind {
  kImage,          ///< a bzImage or, for arm64, an Image, such as /boot/vmlinuz-6.1.0
  kBuildTree,      ///< the directory in which a kernel was built
  kDebianPackage,  ///< linux-image-*.deb with its configuration and modules
};
/// Recognises it by its content.
/// Errors: kNotFound; kInvalidArgument, "kernel 'x': an arm64 Image, expected ...".
[[nodiscard]] Result<KernelKind> recognise_kernel(const std::filesystem::path& path,
                                                  Arch arch = Arch::kAmd64);

/// The version in the header of a bzImage: "6.1.0-56-cloud-amd64"; "" if it has none.
[[nodiscard]] std::string version_of_image(std::string_view bytes);

/// A kernel's configuration: "CONFIG_NUMA" to "y", "m", "n" (explicitly not set) or a value.
using KernelConfig = std::map<std::string, std::string, std::less<>>;
/// Accepts any text: lines that set nothing are left out.
[[nodiscard]] KernelConfig parse_kernel_config(std::string_view text);

/// The configuration that an image of a kernel contains (CONFIG_IKCONFIG=y); "" if it has none, or
/// if the program that unpacks the kernel is missing. Domain: any bytes.
[[nodiscard]] std::string embedded_config(std::string_view image);

/// What a scenario's guest does beyond its machine.
enum class GuestWork {
  kPlain,
  kPods,     ///< runs the product
  kRuntime,  ///< runs a container runtime
};
/// The options that a guest on this machine needs and the kernel lacks, each with the reason:
/// "CONFIG_NUMA=y (2 NUMA nodes)".
[[nodiscard]] std::vector<std::string> missing_options(const KernelConfig& config,
                                                       const VmMachine& machine, GuestWork work);

/// Makes an image of the kernel at `path`, with a busybox from Debian. The script `script`
/// (vm-images/build) unpacks it. Its configuration is that next to it, or the one in its image;
/// `unchecked` of the result is set if neither exists.
/// Errors: those of recognise_kernel; kUnsupported if its configuration lacks something; kIo.
[[nodiscard]] Result<Image> prepare_own_kernel(const std::filesystem::path& script,
                                               const std::filesystem::path& path,
                                               const VmMachine& machine, GuestWork work);

}  // namespace pinfold::harness
