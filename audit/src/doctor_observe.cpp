#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "doctor_parts.hpp"
#include "observe_parts.hpp"
#include "pinfold/audit/barrier_paths.hpp"
#include "pinfold/audit/distributions.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "pinfold/discover/discover.hpp"
#include "pinfold/text/document.hpp"

namespace pinfold::audit {
namespace {

constexpr const char* kServiceSettings = "/etc/pinfold/agent.yaml";

std::optional<std::string> text_of(const Tree& tree, const std::string& path) {
  auto text = tree.read(path);
  if (!text) return std::nullopt;
  return *std::move(text);
}

ObservedKernel observe_kernel(const Tree& tree) {
  return {text_of(tree, "/proc/sys/kernel/osrelease"),
          text_of(tree, "/proc/cmdline"),
          text_of(tree, "/sys/devices/system/cpu/smt/control"),
          text_of(tree, "/sys/devices/system/cpu/present"),
          text_of(tree, "/sys/devices/system/cpu/offline"),
          text_of(tree, "/proc/sys/kernel/numa_balancing"),
          text_of(tree, "/sys/devices/system/cpu/isolated"),
          text_of(tree, "/sys/devices/system/cpu/nohz_full"),
          text_of(tree, "/proc/irq/default_smp_affinity"),
          observe_last_cpu(tree)};
}

Result<std::vector<enforce::Mount>> read_mounts(const Tree& tree) {
  // Those of process 1: inside a container the node's mounts may be missing.
  auto text = tree.read_exactly("/proc/1/mountinfo");
  if (!text) text = tree.read_exactly("/proc/self/mountinfo");
  if (!text) return fail(std::move(text).error());
  return enforce::parse_mountinfo(*text);
}

/// Returns the mount with the cpusets; nullptr: none.
const enforce::Mount* cpuset_mount(const Tree& tree, const std::vector<enforce::Mount>& mounts) {
  for (const enforce::Mount& mount : mounts) {
    if (mount.fs_type == "cgroup" && has_word(mount.super_options, ',', "cpuset")) return &mount;
    if (mount.fs_type != "cgroup2") continue;
    const auto controllers = text_of(tree, mount.point + "/cgroup.controllers");
    if (controllers && has_word(*controllers, ' ', "cpuset")) return &mount;
  }
  return nullptr;
}

std::string string_member(const nlohmann::json& document, const char* name) {
  const auto found = document.find(name);
  return found != document.end() && found->is_string() ? found->get<std::string>() : "";
}

/// The service's process: its options take precedence over its file.
struct ServiceProcess {
  pid_t pid = 0;
  std::vector<std::string> arguments = {};

  [[nodiscard]] std::string option(const char* name) const {
    const auto values = option_values(arguments, name);
    return values.empty() ? "" : values.back();
  }
};

std::optional<ServiceProcess> find_service(const Tree& tree, Problems& problems) {
  for (const pid_t pid : list_pids(tree, problems)) {
    const auto command = tree.read_exactly(fmt::format("/proc/{}/cmdline", pid));
    if (!command) continue;
    auto words = parse_command_line(*command);
    if (words.empty() || words[0].substr(words[0].rfind('/') + 1) != "pinfold-serve") continue;
    words.erase(words.begin());
    return ServiceProcess{pid, std::move(words)};
  }
  return std::nullopt;
}

void read_settings(const Tree& tree, const std::string& path, ObservedService& service,
                   std::string& cgroup_root) {
  const auto text = tree.read_exactly(path);
  if (!text) {
    if (text.error().code != ErrorCode::kNotFound) service.settings_error = text.error().message;
    return;
  }
  const auto document = parse_document(*text);
  if (!document) {
    service.settings_error = fmt::format("'{}': {}", tree.shown(path), document.error().message);
    return;
  }
  if (!document->is_object()) return;  // an empty file sets nothing
  if (service.state_dir.empty()) service.state_dir = string_member(*document, "stateDir");
  if (cgroup_root.empty()) cgroup_root = string_member(*document, "cgroupRoot");
  if (service.socket.empty()) service.socket = string_member(*document, "socket");
  if (!service.pod_resources_socket && document->contains("podResourcesSocket")) {
    service.pod_resources_socket = string_member(*document, "podResourcesSocket");
  }
  service.quiet = string_member(*document, "quiet");
  const auto nri = document->find("nri");
  service.has_nri =
      nri != document->end() && nri->is_object() && string_member(*nri, "mode") != "observe";
}

void read_state(const Tree& tree, ObservedService& service, Problems& problems) {
  auto status = tree.status(service.state_dir);
  if (!status) {
    if (status.error().code != ErrorCode::kNotFound) service.state_error = status.error().message;
    return;
  }
  service.state_status = *status;
  const auto names = tree.list(service.state_dir);
  if (!names) {
    service.state_error = names.error().message;
    return;
  }
  for (const std::string& name : *names) {
    const std::string path = fmt::format("{}/{}", service.state_dir, name);
    const auto file = tree.status(path);
    if (!file) continue;  // it is gone
    service.state_files[name] = *file;
    const auto text = tree.read_exactly(path);
    if (!text) {
      service.unreadable[name] = text.error().message;
      continue;
    }
    if (name == checkpoint::kJournalFileName) service.has_journal = !text->empty();
    if (name != "config.yaml") continue;
    auto parsed = parse_config(*text);
    if (parsed) {
      service.config = std::move(parsed->config);
    } else {
      service.config_error = fmt::format("'{}': {}", tree.shown(path), parsed.error().message);
    }
  }
  service.files = read_state_files(tree, service.state_dir, problems);
}

}  // namespace

ObservedCgroupSetup observe_cgroup_setup(const Tree& tree, const std::string& cgroup_root) {
  ObservedCgroupSetup setup;
  auto mounts = read_mounts(tree);
  if (!mounts) {
    setup.mounts_error = mounts.error().message;
    return setup;
  }
  for (const enforce::Mount& mount : *mounts) {
    if (mount.fs_type == "cgroup" || mount.fs_type == "cgroup2") setup.mounts.push_back(mount);
  }
  const enforce::Mount* const mount = cpuset_mount(tree, setup.mounts);
  setup.root = cgroup_root;
  if (setup.root.empty() && mount != nullptr) setup.root = mount->point + "/pinfold";
  if (setup.root.empty()) return setup;
  // The controllers of the whole mount: whether they are enabled below it is a separate check.
  const auto controllers_at = [&](const std::string& directory) {
    for (const enforce::Mount& one : setup.mounts) {
      const bool is_inside = directory == one.point || directory.starts_with(one.point + "/");
      if (one.fs_type == "cgroup2" && is_inside) {
        return text_of(tree, one.point + "/cgroup.controllers").value_or("");
      }
    }
    return std::string();
  };
  auto hierarchies = enforce::locate(setup.mounts, setup.root, controllers_at);
  if (hierarchies) {
    setup.hierarchies = *std::move(hierarchies);
  } else {
    setup.hierarchies_error = hierarchies.error().message;
  }
  const std::string top = mount == nullptr ? "" : mount->point;
  if (top.empty() || !setup.root.starts_with(top + "/")) return setup;
  for (std::size_t end = top.size(); end != std::string::npos;) {
    const std::string path = setup.root.substr(0, end);
    if (!tree.has(path)) break;
    setup.directories.push_back({path, text_of(tree, path + "/cgroup.controllers"),
                                 text_of(tree, path + "/cgroup.subtree_control"),
                                 tree.can_write(path)});
    end = end == setup.root.size() ? std::string::npos
                                   : std::min(setup.root.find('/', end + 1), setup.root.size());
  }
  return setup;
}

ObservedService observe_service(const Tree& tree, const DoctorOptions& options,
                                std::string& cgroup_root, Problems& problems) {
  ObservedService service;
  service.user = ::geteuid();
  service.state_dir = options.state_dir;
  std::string settings = kServiceSettings;
  if (const auto process = find_service(tree, problems)) {
    service.pid = process->pid;
    service.socket = process->option("--socket");
    if (service.state_dir.empty()) service.state_dir = process->option("--state-dir");
    if (cgroup_root.empty()) cgroup_root = process->option("--cgroup-root");
    if (auto file = process->option("--settings"); !file.empty()) settings = std::move(file);
    if (auto socket = process->option("--pod-resources-socket"); !socket.empty()) {
      service.pod_resources_socket = std::move(socket);
    }
  }
  read_settings(tree, settings, service, cgroup_root);
  if (service.state_dir.empty()) service.state_dir = "/var/lib/pinfold";
  if (service.socket.empty()) service.socket = "/run/pinfold/agent.sock";
  read_state(tree, service, problems);
  if (const auto status = tree.status(service.socket)) service.socket_status = *status;
  return service;
}

ObservedSystem observe_system(const Tree& tree, const DoctorOptions& options) {
  Problems problems;
  ObservedSystem system;
  system.root = tree.root();
  auto machine = discover(SysTree{tree.shown("/")}, "");
  if (machine) {
    system.machine = *std::move(machine);
  } else {
    system.machine_error = machine.error().message;
  }
  if (tree.root().empty()) {  // hwloc reads other trees only through environment variables
    auto seen = discover_with_hwloc(SysTree{}, "");
    if (seen) {
      system.hwloc = *std::move(seen);
    } else {
      system.hwloc_error = seen.error().message;
    }
  }
  system.kernel = observe_kernel(tree);
  system.kubelet = observe_kubelet(tree, {options.kubelet_dir, options.kubelet_config}, problems);
  system.has_kubelet_config = !options.kubelet_config.empty();
  for (const std::string& path : {system.kubelet.config_path, system.kubelet.settings_path}) {
    if (!path.empty() && tree.has(path)) system.has_kubelet_config = true;
  }
  std::string cgroup_root = options.cgroup_root;
  system.service = observe_service(tree, options, cgroup_root, problems);
  system.service.containerd = text_of(tree, kContainerdConfig);
  if (!system.service.containerd && tree.has("/run/containerd")) system.service.containerd = "";
  system.barrier = observe_barrier(tree, system.service.containerd);
  system.cgroups = observe_cgroup_setup(tree, cgroup_root);
  system.cpusets = observe_cpusets(tree, system.cgroups, problems);
  system.systemd = observe_systemd(tree, system.cpusets);
  observe_neighbours(tree, system, problems);
  system.quiet = observe_quiet(tree, problems);
  system.kernel.features = observe_features(tree, system.cgroups.mounts);
  system.problems = problems.all();
  return system;
}

}  // namespace pinfold::audit
