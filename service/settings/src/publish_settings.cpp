#include "pinfold/settings/publish_settings.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "pinfold/api/pod.hpp"
#include "pinfold/text/field.hpp"
#include "pinfold/text/message.hpp"

namespace pinfold::settings {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostPublishSeconds = 3600;
constexpr std::array<std::string_view, 4> kPublishNames = {"nodeName", "kubeconfig", "placements",
                                                           "intervalSeconds"};

Result<std::string> read_node_name(const json& value) {
  const auto* const name = value.get_ptr<const std::string*>();
  if (name != nullptr && is_safe_name(*name)) return *name;
  return fail_field("publish.nodeName", value, "expected a node's name");
}

Result<std::chrono::seconds> read_interval(const json& value) {
  if (value.is_number_integer() && value >= 1 && value <= kMostPublishSeconds) {
    return std::chrono::seconds(value.get<std::int64_t>());
  }
  return fail_field("publish.intervalSeconds", value,
                    fmt::format("expected 1 to {} seconds", kMostPublishSeconds));
}

Result<void> set(PublishSettings& settings, std::string_view name, const json& value) {
  if (name == "nodeName") {
    PINFOLD_LET(settings.node_name, read_node_name(value));
  } else if (name == "kubeconfig") {
    if (!value.is_string()) return fail_field("publish.kubeconfig", value, "expected a string");
    settings.kubeconfig = value.get<std::string>();
  } else if (name == "placements") {
    if (!value.is_boolean())
      return fail_field("publish.placements", value, "expected true or false");
    settings.placements = value.get<bool>();
  } else if (name == "intervalSeconds") {
    PINFOLD_LET(settings.interval, read_interval(value));
  } else {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("unknown field 'publish.{}'{}", printable(name),
                            did_you_mean(name, kPublishNames)));
  }
  return {};
}

}  // namespace

Result<PublishSettings> parse_publish_settings(const json& section) {
  if (!section.is_object()) {
    return fail_field("publish", section, "expected a mapping, such as {} for the defaults");
  }
  PublishSettings settings;
  for (const auto& [name, value] : section.items()) PINFOLD_TRY(set(settings, name, value));
  return settings;
}

}  // namespace pinfold::settings
