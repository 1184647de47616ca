#include "pinfold/enforce/mounts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernel_files.hpp"

namespace pinfold::enforce {
namespace {

constexpr std::size_t kMaxMountinfo = std::size_t{16} << 20;

bool is_octal(char c) { return c >= '0' && c <= '7'; }

/// Decodes the kernel's escapes: "\040" is a space.
std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && text.size() - i > 3 && is_octal(text[i + 1]) && is_octal(text[i + 2]) &&
        is_octal(text[i + 3])) {
      const int value = (text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0');
      out += static_cast<char>(value & 0xFF);
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::optional<Mount> parse_line(std::string_view line) {
  std::string_view rest = line;
  for (int skipped = 0; skipped < 3; ++skipped) {  // mount id, parent id, major:minor
    if (next_field(rest, ' ').empty()) return std::nullopt;
  }
  Mount mount;
  mount.root = unescape(next_field(rest, ' '));
  mount.point = unescape(next_field(rest, ' '));
  if (next_field(rest, ' ').empty()) return std::nullopt;  // mount options
  while (!rest.empty()) {                                  // optional fields, up to a single dash
    if (next_field(rest, ' ') == "-") {
      mount.fs_type = unescape(next_field(rest, ' '));
      next_field(rest, ' ');  // source
      mount.super_options = unescape(rest);
      const bool sound = !mount.fs_type.empty() && mount.point.starts_with('/');
      return sound ? std::optional(std::move(mount)) : std::nullopt;
    }
  }
  return std::nullopt;
}

bool lists(std::string_view words, char separator, std::string_view word) {
  while (!words.empty()) {
    std::string_view one = next_field(words, separator);
    while (one.ends_with('\n')) one.remove_suffix(1);
    if (one == word) return true;
  }
  return false;
}

bool is_below(const std::string& path, const std::string& directory) {
  return directory == "/" || path == directory || path.starts_with(directory + "/");
}

/// Returns the mount that contains a path: the deepest one, and the latest at the same point.
const Mount* mount_of(std::span<const Mount> mounts, const std::string& path) {
  const Mount* best = nullptr;
  for (const Mount& mount : mounts) {
    if (!is_below(path, mount.point)) continue;
    if (best == nullptr || mount.point.size() >= best->point.size()) best = &mount;
  }
  return best;
}

struct MountSearch {
  std::span<const Mount> mounts;
  const Mount* home;
  std::string relative;  ///< the path of the root below its mount: "" or "/a/b"
  const std::function<std::string(const std::string&)>& controllers_at;

  [[nodiscard]] bool has(const Mount& mount, Controller controller) const {
    const std::string_view name = to_string(controller);
    if (mount.fs_type == "cgroup") return lists(mount.super_options, ',', name);
    return mount.fs_type == "cgroup2" && lists(controllers_at(directory(mount)), ' ', name);
  }
  [[nodiscard]] std::string directory(const Mount& mount) const {
    return mount.point == "/" ? (relative.empty() ? "/" : relative) : mount.point + relative;
  }
  [[nodiscard]] const Mount* find(Controller controller) const {
    if (has(*home, controller)) return home;
    for (const Mount& mount : mounts) {
      if (has(mount, controller) && mount_of(mounts, mount.point) == &mount) return &mount;
    }
    return nullptr;
  }
};

}  // namespace

Result<std::vector<Mount>> parse_mountinfo(std::string_view text) {
  if (text.size() > kMaxMountinfo) {
    return fail(ErrorCode::kInvalidArgument, "mountinfo: expected at most 16 MiB");
  }
  std::vector<Mount> mounts;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = next_field(text, '\n');
    if (line.empty()) continue;
    std::optional<Mount> mount = parse_line(line);
    if (!mount) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("mountinfo line {}: '{}': expected the fields of proc(5)", number,
                              line.substr(0, 200)));
    }
    mounts.push_back(*std::move(mount));
  }
  return mounts;
}

std::string_view to_string(Controller controller) {
  switch (controller) {
    case Controller::kCpuset:
      return "cpuset";
    case Controller::kCpu:
      return "cpu";
    case Controller::kMemory:
      return "memory";
    case Controller::kHugetlb:
      return "hugetlb";
  }
  return "";
}

std::optional<Controller> controller_of(std::string_view file) {
  const std::string_view prefix = file.substr(0, file.find('.'));
  for (const Controller controller : kAllControllers) {
    if (to_string(controller) == prefix) return controller;
  }
  return std::nullopt;
}

Result<std::vector<HierarchyRoot>> locate(
    std::span<const Mount> mounts, const std::string& root,
    const std::function<std::string(const std::string& directory)>& controllers_at) {
  const Mount* home = mount_of(mounts, root);
  if (home == nullptr || (home->fs_type != "cgroup" && home->fs_type != "cgroup2")) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is not in a control group file system{}", root,
                            home == nullptr ? std::string()
                                            : fmt::format(": it is on {}, mounted at '{}'",
                                                          home->fs_type, home->point)));
  }
  const std::string relative =
      home->point == "/" ? (root == "/" ? "" : root) : root.substr(home->point.size());
  const MountSearch search{mounts, home, relative, controllers_at};
  std::vector<HierarchyRoot> roots;
  for (const Controller controller : kAllControllers) {
    const Mount* mount = search.find(controller);
    if (mount == nullptr) {
      if (controller != Controller::kCpuset) continue;
      return fail(ErrorCode::kUnsupported,
                  fmt::format("no hierarchy has the 'cpuset' controller for '{}': expected it in "
                              "its cgroup.controllers (the parent's cgroup.subtree_control must "
                              "have '+cpuset'), or a cgroup v1 mount with it",
                              root));
    }
    const std::string directory = search.directory(*mount);
    const auto known = std::find_if(roots.begin(), roots.end(), [&](const HierarchyRoot& found) {
      return found.directory == directory;
    });
    if (known != roots.end()) {
      known->controllers.push_back(controller);
    } else {
      roots.push_back({mount->fs_type == "cgroup2" ? CgroupVersion::kV2 : CgroupVersion::kV1,
                       directory,
                       {controller}});
    }
  }
  return roots;
}

Result<std::string> path_in_mount_of(std::span<const Mount> mounts, const std::string& path,
                                     const std::string& home) {
  const auto is_of_groups = [](const Mount* mount) {
    return mount != nullptr && (mount->fs_type == "cgroup" || mount->fs_type == "cgroup2");
  };
  const auto below = [](const std::string& whole, const std::string& directory) {
    return directory == "/" ? whole : whole.substr(directory.size());
  };
  const Mount* const from = mount_of(mounts, path);
  const Mount* const to = mount_of(mounts, home);
  if (!is_of_groups(from) || !is_of_groups(to) || from->fs_type != to->fs_type) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is not in the hierarchy of '{}'", path, home));
  }
  if (from == to) return path;
  std::string group = (from->root == "/" ? "" : from->root) + below(path, from->point);
  if (group.ends_with('/')) group.pop_back();
  if (!is_below(group, to->root)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}': its group '{}' is not below '{}', which is mounted at '{}'",
                            path, group, to->root, to->point));
  }
  return (to->point == "/" ? "" : to->point) + below(group, to->root);
}

std::string cpuset_path(std::string_view proc_cgroup, CgroupVersion cpusets) {
  while (!proc_cgroup.empty()) {
    std::string_view line = next_field(proc_cgroup, '\n');
    next_field(line, ':');  // the hierarchy number
    const std::string_view controllers = next_field(line, ':');
    const bool is_it =
        cpusets == CgroupVersion::kV2 ? controllers.empty() : lists(controllers, ',', "cpuset");
    if (is_it && !line.empty()) return std::string(line);
  }
  return "";
}

Result<std::string> group_of_process(std::string_view proc_cgroup, std::span<const Mount> mounts,
                                     CgroupVersion cpusets) {
  const std::string path = cpuset_path(proc_cgroup, cpusets);
  if (!path.starts_with('/') || path.starts_with("/..")) {
    return fail(ErrorCode::kNotFound, "no group with a cpuset is visible to this process");
  }
  for (const Mount& mount : mounts) {
    const bool fits = cpusets == CgroupVersion::kV2
                          ? mount.fs_type == "cgroup2"
                          : mount.fs_type == "cgroup" && lists(mount.super_options, ',', "cpuset");
    if (!fits) continue;
    const std::string root = mount.root == "/" ? "" : mount.root;
    if (!path.starts_with(root)) continue;
    const std::string rest = path.substr(root.size());
    if (!rest.empty() && rest.front() != '/') continue;
    return rest == "/" ? mount.point : mount.point + rest;
  }
  return fail(ErrorCode::kNotFound, fmt::format("group '{}' is in no mount", path));
}

}  // namespace pinfold::enforce
