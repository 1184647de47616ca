#include "pinfold/kube/kind.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "pinfold/text/field.hpp"

namespace pinfold::kube {

using nlohmann::json;

namespace {

/// Copies and prints of nlohmann's JSON recurse, so depth is limited before there is a value.
bool is_too_deep(std::string_view text) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') in_string = !in_string;
    if (in_string && c == '\\') ++i;
    if (in_string) continue;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && depth > 0) --depth;
    if (depth > kMostLevels) return true;
  }
  return false;
}

}  // namespace

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::kNodes:
      return "nodes";
    case Kind::kPods:
      return "pods";
    case Kind::kNodeTopologies:
      break;
  }
  return "noderesourcetopologies";
}

std::string_view path_of(Kind kind) {
  switch (kind) {
    case Kind::kNodes:
      return "/api/v1/nodes";
    case Kind::kPods:
      return "/api/v1/pods";
    case Kind::kNodeTopologies:
      break;
  }
  return "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies";
}

std::string_view list_accept(Kind kind) {
  if (kind != Kind::kNodes) return "application/json";
  return "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
}

std::string_view watch_accept(Kind kind) {
  if (kind != Kind::kNodes) return "application/json";
  return "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
}

Result<std::string> key_of(Kind kind, const json& object) {
  const std::string key = kind == Kind::kPods ? "uid" : "name";
  const json* const metadata = object.is_object() ? member(object, "metadata") : nullptr;
  const json* const value =
      metadata == nullptr || !metadata->is_object() ? nullptr : member(*metadata, key);
  if (value != nullptr && value->is_string()) return value->get<std::string>();
  return fail_field("metadata." + key, value == nullptr ? json() : *value, "expected a string");
}

Result<json> parse_json(std::string_view text, std::string_view what) {
  if (is_too_deep(text)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: expected JSON of at most {} levels", what, kMostLevels));
  }
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: expected JSON, found an error at byte {}", what, error.byte));
  } catch (const json::out_of_range&) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: expected JSON with numbers below 1.8e308", what));
  }
}

}  // namespace pinfold::kube
