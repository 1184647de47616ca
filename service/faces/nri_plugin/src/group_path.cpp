#include "pinfold/nri_plugin/group_path.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pinfold::nri {
namespace {

constexpr std::string_view kSlice = ".slice";

/// Expands a slice name: "a-b.slice" is inside "a.slice", so "/a.slice/a-b.slice". "-.slice" is the
/// root.
std::string expand_slice(std::string_view slice) {
  const std::string_view stem = slice.substr(0, slice.size() - kSlice.size());
  std::string path;
  if (stem == "-") return path;
  for (std::size_t end = stem.find('-');; end = stem.find('-', end + 1)) {
    path += fmt::format("/{}{}", stem.substr(0, end), kSlice);
    if (end == std::string_view::npos) return path;
  }
}

bool is_slice(std::string_view name) {
  return name.size() > kSlice.size() && name.ends_with(kSlice) &&
         name.find('/') == std::string_view::npos;
}

/// Returns the path that runc makes of "SLICE:PREFIX:NAME"; empty if the text has another form.
std::string systemd_path(std::string_view text) {
  const std::size_t first = text.find(':');
  const std::size_t second = text.find(':', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return "";
  const std::string_view slice = text.substr(0, first);
  const std::string_view prefix = text.substr(first + 1, second - first - 1);
  const std::string_view name = text.substr(second + 1);
  if (!slice.empty() && !is_slice(slice)) return "";
  const std::string parent = expand_slice(slice.empty() ? "system.slice" : slice);
  if (name.ends_with(kSlice)) return fmt::format("{}/{}", parent, name);
  if (prefix.empty()) return fmt::format("{}/{}.scope", parent, name);
  return fmt::format("{}/{}-{}.scope", parent, prefix, name);
}

Result<std::string> below(std::string_view mount, std::string_view path, std::string_view shown) {
  std::string directory(mount);
  while (directory.ends_with('/')) directory.pop_back();
  const std::size_t base = directory.size();
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    path.remove_prefix(std::min(path.size(), end + 1));
    if (part == "." || part.empty()) continue;
    if (part == ".." || part.find('\0') != std::string_view::npos) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("cgroup '{}': expected a path without '..'", shown));
    }
    directory += fmt::format("/{}", part);
  }
  if (directory.size() > base) return directory;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("cgroup '{}': expected one below the root", shown));
}

}  // namespace

Result<std::string> group_directory(std::string_view mount, std::string_view cgroups_path) {
  const bool is_systemd = cgroups_path.find(':') != std::string_view::npos;
  if (!is_systemd) return below(mount, cgroups_path, cgroups_path);
  return below(mount, systemd_path(cgroups_path), cgroups_path);
}

Result<std::string> pod_directory(std::string_view mount, std::string_view cgroup_parent) {
  if (!is_slice(cgroup_parent)) return below(mount, cgroup_parent, cgroup_parent);
  return below(mount, expand_slice(cgroup_parent), cgroup_parent);
}

}  // namespace pinfold::nri
