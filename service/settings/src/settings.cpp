#include "pinfold/settings/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "pinfold/settings/log.hpp"
#include "pinfold/text/document.hpp"
#include "pinfold/text/field.hpp"
#include "pinfold/text/message.hpp"

namespace pinfold::settings {
namespace {

using nlohmann::json;

constexpr std::int64_t kMaxInterval = 3600;

using Field = std::variant<std::string Settings::*, bool Settings::*,
                           std::chrono::seconds Settings::*, agent::LogLevel Settings::*,
                           quiet::QuietLevel Settings::*, std::optional<NriSettings> Settings::*,
                           std::optional<PublishSettings> Settings::*>;
struct NamedField {
  std::string_view name;
  Field field;
  bool needs_restart = true;
};
constexpr std::array kFields = {
    NamedField{"stateDir", &Settings::state_dir},
    NamedField{"config", &Settings::config},
    NamedField{"kubeletFlags", &Settings::kubelet_flags},
    NamedField{"machine", &Settings::machine},
    NamedField{"profile", &Settings::profile},
    NamedField{"kubeletBinary", &Settings::kubelet_binary},
    NamedField{"cgroupRoot", &Settings::cgroup_root},
    NamedField{"enforce", &Settings::enforce},
    NamedField{"resetAffinity", &Settings::reset_affinity},
    NamedField{"quiet", &Settings::quiet},
    NamedField{"socket", &Settings::socket},
    NamedField{"grpcSocket", &Settings::grpc_socket},
    NamedField{"podResourcesSocket", &Settings::pod_resources_socket},
    NamedField{"metricsAddress", &Settings::metrics_address},
    NamedField{"nri", &Settings::nri},
    NamedField{"publish", &Settings::publish},
    NamedField{"memoryForecast", &Settings::memory_forecast},
    NamedField{"reconcileIntervalSeconds", &Settings::reconcile_interval, false},
    NamedField{"movePages", &Settings::move_pages, false},
    NamedField{"logLevel", &Settings::log_level, false},
};

/// Sets a field to a value from the file.
struct Set {
  Settings& settings;
  std::string_view name;
  const json& value;

  Result<void> operator()(std::string Settings::*field) const {
    if (!value.is_string()) return fail_field(name, value, "expected a string");
    settings.*field = value.get<std::string>();
    return {};
  }
  Result<void> operator()(bool Settings::*field) const {
    if (!value.is_boolean()) return fail_field(name, value, "expected true or false");
    settings.*field = value.get<bool>();
    return {};
  }
  Result<void> operator()(std::chrono::seconds Settings::*field) const {
    if (!value.is_number_integer() || value < 1 || value > kMaxInterval) {
      return fail_field(name, value, fmt::format("expected 1 to {} seconds", kMaxInterval));
    }
    settings.*field = std::chrono::seconds(value.get<std::int64_t>());
    return {};
  }
  Result<void> operator()(std::optional<NriSettings> Settings::*field) const {
    PINFOLD_LET(settings.*field, parse_nri_settings(value));
    return {};
  }
  Result<void> operator()(std::optional<PublishSettings> Settings::*field) const {
    PINFOLD_LET(settings.*field, parse_publish_settings(value));
    return {};
  }
  Result<void> operator()(quiet::QuietLevel Settings::*field) const {
    const auto* const text = value.get_ptr<const std::string*>();
    if (text == nullptr) return fail_field(name, value, "expected a string");
    PINFOLD_LET_WRAP(settings.*field, quiet::parse_quiet_level(*text), name);
    return {};
  }
  Result<void> operator()(agent::LogLevel Settings::*field) const {
    const auto* const text = value.get_ptr<const std::string*>();
    if (text == nullptr) return fail_field(name, value, "expected a string");
    PINFOLD_LET_WRAP(settings.*field, parse_log_level(*text), name);
    return {};
  }
};

Result<const NamedField*> find_field(std::string_view name) {
  std::array<std::string_view, kFields.size()> names;
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    if (kFields[i].name == name) return &kFields[i];
    names[i] = kFields[i].name;
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("unknown field '{}'{}", printable(name), did_you_mean(name, names)));
}

/// Returns "line 3: ", or "" if the document is not in block style.
std::string line_of(std::string_view name, std::string_view yaml) {
  for (int number = 1; !yaml.empty(); ++number) {
    const std::string_view line = yaml.substr(0, yaml.find('\n'));
    if (line.starts_with(name) &&
        line.substr(name.size()).find_first_not_of(' ') == line.substr(name.size()).find(':')) {
      return fmt::format("line {}: ", number);
    }
    yaml.remove_prefix(std::min(yaml.size(), line.size() + 1));
  }
  return "";
}

Result<void> set_field(Settings& settings, std::string_view name, const json& value) {
  PINFOLD_LET(const NamedField* const field, find_field(name));
  return std::visit(Set{settings, name, value}, field->field);
}

}  // namespace

Result<Settings> parse_settings(std::string_view yaml) {
  PINFOLD_LET(const auto documents, parse_documents(yaml));
  Settings settings;
  if (documents.empty() || documents.front().is_null()) return settings;
  if (documents.size() > 1) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} documents: expected one", documents.size()));
  }
  const json& document = documents.front();
  if (!document.is_object()) return fail_field("document", document, "expected a mapping");
  for (const auto& [name, value] : document.items()) {
    if (auto set = set_field(settings, name, value); !set) {
      return fail(set.error().code, line_of(name, yaml) + set.error().message);
    }
  }
  if (settings.publish && settings.nri && settings.nri->mode == NriMode::kObserve) {
    return fail(ErrorCode::kInvalidArgument,
                "publish: expected 'nri.mode: enforce': in mode observe containers do not run "
                "where the state says");
  }
  return settings;
}

Result<agent::LogLevel> parse_log_level(std::string_view text) {
  for (const auto level : {agent::LogLevel::kDebug, agent::LogLevel::kInfo,
                           agent::LogLevel::kWarning, agent::LogLevel::kError}) {
    if (to_string(level) == text) return level;
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}': expected debug, info, warning or error", printable(text)));
}

PodResourcesPlaces pod_resources_places(const Settings& settings) {
  const std::string& named = settings.pod_resources_socket;
  const bool is_off = named == "off" || (named.empty() && !settings.nri);
  if (is_off) return {};
  const auto directory = std::filesystem::path(settings.socket).parent_path();
  std::string own = directory / "pod-resources/kubelet.sock";
  if (!settings.nri) return {named, std::move(own), ""};
  if (named.empty()) return {own, own, ""};
  if (!named.starts_with(settings.nri->kubelet_root + "/")) return {named, std::move(own), ""};
  return {own, own, fmt::format("with NRI, the kubelet serves '{}' itself", named)};
}

std::vector<std::string> needs_restart(const Settings& before, const Settings& after) {
  std::vector<std::string> names;
  for (const NamedField& named : kFields) {
    const bool differs =
        std::visit([&](auto field) { return before.*field != after.*field; }, named.field);
    if (differs && named.needs_restart) names.emplace_back(named.name);
  }
  return names;
}

}  // namespace pinfold::settings
