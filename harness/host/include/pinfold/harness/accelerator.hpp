#pragma once

#include <filesystem>
#include <string_view>

#include "pinfold/base/result.hpp"

namespace pinfold::harness {

enum class Accelerator { kKvm, kTcg };
[[nodiscard]] std::string_view to_string(Accelerator accelerator);

/// What the probe of /dev/kvm found.
struct KvmProbe {
  bool usable = false;
  std::string_view why;  ///< "too slow: ...", "no /dev/kvm", ...
};

/// Does /dev/kvm run a guest at the speed of hardware? A device that opens, makes a machine and
/// runs single instructions may still interpret them a thousand times too slowly, so this runs ten
/// million turns of a loop in 64-bit mode and gives them one second (real hardware: some
/// milliseconds).
[[nodiscard]] KvmProbe probe_kvm();

/// KVM where the probe finds it usable, else QEMU's own translator. The answer is kept in `folder`
/// until the host boots again, for a probe that fails takes a second.
[[nodiscard]] Accelerator choose_accelerator(const std::filesystem::path& folder);

}  // namespace pinfold::harness
