#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace pinfold {

/// The protection and throttling of memory on cgroup v2; in bytes. The kernel rounds down to pages.
struct MemoryQos {
  std::int64_t min = 0;
  std::int64_t low = 0;
  std::optional<std::int64_t> high;  ///< nullopt: no throttling

  friend bool operator==(const MemoryQos&, const MemoryQos&) = default;
};

/// The cgroup values of a container or pod. Absent values are not written.
struct LinuxResources {
  std::uint64_t cpu_shares = 0;
  /// Microseconds; 0: no limit; -1: no limit because of exclusive CPUs or, for a pod, because
  /// cpuCFSQuota is off.
  std::optional<std::int64_t> cpu_quota;
  std::optional<std::uint64_t> cpu_period;               ///< microseconds
  std::optional<std::int64_t> memory_limit;              ///< bytes
  std::map<std::string, std::uint64_t> hugepage_limits;  ///< "2MB" to bytes
  std::optional<MemoryQos> memory_qos;                   ///< nullopt: not configured
  std::optional<int> oom_score_adj;                      ///< containers only

  friend bool operator==(const LinuxResources&, const LinuxResources&) = default;
};

/// Returns the CPU shares that the kubelet requests from a runtime: 2 to 262144.
[[nodiscard]] std::uint64_t cpu_shares(std::int64_t milli_cpu);
/// Returns the CFS quota in microseconds, at least 1000; 0 (no limit) for no CPU. Domain: period_us
/// > 0.
[[nodiscard]] std::int64_t cpu_quota(std::int64_t milli_cpu, std::uint64_t period_us);
/// Returns cpu.weight as the kubelet computes it for pod groups on cgroup v2: linear in the shares.
[[nodiscard]] std::uint64_t cpu_weight(std::uint64_t shares);
/// Returns cpu.weight as newer container runtimes compute it: quadratic in log2(shares), 100 for
/// 1024.
[[nodiscard]] std::uint64_t cpu_weight_runtime(std::uint64_t shares);

}  // namespace pinfold
