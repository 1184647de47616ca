#include <fmt/format.h>

#include <array>
#include <string_view>

#include "doctor_parts.hpp"
#include "observe_parts.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::audit {
namespace {

bool is_of_kubevirt(std::string_view name) {
  return name == "virt-handler" || name.starts_with("virt-launcher");
}

/// Returns the policy in the kubelet's own state file, which decides how virt-handler labels a
/// node.
std::string kubelet_policy(const ObservedKubelet& kubelet) {
  if (kubelet.files.cpu) {
    const auto state = checkpoint::inspect_cpu(*kubelet.files.cpu);
    if (state) return state->policy;
  }
  return kubelet.config ? kubelet.config->cpu_manager_policy : "";
}

void check_kubevirt(const ObservedSystem& system, Checks& checks) {
  if (system.kubevirt.empty()) {
    checks.push_back({"kubevirt", CheckStatus::kOk, "no process or directory of KubeVirt"});
    return;
  }
  const std::string policy = kubelet_policy(system.kubelet);
  const std::string expected =
      "CPU manager policy 'static' of the kubelet on nodes for such virtual machines: virt-handler "
      "labels any other node 'cpumanager=false', and writes the label again every one to two "
      "minutes";
  const std::string remedy =
      system.service.has_nri
          ? "on nodes for such virtual machines: remove 'nri' from '/etc/pinfold/agent.yaml', set "
            "cpuManagerPolicy: static for the kubelet, and enable KubeVirt's feature gate "
            "CPUManager; other virtual machines need nothing"
          : "set cpuManagerPolicy: static for the kubelet, and enable KubeVirt's feature gate "
            "CPUManager";
  if (policy.empty()) {
    checks.push_back(
        {"kubevirt", CheckStatus::kUnknown,
         fmt::format("{} belongs to KubeVirt; the kubelet's CPU manager policy is unknown",
                     system.kubevirt),
         expected, ""});
  } else if (policy == "static") {
    checks.push_back({"kubevirt", CheckStatus::kOk,
                      "the kubelet's CPU manager policy is 'static', which KubeVirt's label "
                      "'cpumanager' needs"});
  } else {
    checks.push_back(
        {"kubevirt", CheckStatus::kWarning,
         fmt::format("{} belongs to KubeVirt, but the kubelet's CPU manager policy is '{}': "
                     "virtual machines with dedicatedCpuPlacement stay Pending here",
                     system.kubevirt, policy),
         expected, remedy});
  }
}

/// Checks the PodResources socket: exporters that read the kubelet's socket see no CPUs of the pods
/// that Pinfold pins. Uses the same default as the service: a socket next to its own; the kubelet
/// keeps its own.
void check_pod_resources(const ObservedSystem& system, Checks& checks) {
  const ObservedService& service = system.service;
  if (!service.has_nri) {
    checks.push_back({"pod-resources", CheckStatus::kOk, "the service pins no pods of a runtime"});
    return;
  }
  const std::string own =
      service.socket.substr(0, service.socket.rfind('/')) + "/pod-resources/kubelet.sock";
  const std::string kubelets = system.kubelet.root_dir + "/pod-resources/kubelet.sock";
  const std::string named = service.pod_resources_socket.value_or("");
  const bool is_kubelets = named.starts_with(system.kubelet.root_dir + "/");
  if (named == "off" || is_kubelets) {
    checks.push_back(
        {"pod-resources", CheckStatus::kWarning,
         is_kubelets ? fmt::format("podResourcesSocket is '{}', where the kubelet listens: "
                                   "exporters see no CPUs of pods there",
                                   named)
                     : std::string("podResourcesSocket is off: exporters see no CPUs of pods"),
         "a socket of Pinfold's own, because a kubelet with the policy none lists no CPUs",
         fmt::format("set 'podResourcesSocket: {0}' in '/etc/pinfold/agent.yaml', then: systemctl "
                     "restart pinfold; and start exporters with it, such as nfd-topology-updater "
                     "-podresources-socket=unix://{0}",
                     own)});
    return;
  }
  checks.push_back({"pod-resources", CheckStatus::kOk,
                    fmt::format("at '{}', which exporters must read instead of the kubelet's '{}'",
                                named.empty() ? own : named, kubelets)});
}

}  // namespace

void observe_neighbours(const Tree& tree, ObservedSystem& system, Problems& problems) {
  const CpuSet all = system.machine ? system.machine->all_cpus() : CpuSet{};
  for (const pid_t pid : list_pids(tree, problems)) {
    const auto text = tree.read(fmt::format("/proc/{}/stat", pid));
    const auto stat = text ? parse_proc_stat(*text) : std::nullopt;
    if (!stat || stat->has_ended || stat->is_kernel_thread) continue;
    if (system.kubevirt.empty() && is_of_kubevirt(stat->name)) {
      system.kubevirt = fmt::format("process {} ({})", pid, stat->name);
    }
    const auto status = tree.read(fmt::format("/proc/{}/status", pid));
    const auto cpus = status ? parse_allowed_cpus(*status) : std::nullopt;
    if (!cpus || cpus->contains_all(all)) continue;
    if (system.pinned.count++ > 0) continue;
    system.pinned.example =
        fmt::format("process {} ({}) on {}", pid, stat->name, cpus_named(*cpus));
  }
  for (const char* const directory : {"/run/kubevirt", "/var/run/kubevirt"}) {
    if (system.kubevirt.empty() && tree.has(directory)) {
      system.kubevirt = fmt::format("directory '{}'", directory);
    }
  }
}

void check_neighbours(const ObservedSystem& system, Checks& checks) {
  check_pod_resources(system, checks);
  check_kubevirt(system, checks);
}

}  // namespace pinfold::audit
