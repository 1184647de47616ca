#include "pinfold/audit/systemd_unit.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace pinfold::audit {
namespace {

/// Where systemd looks for units, in order of precedence.
constexpr std::array kDirectories = {
    "/etc/systemd/system.control",   "/run/systemd/system.control",  "/run/systemd/transient",
    "/run/systemd/generator.early",  "/etc/systemd/system",          "/etc/systemd/system.attached",
    "/run/systemd/system",           "/run/systemd/system.attached", "/run/systemd/generator",
    "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",      "/lib/systemd/system",
    "/run/systemd/generator.late"};

bool is_listed(const Tree& tree, const std::string& directory, const std::string& name) {
  const auto names = tree.list(directory).value_or(std::vector<std::string>());
  return std::binary_search(names.begin(), names.end(), name);
}

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

void add_drop_ins(const Tree& tree, const std::string& directory,
                  std::map<std::string, std::string>& paths) {
  for (const std::string& name : tree.list(directory).value_or(std::vector<std::string>())) {
    if (name.ends_with(".conf")) paths.try_emplace(name, directory + "/" + name);
  }
}

/// Returns the drop-ins by name; of several with one name, the first that systemd finds, even if it
/// is a link to /dev/null.
std::map<std::string, std::string> drop_ins_of(const Tree& tree, const std::string& unit) {
  std::map<std::string, std::string> paths;
  for (const std::string directory : kDirectories) {
    for (const std::string& name : own_directories(unit)) {
      add_drop_ins(tree, directory + "/" + name, paths);
    }
  }
  const std::string of_type = unit.substr(std::min(unit.rfind('.') + 1, unit.size())) + ".d";
  for (const std::string directory : kDirectories) {
    add_drop_ins(tree, directory + "/" + of_type, paths);
  }
  return paths;
}

/// Returns the text of the unit's first file; "" if that masks the unit, because it is empty or a
/// link to /dev/null; nullopt if there is none.
std::optional<std::string> fragment_of(const Tree& tree, const std::string& unit) {
  for (const std::string directory : kDirectories) {
    if (is_listed(tree, directory, unit)) return tree.read(directory + "/" + unit).value_or("");
  }
  return std::nullopt;
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
          found.push_back(path + "/" + name);
        }
      }
    }
    paths = std::move(found);
  }
  return paths;
}

}  // namespace

std::optional<FlagsText> read_unit(const Tree& tree, const std::string& unit) {
  auto fragment = fragment_of(tree, unit);
  if (!fragment || fragment->empty()) return std::nullopt;
  std::vector<std::string> texts = {*std::move(fragment)};
  for (const auto& [name, path] : drop_ins_of(tree, unit)) {
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
