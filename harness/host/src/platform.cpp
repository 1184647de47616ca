#include "pinfold/harness/platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "pinfold/api/pod.hpp"

namespace pinfold::harness {
namespace {

constexpr std::string_view kOldKernel = "debian-6.1";
constexpr std::array<CgroupMode, 3> kModes = {CgroupMode::kV2, CgroupMode::kV1,
                                              CgroupMode::kHybrid};

}  // namespace

std::string_view to_string(CgroupMode mode) {
  switch (mode) {
    case CgroupMode::kV2:
      return "v2";
    case CgroupMode::kV1:
      return "v1";
    case CgroupMode::kHybrid:
      return "hybrid";
  }
  return "";
}

std::string to_string(const Platform& platform) {
  return fmt::format("{}/{}", platform.kernel, to_string(platform.cgroup));
}

std::string to_string(const std::vector<Platform>& platforms) {
  std::string text;
  for (const Platform& platform : platforms) {
    text += (text.empty() ? "" : ", ") + to_string(platform);
  }
  return text;
}

std::string full_name(std::string_view scenario, std::string_view platform) {
  return fmt::format("{} on {}", scenario, platform);
}

Result<Platform> parse_platform(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view kernel = text.substr(0, slash);
  const auto mode = std::find_if(kModes.begin(), kModes.end(), [&](CgroupMode one) {
    return slash != std::string_view::npos && text.substr(slash + 1) == to_string(one);
  });
  if (!is_safe_name(kernel) || mode == kModes.end()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}': expected KERNEL/CGROUP with v2, v1 or hybrid, for example "
                            "debian-6.1/v2",
                            text.substr(0, 60)));
  }
  Platform platform{std::string(kernel), *mode};
  PINFOLD_TRY(check_platform(platform));
  return platform;
}

Result<void> check_platform(const Platform& platform) {
  if (platform.cgroup != CgroupMode::kV1 || is_old_kernel(platform) ||
      platform.kernel == kOwnKernel) {
    return {};
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("cgroup: 'v1': expected kernel {} with it, later ones have no cpuset v1",
                          kOldKernel));
}

bool selects(std::string_view selector, const Platform& platform) {
  return selector == platform.kernel || selector == to_string(platform.cgroup) ||
         selector == to_string(platform);
}

bool is_old_kernel(const Platform& platform) { return platform.kernel == kOldKernel; }

}  // namespace pinfold::harness
