#pragma once

#include <cstddef>
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
/// Memory of a PCI device, with programs for the guest: the file that QEMU inherits as descriptor
/// 4, and its size.
inline constexpr const char* kLoadFile = "/proc/self/fd/4";
inline constexpr std::size_t kMaxLoad = std::size_t{128} << 20U;
/// On amd64, the I/O port that shuts the machine down.
inline constexpr unsigned kDebugExitPort = 0xf4;
/// Returns QEMU's exit status after the agent has ended the machine with a code: on arm64 always 0.
[[nodiscard]] int exit_status_for(Arch arch, int code);

/// Returns QEMU's program for an architecture: "qemu-system-x86_64".
[[nodiscard]] std::string qemu_program(Arch arch);

/// Returns the QEMU command line of a machine. Pure; machines with equal command lines can share a
/// snapshot. Domain: machines that check_machine accepts.
[[nodiscard]] std::vector<std::string> qemu_command(const VmMachine& machine,
                                                    const BootFiles& files,
                                                    Accelerator accelerator);

}  // namespace pinfold::harness
