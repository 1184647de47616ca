#include "pinfold/audit/systemd_unit.hpp"

#include <array>
#include <map>
#include <vector>

namespace pinfold::audit {
namespace {

/// Where systemd looks for units, in order of precedence.
constexpr std::array kDirectories = {"/etc/systemd/system", "/run/systemd/system",
                                     "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
                                     "/lib/systemd/system"};

/// Returns the drop-ins by name; of several with one name, that of the first directory.
std::map<std::string, std::string> drop_ins_of(const Tree& tree, const std::string& unit) {
  std::map<std::string, std::string> paths;
  for (const std::string directory : kDirectories) {
    const std::string below = directory + "/" + unit + ".d";
    for (const std::string& name : tree.list(below).value_or(std::vector<std::string>())) {
      if (name.ends_with(".conf")) paths.try_emplace(name, below + "/" + name);
    }
  }
  return paths;
}

/// Returns the text of a unit followed by its drop-ins.
std::optional<std::string> unit_text(const Tree& tree, const std::string& unit) {
  std::optional<std::string> text;
  for (const std::string directory : kDirectories) {
    if (text) break;
    if (auto read = tree.read(directory + "/" + unit)) text = *std::move(read);
  }
  if (!text) return std::nullopt;
  for (const auto& [name, path] : drop_ins_of(tree, unit)) {
    if (const auto more = tree.read(path)) *text += "\n" + *more;
  }
  return text;
}

}  // namespace

std::optional<FlagsText> read_unit(const Tree& tree, const std::string& unit) {
  const auto text = unit_text(tree, unit);
  if (!text) return std::nullopt;
  const auto read_file = [&](const std::string& path) {
    auto file = tree.read(path);
    return file ? std::optional(*std::move(file)) : std::nullopt;
  };
  return flags_of_unit(*text, {read_file, true});
}

}  // namespace pinfold::audit
