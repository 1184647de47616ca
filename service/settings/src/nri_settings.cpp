#include "pinfold/settings/nri_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "pinfold/text/field.hpp"
#include "pinfold/text/message.hpp"

namespace pinfold::settings {
namespace {

using nlohmann::json;

constexpr std::int64_t kMaxSeconds = 3600;
constexpr std::array<std::string_view, 8> kNames = {"socket",
                                                    "index",
                                                    "mode",
                                                    "podLevelResources",
                                                    "kubeletRoot",
                                                    "unhealthyAfterSeconds",
                                                    "handlersWithoutContainerGroups",
                                                    "tellContainers"};

Result<std::string> read_text(std::string_view name, const json& value) {
  if (value.is_string()) return value.get<std::string>();
  return fail_field(name, value, "expected a string");
}

Result<std::string> read_index(const json& value) {
  PINFOLD_LET(auto text, read_text("nri.index", value));
  const bool is_number =
      std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  if (text.size() == 2 && is_number) return text;
  return fail_field("nri.index", value, "expected two digits in quotes, such as '10'");
}

Result<NriMode> read_mode(const json& value) {
  if (value == "enforce") return NriMode::kEnforce;
  if (value == "observe") return NriMode::kObserve;
  return fail_field("nri.mode", value, "expected 'enforce' or 'observe'");
}

Result<std::vector<std::string>> read_handlers(const json& value) {
  constexpr std::string_view kField = "nri.handlersWithoutContainerGroups";
  constexpr std::string_view kExpected =
      "expected a list of runtime class handlers, such as [kata-qemu]";
  if (!value.is_array()) return fail_field(kField, value, kExpected);
  std::vector<std::string> handlers;
  for (const json& handler : value) {
    if (!handler.is_string() || handler == "") return fail_field(kField, handler, kExpected);
    handlers.push_back(handler.get<std::string>());
  }
  return handlers;
}

constexpr std::string_view kPodLevel =
    "expected one of the following, depending on which pods of the cluster can have "
    "spec.resources:\n"
    "  none: no pod has them; every amount that containers show is their own\n"
    "  annotated: only pods with the annotation pinfold.io/resources have them\n"
    "  any: any pod may have them; only pods with the annotation get exclusive CPUs";

Result<PodLevelResources> read_pod_level(const json& value) {
  if (value == "none") return PodLevelResources::kNone;
  if (value == "annotated") return PodLevelResources::kAnnotated;
  if (value == "any") return PodLevelResources::kAny;
  return fail_field("nri.podLevelResources", value, kPodLevel);
}

Result<AssignedFor> read_assigned_for(const json& value) {
  if (value == "none") return AssignedFor::kNone;
  if (value == "annotated") return AssignedFor::kAnnotated;
  if (value == "any") return AssignedFor::kAny;
  return fail_field("nri.tellContainers", value,
                    "expected the containers that learn their CPUs: 'none', 'annotated' (those of "
                    "pods with the annotation pinfold.io/assigned) or 'any'");
}

Result<void> set(NriSettings& settings, std::string_view name, const json& value) {
  if (name == "socket") {
    PINFOLD_LET(settings.socket, read_text("nri.socket", value));
  } else if (name == "index") {
    PINFOLD_LET(settings.index, read_index(value));
  } else if (name == "mode") {
    PINFOLD_LET(settings.mode, read_mode(value));
  } else if (name == "podLevelResources") {
    PINFOLD_LET(settings.pod_level, read_pod_level(value));
  } else if (name == "kubeletRoot") {
    PINFOLD_LET(settings.kubelet_root, read_text("nri.kubeletRoot", value));
  } else if (name == "unhealthyAfterSeconds") {
    if (!value.is_number_integer() || value < 1 || value > kMaxSeconds) {
      return fail_field("nri.unhealthyAfterSeconds", value,
                        fmt::format("expected 1 to {} seconds", kMaxSeconds));
    }
    settings.unhealthy_after = std::chrono::seconds(value.get<std::int64_t>());
  } else if (name == "handlersWithoutContainerGroups") {
    PINFOLD_LET(settings.handlers_without_groups, read_handlers(value));
  } else if (name == "tellContainers") {
    PINFOLD_LET(settings.assigned_for, read_assigned_for(value));
  } else {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("unknown field 'nri.{}'{}", printable(name), did_you_mean(name, kNames)));
  }
  return {};
}

}  // namespace

Result<NriSettings> parse_nri_settings(const json& section) {
  if (!section.is_object()) return fail_field("nri", section, "expected a mapping");
  NriSettings settings;
  for (const auto& [name, value] : section.items()) PINFOLD_TRY(set(settings, name, value));
  if (!section.contains("podLevelResources")) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("nri.podLevelResources is missing: {}", kPodLevel));
  }
  return settings;
}

}  // namespace pinfold::settings
