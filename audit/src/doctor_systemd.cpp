#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "doctor_parts.hpp"
#include "pinfold/audit/proc_files.hpp"
#include "pinfold/audit/systemd_unit.hpp"
#include "pinfold/text/unit_file.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::audit {
namespace {

/// Directories with systemd's own configuration, lowest precedence first.
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
    if (key == "CapabilityBoundingSet") add_capabilities(unit, value);
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

  /// Lists add up; an empty value resets them.
  void add_capabilities(const std::string& unit, std::string_view value) {
    std::string& capabilities = found_.capabilities[unit];
    capabilities = value.empty() ? "" : fmt::format("{} {}", capabilities, value);
  }

  const Tree& tree_;
  ObservedSystemd found_;
};

bool is_unit(std::string_view name) {
  return name.ends_with(".slice") || name.ends_with(".service") || name.ends_with(".scope");
}

/// Returns the installed units and those with containers, which may have only drop-ins of their
/// prefix ("cri-containerd-.scope.d") or type ("slice.d").
std::set<std::string> units_of(const InstalledUnits& installed, const ObservedCpusets& cpusets) {
  std::set<std::string> units = {"-.slice", "cri-containerd-.scope", "crio-.scope",
                                 "docker-.scope"};
  for (const ObservedCpuset& group : cpusets.groups) {
    const std::string name = group.directory.substr(group.directory.rfind('/') + 1);
    if (group.role != ObservedCpuset::Role::kOther && is_unit(name)) units.insert(name);
  }
  std::copy_if(installed.names.begin(), installed.names.end(), std::inserter(units, units.end()),
               is_unit);
  return units;
}

/// Returns true if containers run in the unit.
bool holds_containers(std::string_view unit) {
  return unit == "-.slice" || unit.find("kubepods") != std::string_view::npos ||
         unit.starts_with("pinfold.") || unit.starts_with("cri-containerd-") ||
         unit.starts_with("crio-") || unit.starts_with("docker-");
}

/// Returns the command that gives the units back what a setting has taken; "": none is needed.
/// systemd leaves the value in the kernel when the setting is removed.
std::string widen(const SystemdSetting& setting, const std::vector<std::string>& units) {
  if (setting.key == "CPUAffinity") return "";
  const char* const file = setting.key.ends_with("CPUs") ? "cpuset.cpus" : "cpuset.mems";
  std::string commands;
  for (const std::string& unit : units) {
    const std::string command = unit.find("-.") == std::string::npos ? widen_unit(unit, file) : "";
    if (!command.empty()) commands += " && " + command;
  }
  return commands;
}

/// Returns what undoes a setting of the kernel's command line or of a file.
std::string undo(const SystemdSetting& setting, const std::vector<std::string>& units) {
  if (setting.file == kCommandLine) {
    return "remove 'systemd.cpu_affinity=' from the kernel's command line, and reboot";
  }
  if (setting.unit == "system.conf") {
    return fmt::format("remove '{}=' from '{}', then: systemctl daemon-reexec", setting.key,
                       setting.file);
  }
  return fmt::format("remove '{}=' from '{}', then: systemctl daemon-reload{}", setting.key,
                     setting.file, widen(setting, units));
}

std::string units_text(const std::vector<std::string>& units) {
  std::vector<std::string> names;
  names.reserve(units.size());
  for (const std::string& unit : units) names.push_back(fmt::format("'{}'", unit));
  return listed(first_named(std::move(names), 1, "more"));
}

void check_cpusets(const ObservedSystem& system, Checks& checks) {
  const auto is_same = [](const SystemdSetting& one, const SystemdSetting& other) {
    return one.file == other.file && one.key == other.key && one.value == other.value;
  };
  // A drop-in of a prefix or a type sets the same for several units.
  std::vector<std::pair<SystemdSetting, std::vector<std::string>>> bad;
  for (const SystemdSetting& setting : system.systemd.settings) {
    if (setting.key == "CPUAffinity" || !holds_containers(setting.unit)) continue;
    auto found = std::find_if(bad.begin(), bad.end(),
                              [&](const auto& one) { return is_same(one.first, setting); });
    if (found == bad.end()) found = bad.insert(bad.end(), {setting, {}});
    found->second.push_back(setting.unit);
  }
  for (const auto& [setting, units] : bad) {
    checks.push_back({"systemd-cpusets", CheckStatus::kProblem,
                      fmt::format("{}={} of {} in '{}': systemd writes it again at each "
                                  "daemon-reload",
                                  setting.key, setting.value, units_text(units), setting.file),
                      "no cpuset set by systemd for a unit with containers", undo(setting, units)});
  }
  if (!bad.empty()) return;
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
                      undo(setting, {})});
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

ObservedSystemd observe_systemd(const Tree& tree, const ObservedCpusets& cpusets) {
  SystemdReader reader(tree);
  for (const char* const directory : kManagerDirectories) {
    reader.read(fmt::format("{}/system.conf", directory), "system.conf");
  }
  for (const char* const directory : kManagerDirectories) {
    reader.read_drop_ins(fmt::format("{}/system.conf.d", directory), "system.conf");
  }
  const auto command_line = tree.read(kCommandLine);
  if (command_line) reader.read_command_line(*command_line);
  const InstalledUnits installed = find_units(tree);
  for (const std::string& unit : units_of(installed, cpusets)) {
    const auto file = installed.files.find(unit);
    if (file != installed.files.end()) reader.read(file->second, unit);
    for (const std::string& path : drop_ins_of(tree, installed, unit)) reader.read(path, unit);
  }
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
