#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/vm_machine.hpp"

namespace pinfold::harness {

/// Checks of the host before anything is started on it. Each error is one sentence with the object,
/// its value, what was expected, and what to do.

/// Space for an image, an initramfs and a snapshot.
inline constexpr std::uint64_t kCacheRoom = 768 * kMiB;

/// Creates the cache directory if necessary; checks that files can be written in it and that `room`
/// bytes are free. Errors: kIo.
[[nodiscard]] Result<void> check_cache(const std::filesystem::path& folder, std::uint64_t room);

struct QemuVersion {
  int major = 0;
  int minor = 0;

  friend auto operator<=>(const QemuVersion&, const QemuVersion&) = default;
};
/// Parses "QEMU emulator version 7.2.22 (Debian ...)". Errors: kInvalidArgument.
[[nodiscard]] Result<QemuVersion> parse_qemu_version(std::string_view text);

/// Checks that a QEMU is recent enough for a machine. Returns the output of `qemu --version`.
/// Errors: kNotFound if it does not exist; kUnsupported.
[[nodiscard]] Result<std::string> check_qemu(const std::string& qemu, const VmMachine& machine);

/// The memory that programs can still get, and what limits it.
struct HostMemory {
  std::uint64_t free = 0;  ///< bytes
  std::string limit;       ///< "MemAvailable of /proc/meminfo", or a control group's limit
};
/// Reads the available memory below `root`, "/" on a live machine. Errors: kNotFound,
/// kInvalidArgument.
[[nodiscard]] Result<HostMemory> host_memory(const std::filesystem::path& root);

/// Checks that a guest fits. It takes memory only as it touches it, so this is less than the
/// machine has. Errors: kUnsupported.
[[nodiscard]] Result<void> check_memory(const VmMachine& machine, const HostMemory& memory);
/// Checks that the largest `jobs` of several machines fit at once. Errors: kUnsupported.
[[nodiscard]] Result<void> check_memory(std::vector<const VmMachine*> machines, int jobs,
                                        const HostMemory& memory);

}  // namespace pinfold::harness
