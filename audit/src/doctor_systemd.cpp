#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "doctor_parts.hpp"
#include "pinfold/audit/proc_files.hpp"
#include "pinfold/text/unit_file.hpp"

namespace pinfold::audit {
namespace {

/// Directories from which systemd reads units, lowest precedence first.
constexpr std::array kUnitDirectories = {
    "/run/systemd/generator.late",  "/usr/lib/systemd/system", "/usr/local/lib/systemd/system",
    "/run/systemd/generator",       "/run/systemd/system",     "/etc/systemd/system",
    "/run/systemd/generator.early", "/run/systemd/transient",  "/run/systemd/system.control",
    "/etc/systemd/system.control"};
constexpr std::array kManagerDirectories = {"/usr/lib/systemd", "/usr/local/lib/systemd",
                                            "/run/systemd", "/etc/systemd"};
/// The settings that decide where the processes of a unit run.
constexpr std::array<std::string_view, 5> kKeys = {"AllowedCPUs", "StartupAllowedCPUs",
                                                   "AllowedMemoryNodes",
                                                   "StartupAllowedMemoryNodes", "CPUAffinity"};
/// Services whose CPU affinity is inherited by containers.
constexpr std::array<std::string_view, 18> kParents = {"containerd.service",
                                                       "crio.service",
                                                       "cri-docker.service",
                                                       "docker.service",
                                                       "k0scontroller.service",
                                                       "k0sworker.service",
                                                       "k3s-agent.service",
                                                       "k3s.service",
                                                       "kubelet.service",
                                                       "pinfold.service",
                                                       "podman.service",
                                                       "rke2-agent.service",
                                                       "rke2-server.service",
                                                       "snap.k8s.containerd.service",
                                                       "snap.k8s.kubelet.service",
                                                       "snap.kubelet-eks.daemon.service",
                                                       "snap.microk8s.daemon-containerd.service",
                                                       "snap.microk8s.daemon-kubelite.service"};

/// The kernel's command line can set the CPU affinity of systemd itself.
constexpr const char* kCommandLine = "/proc/cmdline";

bool is_true(std::string_view text) {
  return text == "yes" || text == "true" || text == "1" || text == "on";
}
bool is_false(std::string_view text) {
  return text == "no" || text == "false" || text == "0" || text == "off";
}

class SystemdReader {
 public:
  explicit SystemdReader(const Tree& tree) : tree_(tree) {}

  /// Reads one file of a unit.
  void read(const std::string& path, const std::string& unit) {
    const auto text = tree_.read(path);
    if (!text) return;
    if (unit == "pinfold.service") found_.has_service = true;
    for (const UnitSetting& one : parse_unit_file(*text)) add(path, unit, one.key, one.value);
  }
  void read_drop_ins(const std::string& directory, const std::string& unit) {
    const auto names = tree_.list(directory);
    if (!names) return;
    for (const std::string& name : *names) {
      if (name.ends_with(".conf")) read(fmt::format("{}/{}", directory, name), unit);
    }
  }
  /// Reads the kernel's command line, which overrides systemd's own configuration.
  void read_command_line(std::string_view text) {
    for (const KernelParameter& one : parse_kernel_command_line(text)) {
      if (one.name != "systemd.cpu_affinity") continue;
      add(kCommandLine, "system.conf", "CPUAffinity", "");
      add(kCommandLine, "system.conf", "CPUAffinity", one.value);
    }
  }
  [[nodiscard]] ObservedSystemd take() { return std::move(found_); }

 private:
  void add(const std::string& path, const std::string& unit, std::string_view key,
           std::string_view value) {
    if (key == "Delegate") add_delegate(unit, std::string(value));
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) return;
    if (value.empty()) {  // an empty value undoes earlier settings
      std::erase_if(found_.settings,
                    [&](const auto& one) { return one.unit == unit && one.key == key; });
      return;
    }
    found_.settings.push_back({path, unit, std::string(key), std::string(value)});
  }

  /// Lists add up; an empty value resets them, and a boolean replaces everything. Source: systemd,
  /// config_parse_delegate.
  void add_delegate(const std::string& unit, const std::string& value) {
    const bool is_first = !found_.delegates.contains(unit);
    std::string& delegate = found_.delegates[unit];
    const std::string before = is_first ? "" : delegate;
    const bool is_list = !value.empty() && !is_true(value) && !is_false(value);
    if (!is_list || before.empty() || is_false(before)) {
      delegate = value;
    } else if (!is_true(before)) {
      delegate = fmt::format("{} {}", before, value);
    }
  }

  const Tree& tree_;
  ObservedSystemd found_;
};

bool is_unit(std::string_view name) {
  return name.ends_with(".slice") || name.ends_with(".service") || name.ends_with(".scope");
}

/// Returns true if containers run in the unit.
bool holds_containers(std::string_view unit) {
  return unit == "-.slice" || unit.find("kubepods") != std::string_view::npos ||
         unit.starts_with("pinfold.") || unit.starts_with("cri-containerd-") ||
         unit.starts_with("crio-") || unit.starts_with("docker-");
}

std::string undo(const SystemdSetting& setting) {
  if (setting.file == kCommandLine) {
    return "remove 'systemd.cpu_affinity=' from the kernel's command line, and reboot";
  }
  if (setting.unit == "system.conf") {
    return fmt::format("remove '{}=' from '{}', then: systemctl daemon-reexec", setting.key,
                       setting.file);
  }
  // When the setting is removed, systemd leaves the value in the kernel.
  const std::string widen =
      setting.key == "CPUAffinity"
          ? ""
          : widen_unit(setting.unit, setting.key.ends_with("CPUs") ? "cpuset.cpus" : "cpuset.mems");
  return fmt::format("remove '{}=' from '{}', then: systemctl daemon-reload{}{}", setting.key,
                     setting.file, widen.empty() ? "" : " && ", widen);
}

void check_cpusets(const ObservedSystem& system, Checks& checks) {
  std::size_t bad = 0;
  for (const SystemdSetting& setting : system.systemd.settings) {
    if (setting.key == "CPUAffinity" || !holds_containers(setting.unit)) continue;
    ++bad;
    checks.push_back({"systemd-cpusets", CheckStatus::kProblem,
                      fmt::format("{}={} of '{}' in '{}': systemd writes it again at each "
                                  "daemon-reload",
                                  setting.key, setting.value, setting.unit, setting.file),
                      "no cpuset set by systemd for a unit with containers", undo(setting)});
  }
  if (bad > 0) return;
  checks.push_back({"systemd-cpusets", CheckStatus::kOk,
                    "no file of a unit with containers has AllowedCPUs= or AllowedMemoryNodes="});
}

void check_affinity(const ObservedSystem& system, Checks& checks) {
  std::size_t bad = 0;
  for (const SystemdSetting& setting : system.systemd.settings) {
    const bool is_parent =
        setting.unit == "system.conf" ||
        std::find(kParents.begin(), kParents.end(), setting.unit) != kParents.end();
    if (setting.key != "CPUAffinity" || !is_parent) continue;
    ++bad;
    checks.push_back({"systemd-affinity", CheckStatus::kWarning,
                      fmt::format("CPUAffinity={} of '{}' in '{}': containers can inherit it",
                                  setting.value, setting.unit, setting.file),
                      "AllowedCPUs= of 'system.slice' instead, which containers do not inherit",
                      undo(setting)});
  }
  if (bad > 0) return;
  checks.push_back(
      {"systemd-affinity", CheckStatus::kOk, "no CPUAffinity= that containers would inherit"});
}

void check_delegation(const ObservedSystem& system, Checks& checks) {
  const ObservedSystemd& systemd = system.systemd;
  if (!systemd.has_service) {
    checks.push_back({"delegation", CheckStatus::kOk, "pinfold.service is not installed"});
    return;
  }
  const auto found = systemd.delegates.find("pinfold.service");
  const bool is_set = found != systemd.delegates.end();
  const std::string delegate = is_set ? found->second : "";
  bool is_enough = is_true(delegate);
  if (!is_enough) {
    const std::string words = fmt::format(" {} ", delegate);
    is_enough = words.find(" cpuset ") != std::string::npos &&
                words.find(" cpu ") != std::string::npos &&
                words.find(" memory ") != std::string::npos;
  }
  if (is_enough) {
    checks.push_back(
        {"delegation", CheckStatus::kOk, fmt::format("pinfold.service has Delegate={}", delegate)});
    return;
  }
  checks.push_back({"delegation", CheckStatus::kProblem,
                    is_set ? fmt::format("pinfold.service has Delegate={}", delegate)
                           : "pinfold.service has no Delegate=",
                    "Delegate=cpuset cpu memory; else systemd can disable these controllers",
                    "mkdir -p /etc/systemd/system/pinfold.service.d && printf '[Service]\\n"
                    "Delegate=cpuset cpu memory\\n' > "
                    "/etc/systemd/system/pinfold.service.d/delegate.conf && systemctl "
                    "daemon-reload && systemctl restart pinfold"});
}

}  // namespace

ObservedSystemd observe_systemd(const Tree& tree) {
  SystemdReader reader(tree);
  for (const char* const directory : kManagerDirectories) {
    reader.read(fmt::format("{}/system.conf", directory), "system.conf");
  }
  for (const char* const directory : kManagerDirectories) {
    reader.read_drop_ins(fmt::format("{}/system.conf.d", directory), "system.conf");
  }
  const auto command_line = tree.read(kCommandLine);
  if (command_line) reader.read_command_line(*command_line);
  // For a unit only the file with the highest precedence counts; all drop-ins apply after it.
  std::map<std::string, std::string> files;
  std::vector<std::pair<std::string, std::string>> drop_ins;
  for (const char* const directory : kUnitDirectories) {
    const auto names = tree.list(directory);
    if (!names) continue;
    for (const std::string& name : *names) {
      const std::string path = fmt::format("{}/{}", directory, name);
      if (is_unit(name)) files[name] = path;
      if (!name.ends_with(".d")) continue;
      const std::string unit = name.substr(0, name.size() - 2);
      if (is_unit(unit)) drop_ins.emplace_back(path, unit);
    }
  }
  for (const auto& [unit, path] : files) reader.read(path, unit);
  for (const auto& [path, unit] : drop_ins) reader.read_drop_ins(path, unit);
  ObservedSystemd found = reader.take();
  found.is_running = tree.has("/run/systemd/system");
  return found;
}

void check_systemd(const ObservedSystem& system, Checks& checks) {
  check_delegation(system, checks);
  check_cpusets(system, checks);
  check_affinity(system, checks);
}

}  // namespace pinfold::audit
