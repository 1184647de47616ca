#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "doctor_parts.hpp"

namespace pinfold::audit {
namespace {

using enforce::CgroupVersion;
using enforce::Controller;

constexpr const char* kUseV2 =
    "add 'systemd.unified_cgroup_hierarchy=1' to the kernel's command line, and reboot";

bool has_controller(const std::string& list, Controller controller) {
  return fmt::format(" {} ", list).find(fmt::format(" {} ", to_string(controller))) !=
         std::string::npos;
}

bool is_located(const ObservedCgroupSetup& setup, Controller controller) {
  return std::any_of(setup.hierarchies.begin(), setup.hierarchies.end(), [&](const auto& one) {
    return std::find(one.controllers.begin(), one.controllers.end(), controller) !=
           one.controllers.end();
  });
}

bool has_hugepages(const ObservedSystem& system) {
  if (!system.machine) return false;
  for (const NumaNode& node : system.machine->numa_nodes()) {
    for (const auto& [resource, bytes] : node.hugepages) {
      if (bytes > 0) return true;
    }
  }
  return false;
}

std::string names_of(const std::vector<Controller>& controllers, std::string_view prefix) {
  std::vector<std::string> names;
  names.reserve(controllers.size());
  for (const Controller one : controllers) {
    names.push_back(fmt::format("{}{}", prefix, to_string(one)));
  }
  return fmt::format("{}", fmt::join(names, " "));
}

/// Returns the controllers that this machine needs: hugetlb only with huge pages.
std::vector<Controller> needed_controllers(const ObservedSystem& system) {
  std::vector<Controller> needed = {Controller::kCpuset, Controller::kCpu, Controller::kMemory};
  if (has_hugepages(system)) needed.push_back(Controller::kHugetlb);
  return needed;
}

/// Returns the version of the hierarchy with Pinfold's cpusets.
std::optional<CgroupVersion> version_of(const ObservedCgroupSetup& setup) {
  for (const enforce::HierarchyRoot& one : setup.hierarchies) {
    if (std::find(one.controllers.begin(), one.controllers.end(), Controller::kCpuset) !=
        one.controllers.end()) {
      return one.version;
    }
  }
  return std::nullopt;
}

void check_mode(const ObservedSystem& system, Checks& checks) {
  const ObservedCgroupSetup& setup = system.cgroups;
  std::string v1;
  std::string v2;
  for (const enforce::Mount& mount : setup.mounts) {
    std::string& first = mount.fs_type == "cgroup2" ? v2 : v1;
    if (first.empty()) first = mount.point;
  }
  const auto version = version_of(setup);
  if (!version) {
    checks.push_back({"cgroup-mode", CheckStatus::kProblem,
                      setup.mounts.empty() ? "no control groups are mounted"
                      : setup.hierarchies_error.empty()
                          ? "no mounted hierarchy of control groups has cpusets"
                          : setup.hierarchies_error,
                      "cgroup v2 with the controller cpuset",
                      setup.mounts.empty() ? "mount -t cgroup2 none /sys/fs/cgroup" : kUseV2});
  } else if (*version == CgroupVersion::kV2) {
    checks.push_back({"cgroup-mode", CheckStatus::kOk, fmt::format("cgroup v2 at {}", v2)});
  } else {
    const auto& config = system.kubelet.config;
    const bool is_refused = config && config->fail_cgroup_v1.value_or(false);
    checks.push_back({"cgroup-mode", is_refused ? CheckStatus::kProblem : CheckStatus::kWarning,
                      v2.empty()
                          ? fmt::format("cgroup v1 below {}", v1)
                          : fmt::format("hybrid: cpusets on cgroup v1 below {}, v2 at {}", v1, v2),
                      is_refused ? "cgroup v2: with failCgroupV1: true the kubelet does not start "
                                   "on v1"
                                 : "cgroup v2: kubelets deprecate v1, and newer ones start with it "
                                   "only if failCgroupV1 is false",
                      kUseV2});
  }
}

/// Checks for controllers that the kernel does not offer in any hierarchy.
void check_controllers(const ObservedSystem& system, Checks& checks) {
  const ObservedCgroupSetup& setup = system.cgroups;
  const bool is_v2 = version_of(setup) == CgroupVersion::kV2;
  const auto needed = needed_controllers(system);
  std::vector<Controller> missing;
  for (const Controller controller : needed) {
    const bool is_on_v2 =
        is_v2 && !setup.directories.empty() &&
        has_controller(setup.directories.front().controllers.value_or(""), controller);
    if (!is_on_v2 && !is_located(setup, controller)) missing.push_back(controller);
  }
  if (missing.empty()) {
    checks.push_back({"cgroup-controllers", CheckStatus::kOk, names_of(needed, "")});
    return;
  }
  const bool is_severe = missing.front() == Controller::kCpuset;
  const std::string command_line = system.kernel.command_line.value_or("");
  const bool is_disabled = command_line.find("cgroup_disable=") != std::string::npos;
  checks.push_back({"cgroup-controllers", is_severe ? CheckStatus::kProblem : CheckStatus::kWarning,
                    fmt::format("missing: {}", names_of(missing, "")),
                    fmt::format("{}; without cpu, memory or hugetlb their limits are not enforced",
                                names_of(needed, "")),
                    is_disabled
                        ? "remove 'cgroup_disable=' from the kernel's command line, and reboot"
                        : "a kernel with CONFIG_CPUSETS, CONFIG_CGROUP_SCHED, CONFIG_MEMCG and "
                          "CONFIG_CGROUP_HUGETLB"});
}

/// Returns the side effect of enabling cpusets on an older kernel: it resets the CPU affinity of
/// the processes below.
std::string affinity_caution(const ObservedSystem& system) {
  if (!may_be_before(system.kernel, 6, 2)) return "";
  const CpuSet reserved = reserved_cpus(system);
  const std::string now =
      system.pinned.count == 0
          ? ""
          : fmt::format(", {} now, such as {}", system.pinned.count, system.pinned.example);
  return fmt::format(
      "before Linux 6.2 this resets the CPU affinity of processes (systemd's CPUAffinity=, "
      "taskset{}): use AllowedCPUs= for system.slice, init.scope and user.slice first: systemctl "
      "set-property UNIT AllowedCPUs={}",
      now, reserved.empty() ? "CPUS" : reserved.to_string());
}

/// Returns the command that enables controllers. Services that would lose their affinity get a
/// cpuset first.
std::string enable_command(const ObservedSystem& system, const std::string& directory,
                           const std::string& controllers) {
  std::string command =
      fmt::format("echo '{}' > '{}/cgroup.subtree_control'", controllers, directory);
  const CpuSet reserved = reserved_cpus(system);
  const bool loses_affinity = controllers.find("+cpuset") != std::string::npos &&
                              may_be_before(system.kernel, 6, 2) && system.pinned.count > 0;
  if (!loses_affinity || !system.systemd.is_running || reserved.empty()) return command;
  return fmt::format(
      "for unit in init.scope system.slice user.slice; do systemctl set-property $unit "
      "AllowedCPUs={}; done; {}",
      reserved.to_string(), command);
}

/// Checks that on cgroup v2 each directory above Pinfold's root passes the controllers on.
void check_enabled(const ObservedSystem& system, Checks& checks) {
  const ObservedCgroupSetup& setup = system.cgroups;
  if (version_of(setup) != CgroupVersion::kV2) return;
  const auto needed = needed_controllers(system);
  bool is_ok = true;
  for (const ObservedDirectory& directory : setup.directories) {
    if (directory.path == setup.root) continue;  // from here on Pinfold enables them
    std::vector<Controller> off;
    for (const Controller one : needed) {
      const bool is_known = has_controller(directory.controllers.value_or(""), one);
      if (is_known && !has_controller(directory.subtree.value_or(""), one)) off.push_back(one);
    }
    if (off.empty()) continue;
    is_ok = false;
    checks.push_back(
        {"cgroup-enabled",
         off.front() == Controller::kCpuset ? CheckStatus::kProblem : CheckStatus::kWarning,
         fmt::format("'{}/cgroup.subtree_control' lacks {}", directory.path, names_of(off, "")),
         fmt::format("{} enabled from '{}' down to '{}'", names_of(needed, ""),
                     setup.directories.front().path, setup.root),
         enable_command(system, directory.path, names_of(off, "+")),
         off.front() == Controller::kCpuset ? affinity_caution(system) : ""});
  }
  if (is_ok) {
    checks.push_back({"cgroup-enabled", CheckStatus::kOk,
                      fmt::format("{} down to {}", names_of(needed, ""), setup.root)});
  }
}

/// Returns how an ordinary user gets groups with the controllers: systemd delegates to users those
/// in Delegate= of the unit that runs their processes; the default has no cpuset.
std::string delegate_command(const ObservedSystem& system) {
  const std::string user = fmt::format("user@{}.service", system.service.user);
  const auto delegates = [&](const std::string& unit) {
    const auto found = system.systemd.delegates.find(unit);
    return found == system.systemd.delegates.end() ? "" : found->second;
  };
  const bool has_cpusets = has_word(delegates(user), ' ', "cpuset") ||
                           has_word(delegates("user@.service"), ' ', "cpuset");
  const char* const run =
      "systemd-run --user --pty -p Delegate=yes sh, then in it: pinfold doctor --cgroup-root DIR, "
      "where DIR is a directory below its group";
  if (has_cpusets || version_of(system.cgroups) != CgroupVersion::kV2) {
    return fmt::format("run as root, or: {}", run);
  }
  return fmt::format(
      "run as root, or let root run: mkdir -p /etc/systemd/system/user@.service.d && printf "
      "'[Service]\\nDelegate=cpuset cpu memory pids\\n' > "
      "/etc/systemd/system/user@.service.d/delegate.conf && systemctl daemon-reload && systemctl "
      "restart '{}'; then: {}",
      user, run);
}

void check_writable(const ObservedSystem& system, Checks& checks) {
  const ObservedCgroupSetup& setup = system.cgroups;
  if (setup.directories.empty()) return;  // cgroup-mode explains it
  const ObservedDirectory& last = setup.directories.back();
  if (last.is_writable) {
    checks.push_back({"cgroup-writable", CheckStatus::kOk, last.path});
    return;
  }
  checks.push_back({"cgroup-writable", CheckStatus::kProblem,
                    fmt::format("this user cannot write '{}'", last.path),
                    fmt::format("a directory where Pinfold can make '{}'", setup.root),
                    delegate_command(system)});
}

}  // namespace

void check_cgroups(const ObservedSystem& system, Checks& checks) {
  if (!system.cgroups.mounts_error.empty()) {
    checks.push_back({"cgroup-mode", CheckStatus::kUnknown, system.cgroups.mounts_error,
                      "the mounts of control groups in /proc/1/mountinfo", ""});
    return;
  }
  check_mode(system, checks);
  check_controllers(system, checks);
  check_enabled(system, checks);
  check_writable(system, checks);
}

}  // namespace pinfold::audit
