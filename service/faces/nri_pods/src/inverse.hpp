#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Computes the amounts from which the kubelet derived the values of a container.
namespace pinfold::nri {

/// The range of the kubelet's cpuCFSQuotaPeriod, in microseconds.
inline constexpr std::uint64_t kMinPeriodUs = 1'000;
inline constexpr std::uint64_t kMaxPeriodUs = 1'000'000;

struct MilliCpu {
  std::int64_t value = 0;
  bool is_only = false;  ///< no other amount gives the same value
};

/// Inverts cpu_shares. Shares of 2 are 0m to 2m, 262144 are 256 CPUs or more.
[[nodiscard]] MilliCpu milli_cpu_of_shares(std::uint64_t shares);
/// Inverts cpu_quota. Domain: quota_us > 0.
[[nodiscard]] MilliCpu milli_cpu_of_quota(std::int64_t quota_us, std::uint64_t period_us);

/// Maps "2MB" to "hugepages-2Mi"; nullopt if the kubelet has no such size.
[[nodiscard]] std::optional<std::string> huge_page_resource(std::string_view page_size);

}  // namespace pinfold::nri
