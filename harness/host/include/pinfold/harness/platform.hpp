#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"

namespace pinfold::harness {

/// How the guest mounts control groups.
enum class CgroupMode {
  kV2,
  kV1,
  kHybrid,  ///< cpu and hugetlb on version 1, the other controllers on version 2
};
[[nodiscard]] std::string_view to_string(CgroupMode mode);

/// The kernel that a scenario's `kernel` names.
inline constexpr std::string_view kOwnKernel = "own";

/// A kernel and a cgroup version: what a scenario runs on. Written "debian-6.1/v2".
struct Platform {
  std::string kernel = "debian-6.1";
  CgroupMode cgroup = CgroupMode::kV2;

  friend bool operator==(const Platform&, const Platform&) = default;
};
[[nodiscard]] std::string to_string(const Platform& platform);
[[nodiscard]] std::string to_string(const std::vector<Platform>& platforms);
/// A scenario's name in lists and reports: "drift on debian-6.1/v2".
[[nodiscard]] std::string full_name(std::string_view scenario, std::string_view platform);

/// Errors: kInvalidArgument, "'debian-6.1': expected KERNEL/CGROUP, ...".
[[nodiscard]] Result<Platform> parse_platform(std::string_view text);

/// Checks that this kernel has the cpuset controller on this cgroup version.
/// Errors: kInvalidArgument, "cgroup: 'v1': expected ...".
[[nodiscard]] Result<void> check_platform(const Platform& platform);

/// `selector`: a kernel, a cgroup version, or both: "debian-6.1", "v1", "debian-6.1/v1".
[[nodiscard]] bool selects(std::string_view selector, const Platform& platform);

/// True for the kernel that QEMU 7.2 can run; it is also the last one with cgroup v1's cpuset.
[[nodiscard]] bool is_old_kernel(const Platform& platform);

}  // namespace pinfold::harness
