#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace pinfold::harness {

enum class Accelerator {
  kKvm,
  kTcg,
  kTcgMulti,  ///< a thread for each CPU of the guest, which then really run at the same time
};
[[nodiscard]] std::string_view to_string(Accelerator accelerator);

/// The result of the probe of /dev/kvm.
struct KvmProbe {
  bool usable = false;
  std::string why;  ///< why it is not usable: "'/dev/kvm': too slow: ..."
};

/// Checks whether /dev/kvm runs a guest at hardware speed. A device that opens, creates a VM and
/// runs single instructions may still interpret them a thousand times too slowly, so this runs a
/// loop of ten million iterations in 64-bit mode with a limit of one second (real hardware needs a
/// few milliseconds).
[[nodiscard]] KvmProbe probe_kvm(const std::filesystem::path& device);
inline constexpr const char* kKvmDevice = "/dev/kvm";

/// Returns the result of probe_kvm, cached in `folder` because a failing probe takes a second. The
/// cached result is valid until the host reboots or the device's number, owner, mode or change time
/// differs. If the user cannot open the device, nothing is cached.
[[nodiscard]] KvmProbe known_kvm(const std::filesystem::path& folder,
                                 const std::filesystem::path& device = kKvmDevice);

}  // namespace pinfold::harness
