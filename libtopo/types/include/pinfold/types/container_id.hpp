#pragma once

#include <fmt/core.h>

#include <compare>
#include <concepts>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>

namespace pinfold {

/// metadata.uid of a pod. A distinct type, so that no other string, such as a container's name,
/// converts to it.
struct PodUid {
  std::string value;

  PodUid() = default;
  template <std::convertible_to<std::string_view> Text>
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): a PodUid does not convert to Text
  explicit PodUid(Text&& text) : value(std::forward<Text>(text)) {}

  friend auto operator<=>(const PodUid&, const PodUid&) = default;
};
std::ostream& operator<<(std::ostream& out, const PodUid& uid);

/// Identifies a container on a node. Ordered by pod, then by name.
struct ContainerId {
  PodUid pod;
  std::string name;  ///< unique within the pod

  friend auto operator<=>(const ContainerId&, const ContainerId&) = default;
};
/// Returns "POD_UID/NAME".
[[nodiscard]] std::string to_string(const ContainerId& id);
std::ostream& operator<<(std::ostream& out, const ContainerId& id);

}  // namespace pinfold

/// @cond formatters of {fmt}
template <>
struct fmt::formatter<pinfold::PodUid> : formatter<string_view> {
  template <class Context>
  auto format(const pinfold::PodUid& uid, Context& context) const {
    return formatter<string_view>::format(uid.value, context);
  }
};

template <>
struct fmt::formatter<pinfold::ContainerId> : formatter<string_view> {
  template <class Context>
  auto format(const pinfold::ContainerId& id, Context& context) const {
    return formatter<string_view>::format(to_string(id), context);
  }
};
/// @endcond
