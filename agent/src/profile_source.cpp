#include "pinfold/agent/profile_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "pinfold/checkpoint/files.hpp"
#include "pinfold/checkpoint/sealed.hpp"

namespace pinfold::agent {
namespace {

using nlohmann::json;

/// Parses the members of a JSON object without the contents of their values; null for other text.
json outline(std::string_view text) {
  const auto is_outer = [](int depth, json::parse_event_t /*event*/, const json& /*value*/) {
    return depth < 2;
  };
  json value = json::parse(text, is_outer, /*allow_exceptions=*/false);
  return value.is_object() ? value : json();
}

/// Reads the profile that .pinfold_pods records; nullopt if there is none or the file is damaged.
std::optional<Profile> remembered(std::string_view pods) {
  const auto body = checkpoint::unseal(checkpoint::kPodsFileName.substr(1), pods);
  if (!body) return std::nullopt;
  if (body->find("\"kubeletProfile\"") == std::string_view::npos)
    return std::nullopt;  // saves time
  const json members = outline(*body);
  const auto name = members.find("kubeletProfile");
  if (name == members.end() || !name->is_string()) return std::nullopt;
  const auto profile = parse_profile(name->get_ref<const std::string&>());
  return profile ? std::optional(*profile) : std::nullopt;
}

std::string_view reason(ProfileSource source) {
  switch (source) {
    case ProfileSource::kCommandLine:
      return "given on the command line";
    case ProfileSource::kConfiguration:
      return "given in the configuration";
    case ProfileSource::kKubelet:
      return "the version of the kubelet";
    case ProfileSource::kStateFiles:
      return "a kubelet wrote the state files in its format";
    case ProfileSource::kDefault:
      break;
  }
  return "the default; the kubelet's version is unknown";
}

}  // namespace

std::string_view to_string(ProfileSource source) {
  switch (source) {
    case ProfileSource::kCommandLine:
      return "commandLine";
    case ProfileSource::kConfiguration:
      return "configuration";
    case ProfileSource::kKubelet:
      return "kubelet";
    case ProfileSource::kStateFiles:
      return "stateFiles";
    case ProfileSource::kDefault:
      break;
  }
  return "default";
}

std::string describe_profile(Profile profile, ProfileSource source) {
  return fmt::format("profile {}: {}", to_string(profile), reason(source));
}

Config with_profile_of(const Config& until_now, Config config, ProfileSource source) {
  if (source == ProfileSource::kDefault) config.profile = until_now.profile;
  return config;
}

ProfileSource profile_source_of(const ParsedConfig& parsed) {
  return parsed.names_profile ? ProfileSource::kConfiguration : ProfileSource::kDefault;
}

std::optional<Profile> profile_of_files(const checkpoint::Files& files) {
  if (files.pods) return remembered(*files.pods);
  const std::array outlines = {outline(files.cpu.value_or("")), outline(files.memory.value_or(""))};
  const auto any_has = [&](const char* key) {
    return std::any_of(outlines.begin(), outlines.end(),
                       [&](const json& file) { return file.contains(key); });
  };
  if (any_has("dataChecksum")) return Profile::kKubelet137;
  if (any_has("podEntries")) return Profile::kKubelet136;
  return std::nullopt;
}

}  // namespace pinfold::agent
