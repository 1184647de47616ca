#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/platform.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold::harness {

inline constexpr std::uint64_t kMiB = 1U << 20;

/// The limits of a machine. 20 sockets, 4 threads and 32 caches have been booted.
inline constexpr int kMaxSockets = 128;
inline constexpr int kMaxDies = 8;
inline constexpr int kMaxCores = 128;
inline constexpr int kMaxThreads = 4;
inline constexpr int kMaxCaches = 64;
/// Limits for the devices of a NUMA node: each node has 8 PCI bus numbers, starting at 32.
inline constexpr int kMaxDevices = 4;
inline constexpr int kMaxDeviceNode = 23;
inline constexpr int kMaxNetworkCards = 4;

struct VmNode {
  CpuSet cpus;
  std::uint64_t memory = 0;  ///< bytes
  /// Huge pages that the kernel reserves at boot: number by size in bytes.
  std::map<std::uint64_t, int> huge_pages;

  friend bool operator==(const VmNode&, const VmNode&) = default;
};

enum class Filesystem { kExt4, kXfs };
[[nodiscard]] std::string_view to_string(Filesystem filesystem);

/// A disk in the guest's memory with a log of all writes.
struct VmDisk {
  Filesystem filesystem = Filesystem::kExt4;
  std::uint64_t size = 0;  ///< bytes
  std::string folder;      ///< full path of its mount point

  friend bool operator==(const VmDisk&, const VmDisk&) = default;
};
/// Returns the mkfs command without the device argument; it runs a host program that is copied to
/// the same path in the guest.
[[nodiscard]] std::vector<std::string> mkfs_command(const VmDisk& disk);

/// The description of a machine. CPUs are numbered as Linux numbers them: threads of a core first,
/// then cores, dies, sockets.
struct VmMachine {
  int sockets = 1;
  int dies = 1;                        ///< per socket
  int cores = 1;                       ///< per die
  int threads = 1;                     ///< per core
  int caches = 1;                      ///< last-level caches per die
  CpuSet absent;                       ///< the highest CPUs, which can be plugged in later
  std::uint64_t pluggable_memory = 0;  ///< bytes that can be plugged in later
  std::vector<int> devices;            ///< the NUMA node of each PCI device, ascending
  int network_cards = 0;               ///< each with several queues, connected to nothing
  std::vector<VmNode> nodes;
  /// Row by row; 10 on the diagonal.
  std::vector<std::vector<int>> distances;
  Platform platform;
  std::string kernel_arguments;  ///< appended to the default arguments
  std::optional<VmDisk> disk;
  /// A kubelet's program on the host, as in the file: a full path, or "$NAME" for one in an
  /// environment variable; "": none.
  std::string kubelet;

  /// Returns the number of CPUs, including absent ones.
  [[nodiscard]] int cpu_count() const { return sockets * dies * cores * threads; }
  [[nodiscard]] std::uint64_t memory() const;
  [[nodiscard]] CpuSet memory_nodes() const;  ///< the NUMA nodes with memory

  friend bool operator==(const VmMachine&, const VmMachine&) = default;
};

/// Checks a machine's CPU counts and their total. Domain: each is positive.
/// Errors: kInvalidArgument, "'256' CPUs in total: expected at most 128".
[[nodiscard]] Result<void> check_cpus(const VmMachine& machine);

/// Checks that QEMU and Linux can provide this machine.
/// Errors: kInvalidArgument, "nodes[1].cpus: '4-9': expected CPUs of 0-7".
[[nodiscard]] Result<void> check_machine(const VmMachine& machine);

/// Returns how many CPUs share a last-level cache; 0 if the guest cannot know: on arm64.
[[nodiscard]] int cpus_per_cache(const VmMachine& machine);

/// Returns true if the machine needs a newer QEMU than Debian 12 has (7.2); see docs/harness.md.
[[nodiscard]] bool needs_newer_qemu(const VmMachine& machine);

/// Returns the default time limit of a boot. With single-threaded TCG the CPUs start one after the
/// other, and each one slows down the next.
[[nodiscard]] int boot_limit_s(const VmMachine& machine);

/// Compares the hardware reported by the guest with the requested one: one line for each
/// difference. Memory may be smaller, because firmware and kernel reserve some.
[[nodiscard]] std::vector<std::string> machine_differences(const VmMachine& requested,
                                                           const nlohmann::json& reported);

}  // namespace pinfold::harness
