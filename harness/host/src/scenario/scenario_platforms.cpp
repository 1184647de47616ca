#include "scenario/scenario_platforms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "pinfold/harness/json.hpp"
#include "scenario/cgroup_paths.hpp"
#include "scenario/scenario_machine.hpp"

namespace pinfold::harness {
namespace {

constexpr std::size_t kMaxPlatforms = 16;
constexpr std::size_t kMaxOverrides = 64;
/// Fields that an override cannot change.
constexpr const char* kFixedFields[] = {"name", "on", "arch", "kernel", "overrides", "steps"};

bool contains(const std::vector<Platform>& platforms, const Platform& one) {
  return std::find(platforms.begin(), platforms.end(), one) != platforms.end();
}

bool names_machine(const Json& patch) {
  const auto machine = patch.find("machine");
  return machine != patch.end() && (machine->is_string() || machine->contains("like"));
}

/// Replaces $(cpuset) in every string of a document.
void replace_variables(Json& value, const Platform& platform) {
  static constexpr std::string_view kVariable = "$(cpuset)";
  if (value.is_string()) {
    auto& text = value.get_ref<std::string&>();
    const std::string mount = cpuset_mount(platform.cgroup);
    for (std::size_t at = text.find(kVariable); at != std::string::npos;
         at = text.find(kVariable, at + mount.size())) {
      text.replace(at, kVariable.size(), mount);
    }
  } else if (value.is_structured()) {
    for (Json& member : value) replace_variables(member, platform);
  }
}

/// Returns how many leading keys of a path exist in a document.
std::size_t depth_of(const Json& document, const FieldPath& path) {
  const Json* value = &document;
  std::size_t depth = 0;
  for (const std::string& key : path) {
    if (value->is_object() && value->contains(key)) {
      value = &(*value)[key];
    } else if (value->is_array() && is_index(key) && std::stoul(key) < value->size()) {
      value = &(*value)[std::stoul(key)];
    } else {
      break;
    }
    ++depth;
  }
  return depth;
}

/// Reads the architecture of platforms that do not name one.
Arch read_arch(FieldReader& fields) {
  return fields.choice<Arch>(
      "arch", {{to_string(Arch::kAmd64), Arch::kAmd64}, {to_string(Arch::kArm64), Arch::kArm64}});
}

}  // namespace

std::vector<Platform> read_platforms(FieldReader& fields, Platform usual,
                                     std::optional<Arch> only) {
  const Arch named = read_arch(fields);
  usual.arch = only.value_or(named);
  const Json* list = fields.find("on");
  if (list == nullptr) return {std::move(usual)};
  if (!list->is_array() || list->empty() || list->size() > kMaxPlatforms) {
    fields.complain("on", fmt::format("{}: expected a list of 1 to {} platforms such as {}",
                                      show_value(*list), kMaxPlatforms, to_string(Platform{})));
    return {};
  }
  std::vector<Platform> platforms;
  for (const Json& one : *list) {
    auto platform =
        parse_platform(one.is_string() ? one.get<std::string>() : show_value(one), named);
    if (!platform) {
      fields.complain("on", platform.error().message);
      continue;
    }
    if (only) platform->arch = *only;
    if (!contains(platforms, *platform)) {
      platforms.push_back(std::move(*platform));
    } else if (!only) {
      fields.complain("on", fmt::format("'{}': expected each platform once", to_string(*platform)));
    }
  }
  return platforms;
}

std::vector<Platform> read_for(FieldReader& fields, const std::vector<Platform>& all) {
  const Json* value = fields.find("for");
  if (value == nullptr) return all;
  const auto selectors =
      value->is_string() ? std::vector{value->get<std::string>()} : fields.texts("for");
  if (!fields.failed() && selectors.empty()) fields.complain("for", "expected at least one");
  std::vector<Platform> selected;
  for (const std::string& selector : selectors) {
    bool known = false;
    for (const Platform& platform : all) {
      if (!selects(selector, platform)) continue;
      known = true;
      if (!contains(selected, platform)) selected.push_back(platform);
    }
    if (!known) {
      fields.complain(
          "for",
          fmt::format("'{}': expected a kernel, a cgroup version, an architecture, or "
                      "several, of {}{}",
                      selector.substr(0, 60), to_string(all), nearest_platform(selector, all)));
    }
  }
  return selected;
}

std::optional<PlatformScope> narrow(FieldReader& fields, const PlatformScope& scope) {
  PlatformScope narrowed{read_for(fields, scope.all), scope.current};
  if (!contains(narrowed.all, scope.current)) return std::nullopt;
  return narrowed;
}

std::vector<Override> read_overrides(FieldReader& fields, const std::vector<Platform>& all,
                                     std::optional<Complaint>& complaint) {
  const Json* list = fields.find("overrides");
  if (list == nullptr) return {};
  if (!list->is_array() || list->size() > kMaxOverrides) {
    fields.complain("overrides", fmt::format("{}: expected a list of at most {} overrides",
                                             show_value(*list), kMaxOverrides));
    return {};
  }
  std::vector<Override> overrides;
  for (std::size_t i = 0; i < list->size() && !complaint; ++i) {
    FieldPath path = fields.path_of("overrides");
    path.push_back(std::to_string(i));
    const Json& value = (*list)[i];
    FieldReader entry(value, std::move(path), complaint);
    if (entry.find("for") == nullptr) entry.complain("for", "missing");
    Override one{read_for(entry, all), value};
    if (entry.failed()) break;
    one.patch.erase("for");
    for (const char* field : kFixedFields) {
      if (one.patch.contains(field)) {
        entry.complain(field, "the same on every platform, expected no override");
      }
    }
    overrides.push_back(std::move(one));
  }
  return overrides;
}

Json document_for(const Platform& platform, Json document, const std::vector<Override>& overrides,
                  const Machines& machines, std::optional<Complaint>& complaint) {
  document.erase("on");
  document.erase("arch");
  document.erase("overrides");
  const auto spell_out = [&] {
    const auto machine = document.find("machine");
    if (machine == document.end() || complaint) return;
    *machine = spelled_out(std::move(*machine), machines, complaint);
  };
  spell_out();
  for (const Override& one : overrides) {
    if (!contains(one.platforms, platform)) continue;
    if (names_machine(one.patch)) document.erase("machine");  // replaced, not merged
    document.merge_patch(one.patch);
    spell_out();
  }
  if (document.contains("steps")) replace_variables(document["steps"], platform);
  return document;
}

FieldPath place_in_file(FieldPath place, const Platform& platform, const Json& document,
                        const std::vector<Override>& overrides) {
  const std::size_t depth = depth_of(document, place);
  for (std::size_t i = overrides.size(); depth > 0 && i-- > 0;) {
    if (!contains(overrides[i].platforms, platform)) continue;
    if (depth_of(overrides[i].patch, place) < depth) continue;
    place.insert(place.begin(), {"overrides", std::to_string(i)});
    break;
  }
  return place;
}

}  // namespace pinfold::harness
