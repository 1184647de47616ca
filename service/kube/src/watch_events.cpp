#include "pinfold/kube/watch_events.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "pinfold/kube/kind.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::kube {
namespace {

using nlohmann::json;

constexpr std::array<std::pair<std::string_view, EventType>, 5> kTypes = {{
    {"ADDED", EventType::kAdded},
    {"MODIFIED", EventType::kModified},
    {"DELETED", EventType::kDeleted},
    {"BOOKMARK", EventType::kBookmark},
    {"ERROR", EventType::kError},
}};

std::optional<EventType> type_of(std::string_view text) {
  for (const auto& [name, type] : kTypes) {
    if (name == text) return type;
  }
  return std::nullopt;
}

Result<void> read_event(std::string_view line, std::vector<ObjectEvent>& out) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return {};
  PINFOLD_LET(auto document, parse_json(line, "watch event"));
  if (!document.is_object()) return fail_field("watch event", document, "expected an object");
  const json* const type = member(document, "type");
  if (type == nullptr || !type->is_string()) {
    return fail_field("watch event: type", type == nullptr ? json() : *type, "expected a string");
  }
  const auto known = type_of(type->get_ref<const std::string&>());
  if (!known) return {};
  const auto object = document.find("object");
  if (object == document.end() || !object->is_object()) {
    return fail_field("watch event: object", object == document.end() ? json() : *object,
                      "expected an object");
  }
  out.push_back({*known, std::move(*object)});
  return {};
}

}  // namespace

Result<std::vector<ObjectEvent>> EventReader::feed(std::string_view bytes) {
  std::vector<ObjectEvent> events;
  for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    line_ += bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    PINFOLD_TRY(read_event(line_, events));
    line_.clear();
  }
  line_ += bytes;
  if (line_.size() > kMaxEvent) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("watch event: {} bytes: expected at most {}", line_.size(), kMaxEvent));
  }
  return events;
}

}  // namespace pinfold::kube
