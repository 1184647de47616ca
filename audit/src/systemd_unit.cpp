#include "pinfold/audit/systemd_unit.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace pinfold::audit {
namespace {

/// Where systemd looks for units, in order of precedence.
constexpr std::array kDirectories = {
    "/etc/systemd/system.control",   "/run/systemd/system.control",  "/run/systemd/transient",
    "/run/systemd/generator.early",  "/etc/systemd/system",          "/etc/systemd/system.attached",
    "/run/systemd/system",           "/run/systemd/system.attached", "/run/systemd/generator",
    "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",      "/lib/systemd/system",
    "/run/systemd/generator.late"};

/// Returns the names of the directories for the drop-ins of "a-b.service": "a-b.service.d" and
/// "a-.service.d".
std::vector<std::string> own_directories(const std::string& unit) {
  const std::size_t dot = std::min(unit.rfind('.'), unit.size());
  const std::string type = unit.substr(dot);
  std::vector<std::string> names = {unit + ".d"};
  std::size_t dash = dot;
  while (dash > 0 && (dash = unit.rfind('-', dash - 1)) != std::string::npos) {
    if (dash + 1 < dot) names.push_back(unit.substr(0, dash + 1) + type + ".d");
  }
  return names;
}

/// Adds the drop-ins by name; if several have one name, the first that systemd finds counts, even
/// if it is a link to /dev/null.
void add_drop_ins(const Tree& tree, const InstalledUnits& units, const std::string& directory,
                  std::map<std::string, std::string>& paths) {
  if (!units.drop_in_directories.contains(directory)) return;
  for (const std::string& name : tree.list(directory).value_or(std::vector<std::string>())) {
    if (name.ends_with(".conf")) paths.try_emplace(name, fmt::format("{}/{}", directory, name));
  }
}

/// Returns the paths that match a pattern, in the order of their names. Directories are only read
/// where a part of the path is a pattern.
std::vector<std::string> matching_paths(const Tree& tree, std::string_view pattern) {
  std::vector<std::string> paths = {""};
  while (!pattern.empty()) {
    pattern.remove_prefix(1);  // the slash
    const std::string part(pattern.substr(0, pattern.find('/')));
    pattern.remove_prefix(part.size());
    if (part.find_first_of("*?[") == std::string::npos) {
      for (std::string& path : paths) path += "/" + part;
      continue;
    }
    std::vector<std::string> found;
    for (const std::string& path : paths) {
      for (const auto& name : tree.list(path + "/").value_or(std::vector<std::string>())) {
        if (::fnmatch(part.c_str(), name.c_str(), FNM_PERIOD) == 0) {
          found.push_back(fmt::format("{}/{}", path, name));
        }
      }
    }
    paths = std::move(found);
  }
  return paths;
}

}  // namespace

InstalledUnits find_units(const Tree& tree) {
  constexpr std::string_view kDropIns = ".d";
  InstalledUnits found;
  for (const std::string directory : kDirectories) {
    for (const std::string& name : tree.list(directory).value_or(std::vector<std::string>())) {
      const std::string path = fmt::format("{}/{}", directory, name);
      if (name.ends_with(kDropIns)) {
        found.drop_in_directories.insert(path);
        found.names.insert(name.substr(0, name.size() - kDropIns.size()));
      } else if (found.files.try_emplace(name, path).second) {
        found.names.insert(name);
      }
    }
  }
  return found;
}

std::vector<std::string> drop_ins_of(const Tree& tree, const InstalledUnits& units,
                                     const std::string& unit) {
  std::map<std::string, std::string> by_name;
  for (const std::string directory : kDirectories) {
    for (const std::string& name : own_directories(unit)) {
      add_drop_ins(tree, units, fmt::format("{}/{}", directory, name), by_name);
    }
  }
  const std::string of_type = unit.substr(std::min(unit.rfind('.') + 1, unit.size())) + ".d";
  for (const std::string directory : kDirectories) {
    add_drop_ins(tree, units, fmt::format("{}/{}", directory, of_type), by_name);
  }
  std::vector<std::string> paths;
  paths.reserve(by_name.size());
  for (auto& [name, path] : by_name) paths.push_back(std::move(path));
  return paths;
}

std::optional<FlagsText> read_unit(const Tree& tree, const std::string& unit) {
  const InstalledUnits units = find_units(tree);
  const auto own = units.files.find(unit);
  if (own == units.files.end()) return std::nullopt;
  auto fragment = tree.read(own->second).value_or("");
  if (fragment.empty()) return std::nullopt;  // masked: empty, or a link to /dev/null
  std::vector<std::string> texts = {std::move(fragment)};
  for (const std::string& path : drop_ins_of(tree, units, unit)) {
    if (auto more = tree.read(path)) texts.push_back(*std::move(more));
  }
  const auto read_files = [&](const std::string& pattern) {
    std::vector<std::string> found;
    for (const std::string& path : matching_paths(tree, pattern)) {
      if (auto file = tree.read_exactly(path)) found.push_back(*std::move(file));
    }
    return found;
  };
  return flags_of_unit(texts, unit, {read_files, true});
}

}  // namespace pinfold::audit
