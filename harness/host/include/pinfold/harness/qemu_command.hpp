#pragma once

#include <string>
#include <vector>

#include "pinfold/harness/accelerator.hpp"
#include "pinfold/harness/vm_machine.hpp"

namespace pinfold::harness {

/// What a machine is started with.
struct BootFiles {
  std::string qemu = "qemu-system-x86_64";
  std::string kernel;
  std::string initramfs;
};

/// Names of the unix sockets, in the folder that QEMU runs in, to which it connects.
inline constexpr const char* kConsoleSocket = "console";
inline constexpr const char* kAgentSocket = "agent";
inline constexpr const char* kMonitorSocket = "monitor";
/// The I/O port that ends the machine: QEMU exits with (byte << 1) | 1.
inline constexpr unsigned kDebugExitPort = 0xf4;

/// The QEMU command line of a machine. Pure; two machines with the same line can share a snapshot.
/// Domain: check_machine holds.
[[nodiscard]] std::vector<std::string> qemu_command(const VmMachine& machine,
                                                    const BootFiles& files,
                                                    Accelerator accelerator);

}  // namespace pinfold::harness
