#pragma once

#include <optional>
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

/// The guest's processor architecture, under Debian's name.
enum class Arch { kAmd64, kArm64 };
[[nodiscard]] std::string_view to_string(Arch arch);
[[nodiscard]] std::optional<Arch> parse_arch(std::string_view text);

/// The name of the kernel that a scenario's `kernel` gives.
inline constexpr std::string_view kOwnKernel = "own";

/// The kernel, cgroup version and architecture that a scenario runs on. Written "debian-6.1/v2", or
/// "debian-6.1/v2/arm64".
struct Platform {
  std::string kernel = "debian-6.1";
  CgroupMode cgroup = CgroupMode::kV2;
  Arch arch = Arch::kAmd64;

  friend bool operator==(const Platform&, const Platform&) = default;
};
[[nodiscard]] std::string to_string(const Platform& platform);
[[nodiscard]] std::string to_string(const std::vector<Platform>& platforms);
/// Returns a scenario's name in lists and reports: "drift on debian-6.1/v2".
[[nodiscard]] std::string full_name(std::string_view scenario, std::string_view platform);

/// Returns a directory name: "drift.debian-6.1.v2", "drift.debian-6.1.v2.arm64".
[[nodiscard]] std::string folder_name(std::string_view scenario, const Platform& platform);

/// Parses a platform. `otherwise`: the architecture if the text names none.
/// Errors: kInvalidArgument, "'debian-6.1': expected KERNEL/CGROUP, ...".
[[nodiscard]] Result<Platform> parse_platform(std::string_view text, Arch otherwise = Arch::kAmd64);

/// Checks that the kernel exists for the architecture and has the cpuset controller in this cgroup
/// version.
/// Errors: kInvalidArgument, "cgroup: 'v1': expected ...".
[[nodiscard]] Result<void> check_platform(const Platform& platform);

/// Returns true if the selector matches. `selector`: a kernel, a cgroup version, an architecture,
/// or several of them in this order: "debian-6.1", "v1", "debian-6.1/v1", "v2/arm64".
[[nodiscard]] bool selects(std::string_view selector, const Platform& platform);

/// Checks that each word of a selector is a kernel, a cgroup version or an architecture.
/// Errors: kInvalidArgument, "'debian-6.13': expected one of: ...; did you mean 'debian-6.12'?".
[[nodiscard]] Result<void> check_selector(std::string_view selector);

/// Checks that a kernel of vm-images/build has this name.
/// Errors: kInvalidArgument, "'debian-6.13': expected one of: ...; did you mean 'debian-6.12'?".
[[nodiscard]] Result<void> check_kernel(std::string_view name);

/// Returns ", did you mean 'v1'?" with the most similar selector of one of the platforms; "" if
/// none is similar.
[[nodiscard]] std::string nearest_platform(std::string_view selector,
                                           const std::vector<Platform>& platforms);

/// Returns true for the kernels that QEMU 7.2 can run on amd64; they are also the last ones with a
/// cpuset controller in cgroup v1.
[[nodiscard]] bool is_old_kernel(const Platform& platform);

}  // namespace pinfold::harness
