#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"

namespace pinfold::kube {

/// The kinds of objects that the extender watches.
enum class Kind : std::uint8_t { kNodes, kPods, kNodeTopologies };
inline constexpr std::array kKinds = {Kind::kNodes, Kind::kPods, Kind::kNodeTopologies};

/// Returns "nodes", "pods" or "noderesourcetopologies", as in RBAC rules.
[[nodiscard]] std::string_view to_string(Kind kind);
/// Returns the path of all objects of the kind, in all namespaces: "/api/v1/pods".
[[nodiscard]] std::string_view path_of(Kind kind);
/// Returns the Accept header of a list, and of a watch. For nodes, only the metadata is read. The
/// API server converts each event of a watch separately, and ends a watch that asks for events as
/// lists.
[[nodiscard]] std::string_view list_accept(Kind kind);
[[nodiscard]] std::string_view watch_accept(Kind kind);

/// Returns metadata.name, or metadata.uid for pods, which is unique in time.
/// Errors: kInvalidArgument, "metadata.name: missing: expected ...".
[[nodiscard]] Result<std::string> key_of(Kind kind, const nlohmann::json& object);

/// The most levels of JSON from another program. No object of Kubernetes has more than 30.
inline constexpr std::size_t kMostLevels = 100;
/// Parses JSON from another program. `what` is its name in errors.
/// Errors: kInvalidArgument, "WHAT: expected JSON, found an error at byte 12", including for more
/// than kMostLevels.
[[nodiscard]] Result<nlohmann::json> parse_json(std::string_view text, std::string_view what);

}  // namespace pinfold::kube
