// Decides which groups a container may adopt, and finds the canonical name of a group.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "kernel_files.hpp"
#include "named_directory.hpp"
#include "pinfold/base/unique_fd.hpp"
#include "pinfold/enforce/cgroups.hpp"

namespace pinfold::enforce {
namespace {

/// Returns true if `path` is `group` or below it.
bool is_in(const std::string& path, const std::string& group) {
  return (path + "/").starts_with(group.ends_with('/') ? group : group + "/");
}

tl::unexpected<Error> refused(const std::string& directory, std::string_view why) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("'{}': {}", directory, why));
}

/// Returns true for the groups that the kubelet makes above those of pods, with either cgroup
/// driver; names with "-" are below a cgroupRoot.
bool is_of_all_pods(const std::string& directory) {
  static constexpr std::array kNames = {
      "/kubepods",       "/kubepods/burstable",       "/kubepods/besteffort",
      "/kubepods.slice", "/kubepods-burstable.slice", "/kubepods-besteffort.slice",
      "-kubepods.slice", "-kubepods-burstable.slice", "-kubepods-besteffort.slice",
  };
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](const char* name) { return directory.ends_with(name); });
}

/// Checks that a group below Pinfold's root is inside the group of the container's own pod.
Result<void> check_below_root(const std::string& root, const ContainerId& container,
                              const std::string& directory) {
  if (!is_in(directory, root)) return {};
  const std::string inner = directory.substr(root.size() + 1);
  const std::size_t slash = inner.find('/');
  const auto pod = pod_of_group(inner.substr(0, slash));
  if (!pod) return {};
  if (slash == std::string::npos) {
    return refused(directory,
                   fmt::format("it is the group of pod '{}', expected a container's", *pod));
  }
  if (*pod == container.pod) return {};
  return refused(directory, fmt::format("it is in the group of pod '{}'", *pod));
}

/// Returns the path of an open directory as this process sees it.
Result<std::string> path_of(int directory, const std::string& shown) {
  std::array<char, PATH_MAX> path{};
  const std::string link = fmt::format("/proc/self/fd/{}", directory);
  const ssize_t size = ::readlink(link.c_str(), path.data(), path.size());
  if (size < 0) return fail_errno(errno, fmt::format("read the path of '{}'", shown));
  return std::string(path.data(), static_cast<std::size_t>(size));
}

bool is_same(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/// Returns the mount id of an open directory; nullopt before Linux 5.8, or if statx fails.
std::optional<std::uint64_t> mount_id(int directory) {
  struct statx seen {};
  if (::statx(directory, "", AT_EMPTY_PATH, STATX_MNT_ID, &seen) != 0) return std::nullopt;
  if ((seen.stx_mask & STATX_MNT_ID) == 0) return std::nullopt;
  return seen.stx_mnt_id;
}

/// Translates `path`, the path of the open directory `named`, to the mount that contains `home`.
Result<std::string> path_at_home(int named, const std::string& path, const std::string& home) {
  const UniqueFd root(::open(home.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto mount = root ? mount_id(root.get()) : std::nullopt;
  if (mount && mount_id(named) == mount) return path;  // avoids parsing a long table
  PINFOLD_LET(const auto mounts, parse_mountinfo(read_kernel_file("/proc/self/mountinfo")));
  return path_in_mount_of(mounts, path, home);
}

}  // namespace

Result<std::string> canonical_directory(const std::string& directory,
                                        const HierarchyRoot& cpusets) {
  if (!directory.starts_with('/')) return refused(directory, "expected an absolute path");
  PINFOLD_LET(const UniqueFd fd, open_named_directory(directory));
  struct stat named {};
  if (::fstat(fd.get(), &named) != 0) {
    return fail_errno(errno, fmt::format("open '{}'", directory));
  }
  PINFOLD_LET(std::string path, path_of(fd.get(), directory));
  struct stat root {};
  // A root that exists only in its owner's callbacks is in no mount, so nothing is translated.
  const bool has_root =
      cpusets.processes != nullptr && ::stat(cpusets.directory.c_str(), &root) == 0;
  if (has_root) {
    if (root.st_dev != named.st_dev) {
      return refused(directory, fmt::format("it is not in the hierarchy with the cpusets, which "
                                            "has '{}'",
                                            cpusets.directory));
    }
    PINFOLD_LET(path, path_at_home(fd.get(), path, cpusets.directory));
  }
  struct stat seen {};
  if (::stat(path.c_str(), &seen) != 0 || !is_same(named, seen)) {
    return refused(directory, fmt::format("it is not the group at '{}': expected one that can be "
                                          "reached through the mounts of this process",
                                          path));
  }
  return path;
}

Result<std::string> Cgroups::check_adoptable(const ContainerId& container,
                                             const std::string& directory) const {
  PINFOLD_LET(std::string real, canonical(directory));
  if (is_in(root(), real)) {
    return refused(real, "it contains all groups of Pinfold: expected the container's own group");
  }
  if (is_of_all_pods(real)) {
    return refused(real, "it contains the groups of pods: expected the container's own group");
  }
  PINFOLD_TRY(check_below_root(root(), container, real));
  for (const auto& [pod, name, other] : adopted_) {
    if (ContainerId{pod, name} == container) continue;
    if (!is_in(real, other) && !is_in(other, real)) continue;
    return refused(real,
                   fmt::format("container '{}' of pod '{}' has adopted '{}'", name, pod, other));
  }
  PINFOLD_LET(const Group group, open_adopted(container, real));
  PINFOLD_TRY_WRAP(read_set(group, kCpusFile), fmt::format("'{}' has no cpuset", real));
  return real;
}

}  // namespace pinfold::enforce
