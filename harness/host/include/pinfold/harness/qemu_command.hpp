#pragma once

#include <string>
#include <vector>

#include "pinfold/harness/accelerator.hpp"
#include "pinfold/harness/vm_machine.hpp"

namespace pinfold::harness {

/// The files that a machine boots from.
struct BootFiles {
  std::string qemu = "qemu-system-x86_64";
  std::string kernel;
  std::string initramfs;
};

/// Names of the unix sockets that QEMU connects to, in its working directory.
inline constexpr const char* kConsoleSocket = "console";
inline constexpr const char* kAgentSocket = "agent";
inline constexpr const char* kMonitorSocket = "monitor";
/// The I/O port that shuts the machine down: QEMU exits with (byte << 1) | 1.
inline constexpr unsigned kDebugExitPort = 0xf4;

/// The QEMU command line of a machine. Pure; machines with equal command lines can share a
/// snapshot. Domain: machines that check_machine accepts.
[[nodiscard]] std::vector<std::string> qemu_command(const VmMachine& machine,
                                                    const BootFiles& files,
                                                    Accelerator accelerator);

}  // namespace pinfold::harness
