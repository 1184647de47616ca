#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include "doctor_parts.hpp"

/// Distributions backport features to older kernels, so what the kernel shows counts more than its
/// release number.
namespace pinfold::audit {
namespace {

/// Returns true if a system call that returns a descriptor exists and is not blocked by a filter.
std::optional<bool> can_open(long descriptor) {
  if (descriptor < 0) {
    return errno == ENOSYS || errno == EPERM ? std::optional(false) : std::nullopt;
  }
  const UniqueFd opened(static_cast<int>(descriptor));
  return true;
}

/// Returns the mount and the groups directly in it. The mount has the files of a group unless it is
/// the root of the hierarchy.
std::vector<std::string> groups_of(const Tree& tree, const std::string& mount) {
  std::vector<std::string> groups{mount};
  for (const std::string& name :
       tree.list_directories(mount).value_or(std::vector<std::string>())) {
    groups.push_back(fmt::format("{}/{}", mount, name));
  }
  return groups;
}

/// Returns true if a group has `file`. Groups that have `sibling` should have it; nullopt if none
/// has that.
std::optional<bool> have_file(const Tree& tree, const std::vector<std::string>& groups,
                              const char* file, const char* sibling) {
  bool is_known = false;
  for (const std::string& group : groups) {
    if (tree.has(fmt::format("{}/{}", group, file))) return true;
    is_known = is_known || tree.has(fmt::format("{}/{}", group, sibling));
  }
  // In a copied tree a file may be missing although the kernel has it.
  return is_known && tree.root().empty() ? std::optional(false) : std::nullopt;
}

void observe_v2(const Tree& tree, const std::string& mount, KernelFeatures& features) {
  const auto controllers = tree.read(mount + "/cgroup.controllers");
  if (controllers && has_word(*controllers, ' ', "cpuset")) features.v2_cpusets = true;
  const auto groups = groups_of(tree, mount);
  // The root of the hierarchy has none of these files.
  features.cgroup_kill = have_file(tree, groups, "cgroup.kill", "cgroup.type");
  features.remote_partitions =
      have_file(tree, groups, "cpuset.cpus.exclusive", "cpuset.cpus.partition");
}

using Version = std::pair<int, int>;

/// Parses "6.1.0-18-amd64".
std::optional<Version> parse_release(std::string_view text) {
  Version version;
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.first);
  if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.') return std::nullopt;
  if (std::from_chars(major.ptr + 1, end, version.second).ec != std::errc{}) return std::nullopt;
  return version;
}

/// A feature and the first release that has it.
struct Feature {
  std::optional<bool> KernelFeatures::*shown;
  Version since;
  const char* name;
  const char* without;
};
constexpr std::array kFeatures = {
    Feature{&KernelFeatures::v2_cpusets,
            {5, 0},
            "cpusets of cgroup v2",
            "nothing can be pinned on cgroup v2"},
    Feature{&KernelFeatures::pidfd,
            {5, 3},
            "pidfd",
            "a reused process id can be mistaken for the old process"},
    Feature{&KernelFeatures::openat2,
            {5, 6},
            "openat2",
            "'pinfold audit' and 'pinfold doctor' cannot read another root"},
    Feature{&KernelFeatures::cgroup_kill,
            {5, 14},
            "cgroup.kill",
            "processes of a removed pod are killed one by one"},
    Feature{&KernelFeatures::remote_partitions,
            {6, 7},
            "partitions below other groups",
            "the configured partitions can degrade to ordinary groups"},
};

bool is_needed(const Feature& feature, const ObservedSystem& system) {
  if (feature.shown != &KernelFeatures::remote_partitions) return true;
  const auto& config = system.service.config;
  return system.service.quiet == "isolated" || (config && config->partition != Partition::kNone);
}

}  // namespace

KernelFeatures observe_features(const Tree& tree, const std::vector<enforce::Mount>& mounts) {
  KernelFeatures features;
  if (tree.root().empty()) {  // another root may belong to another kernel
    features.pidfd = can_open(::syscall(SYS_pidfd_open, ::getpid(), 0));
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    features.openat2 = can_open(::syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how)));
  }
  const auto types = tree.read("/proc/filesystems");
  if (types && types->find("\tcgroup2") == std::string::npos) {
    features.v2_cpusets = features.cgroup_kill = features.remote_partitions = false;
  }
  for (const enforce::Mount& mount : mounts) {
    if (mount.fs_type != "cgroup2") continue;
    observe_v2(tree, mount.point, features);
    break;  // all mounts show the same hierarchy
  }
  return features;
}

bool may_be_before(const ObservedKernel& kernel, int major, int minor) {
  const auto version = parse_release(kernel.release.value_or(""));
  return !version || *version < Version{major, minor};
}

void check_features(const ObservedSystem& system, Checks& checks) {
  const std::string release = system.kernel.release.value_or("");
  const auto version = parse_release(release);
  std::vector<std::string> missing;
  std::vector<std::string_view> only_by_release;
  for (const Feature& feature : kFeatures) {
    if (!is_needed(feature, system)) continue;
    const std::optional<bool> shown = system.kernel.features.*feature.shown;
    if (!shown) only_by_release.push_back(feature.name);
    if (shown.value_or(!version || *version >= feature.since)) continue;
    missing.push_back(
        fmt::format("{} ({}.{}{}): {}", feature.name, feature.since.first, feature.since.second,
                    shown ? "" : ", according to the release number", feature.without));
  }
  if (!missing.empty()) {
    checks.push_back({"kernel", CheckStatus::kWarning,
                      fmt::format("Linux {} lacks {}", release, fmt::join(missing, "; ")),
                      "a kernel with these features", "install a newer kernel, and reboot"});
  } else if (!version && !only_by_release.empty()) {
    checks.push_back({"kernel", CheckStatus::kUnknown,
                      fmt::format("'/proc/sys/kernel/osrelease': '{}'", release),
                      "a release such as '6.1.0'", ""});
  } else {
    checks.push_back({"kernel", CheckStatus::kOk,
                      only_by_release.empty()
                          ? fmt::format("Linux {}", release)
                          : fmt::format("Linux {}; according to the release number: {}", release,
                                        fmt::join(only_by_release, ", "))});
  }
}

}  // namespace pinfold::audit
