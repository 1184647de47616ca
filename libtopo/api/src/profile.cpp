#include "pinfold/api/profile.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "pinfold/text/field.hpp"

namespace pinfold {
namespace {

/// Returns "'kubelet-1.36', ... or 'fixed'".
std::string known_names() {
  std::string known;
  for (const Profile profile : kProfiles) {
    const bool is_last = profile == kProfiles.back();
    known += fmt::format("{}'{}'",
                         known.empty() ? ""
                         : is_last     ? " or "
                                       : ", ",
                         to_string(profile));
  }
  return known;
}

}  // namespace

std::string_view to_string(Profile profile) {
  switch (profile) {
    case Profile::kKubelet136:
      return "kubelet-1.36";
    case Profile::kKubelet137:
      return "kubelet-1.37";
    case Profile::kKubelet138:
      return "kubelet-1.38";
    case Profile::kFixed:
      break;
  }
  return "fixed";
}

std::string minor_version(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  const std::string_view version = text.substr(text.starts_with('v') ? 1 : 0);
  const auto dot = version.find_first_not_of(kDigits);
  if (dot == 0 || dot == std::string_view::npos || version[dot] != '.') return std::string(text);
  const auto end = version.find_first_not_of(kDigits, dot + 1);
  const bool is_end = end == std::string_view::npos || version[end] == '.';
  return is_end && end != dot + 1 ? std::string(version.substr(0, end)) : std::string(text);
}

Result<Profile> parse_profile(std::string_view text) {
  constexpr std::string_view kPrefix = "kubelet-";
  const auto version = minor_version(text.substr(text.starts_with(kPrefix) ? kPrefix.size() : 0));
  const auto* const found = std::find_if(kProfiles.begin(), kProfiles.end(), [&](Profile profile) {
    const std::string_view name = to_string(profile);
    return text == name || name == fmt::format("{}{}", kPrefix, version);
  });
  if (found != kProfiles.end()) return *found;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}': expected {}", printable(text), known_names()));
}

Result<Profile> profile_of_kubelet(std::string_view version) {
  constexpr std::string_view kPrefix = "Kubernetes v";
  const auto dot = version.find('.');
  const auto end = dot == std::string_view::npos ? std::string_view::npos
                                                 : version.find_first_not_of("0123456789", dot + 1);
  if (!version.starts_with(kPrefix) || end == std::string_view::npos || version[end] != '.') {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}': expected '{}1.37.0' or similar", printable(version), kPrefix));
  }
  const std::string_view minor = version.substr(kPrefix.size(), end - kPrefix.size());
  if (auto profile = parse_profile(fmt::format("kubelet-{}", minor))) return profile;
  return fail(ErrorCode::kUnsupported, fmt::format("kubelet {} has no profile, expected {}",
                                                   printable(minor), known_names()));
}

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  names.reserve(kProfiles.size());
  for (const Profile profile : kProfiles) names.emplace_back(to_string(profile));
  return names;
}

}  // namespace pinfold
