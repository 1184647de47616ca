#include "pinfold/harness/platform.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>

#include "kernels.hpp"
#include "pinfold/api/pod.hpp"
#include "pinfold/text/message.hpp"
#include "scenario/field_reader.hpp"

namespace pinfold::harness {
namespace {

constexpr std::array<std::string_view, 2> kOldKernels = {"debian-5.10", "debian-6.1"};
constexpr std::string_view kLargePages = "debian-6.12-16k";
constexpr std::array<Arch, 2> kArchs = {Arch::kAmd64, Arch::kArm64};
constexpr std::array<CgroupMode, 3> kModes = {CgroupMode::kV2, CgroupMode::kV1,
                                              CgroupMode::kHybrid};

/// Removes and returns the first word of a text with slashes between words.
std::string_view next_word(std::string_view& text) {
  const std::size_t end = std::min(text.find('/'), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

/// The words that each part of a platform can have.
struct PlatformWords {
  std::vector<std::string_view> kernels;
  std::vector<std::string_view> modes;
  std::vector<std::string_view> archs;
};
PlatformWords known_words() {
  PlatformWords words{{std::begin(kKernels), std::end(kKernels)}, {}, {}};
  words.kernels.push_back(kOwnKernel);
  for (const CgroupMode mode : kModes) words.modes.push_back(to_string(mode));
  for (const Arch arch : kArchs) words.archs.push_back(to_string(arch));
  return words;
}

bool is_one_of(std::string_view word, const std::vector<std::string_view>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Explains the first unknown word of a platform; "" if all are known but in the wrong order.
std::string unknown_word(std::string_view text, Arch otherwise) {
  const PlatformWords words = known_words();
  const std::string_view kernel = next_word(text);
  const std::string_view mode = next_word(text);
  const std::string_view arch = text.empty() ? to_string(otherwise) : text;
  const std::tuple<const char*, std::string_view, const std::vector<std::string_view>&> parts[] = {
      {"kernel", kernel, words.kernels},
      {"cgroup version", mode, words.modes},
      {"architecture", arch, words.archs}};
  for (const auto& [what, word, known] : parts) {
    if (is_one_of(word, known)) continue;
    return fmt::format("{} '{}': {}", what, word.substr(0, 60), expected_one_of(known, word));
  }
  return "";
}

std::optional<CgroupMode> parse_mode(std::string_view text) {
  const auto mode = std::find_if(kModes.begin(), kModes.end(),
                                 [&](CgroupMode one) { return text == to_string(one); });
  return mode == kModes.end() ? std::nullopt : std::optional(*mode);
}

}  // namespace

std::string_view to_string(Arch arch) { return arch == Arch::kAmd64 ? "amd64" : "arm64"; }

std::optional<Arch> parse_arch(std::string_view text) {
  const auto arch =
      std::find_if(kArchs.begin(), kArchs.end(), [&](Arch one) { return text == to_string(one); });
  return arch == kArchs.end() ? std::nullopt : std::optional(*arch);
}

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
  return fmt::format("{}/{}{}", platform.kernel, to_string(platform.cgroup),
                     platform.arch == Arch::kAmd64 ? "" : "/arm64");
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

std::string folder_name(std::string_view scenario, const Platform& platform) {
  std::string name = to_string(platform);
  std::replace(name.begin(), name.end(), '/', '.');
  return fmt::format("{}.{}", scenario, name);
}

Result<Platform> parse_platform(std::string_view text, Arch otherwise) {
  std::string_view rest = text;
  const std::string_view kernel = next_word(rest);
  const auto mode = parse_mode(next_word(rest));
  const auto arch = rest.empty() && !text.ends_with('/') ? otherwise : parse_arch(rest);
  const bool has_shape = text.find('/') != std::string_view::npos && !text.ends_with('/');
  if (const std::string wrong = unknown_word(text, otherwise); has_shape && !wrong.empty()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}': {}", text.substr(0, 60), wrong));
  }
  if (!is_safe_name(kernel) || !mode || !arch) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}': expected KERNEL/CGROUP with v2, v1 or hybrid, for example "
                            "debian-6.1/v2 or debian-6.1/v2/arm64",
                            text.substr(0, 60)));
  }
  Platform platform{std::string(kernel), *mode, *arch};
  PINFOLD_TRY(check_platform(platform));
  return platform;
}

Result<void> check_platform(const Platform& platform) {
  if (platform.kernel == kLargePages && platform.arch != Arch::kArm64) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("kernel '{}': expected arch arm64 with it", kLargePages));
  }
  if (platform.cgroup != CgroupMode::kV1 || is_old_kernel(platform) ||
      platform.kernel == kOwnKernel) {
    return {};
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("cgroup: 'v1': expected kernel {} with it, later ones have no cpuset v1",
                          fmt::join(kOldKernels, " or ")));
}

bool selects(std::string_view selector, const Platform& platform) {
  const std::string_view words[] = {platform.kernel, to_string(platform.cgroup),
                                    to_string(platform.arch)};
  std::size_t at = 0;
  do {
    const std::string_view wanted = next_word(selector);
    while (at < std::size(words) && words[at] != wanted) ++at;
    if (at++ == std::size(words)) return false;
  } while (!selector.empty());
  return true;
}

Result<void> check_selector(std::string_view selector) {
  const PlatformWords words = known_words();
  std::vector<std::string_view> all = words.kernels;
  all.insert(all.end(), words.modes.begin(), words.modes.end());
  all.insert(all.end(), words.archs.begin(), words.archs.end());
  std::string_view rest = selector;
  do {
    const std::string_view word = next_word(rest);
    if (is_one_of(word, all)) continue;
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}': {}", word.substr(0, 60), expected_one_of(all, word)));
  } while (!rest.empty());
  return {};
}

Result<void> check_kernel(std::string_view name) {
  const std::vector<std::string_view> all{std::begin(kKernels), std::end(kKernels)};
  if (is_one_of(name, all)) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}': {}", name.substr(0, 60), expected_one_of(all, name)));
}

std::string nearest_platform(std::string_view selector, const std::vector<Platform>& platforms) {
  std::vector<std::string> names;
  for (const Platform& platform : platforms) {
    names.insert(names.end(), {platform.kernel, std::string(to_string(platform.cgroup)),
                               std::string(to_string(platform.arch)), to_string(platform)});
  }
  return did_you_mean(selector, std::vector<std::string_view>(names.begin(), names.end()));
}

bool is_old_kernel(const Platform& platform) {
  return std::find(kOldKernels.begin(), kOldKernels.end(), platform.kernel) != kOldKernels.end();
}

}  // namespace pinfold::harness
