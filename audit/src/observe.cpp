#include "pinfold/audit/observe.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "observe_parts.hpp"
#include "pinfold/discover/discover.hpp"
#include "pinfold/discover/kernel_files.hpp"

namespace pinfold::audit {
namespace {

/// Reads the groups of pods, the names of their containers, and the kubelet's directories of each
/// pod.
void observe_pods(const Tree& tree, Observed& observed, Problems& problems) {
  observed.cgroups = observe_groups(tree, problems);
  name_containers(tree, observed.cgroups, problems);
  for (const ObservedGroup& group : observed.cgroups.groups) {
    if (group.name.role != GroupRole::kPod) continue;
    observed.pod_directories[group.name.pod] =
        containers_of_pod(tree, observed.kubelet.root_dir, group.name.pod);
  }
}

}  // namespace

std::vector<ObservedIrq> observe_irqs(const Tree& tree, Problems& problems) {
  constexpr const char* kIrqs = "/proc/irq";
  std::vector<ObservedIrq> irqs;
  const auto names = tree.list_directories(kIrqs);
  if (!names) {
    problems.add(kIrqs, names.error());
    return irqs;
  }
  for (const std::string& name : *names) {
    const auto number = parse_number(name);
    if (!number || *number < 0 || *number > INT32_MAX) continue;
    const std::string directory = fmt::format("{}/{}", kIrqs, name);
    // The first file says where the interrupt really goes, and is empty while it is unused. Kernels
    // without that file send it to some CPUs of the second one.
    auto list = tree.read(directory + "/effective_affinity_list");
    if (list && list->empty()) continue;
    if (!list) list = tree.read(directory + "/smp_affinity_list");
    if (!list) {
      if (!is_gone(list.error())) problems.add("/proc/irq/N/smp_affinity_list", list.error());
      continue;
    }
    auto cpus = parse_cpu_list(*list);
    if (!cpus) {
      problems.add("/proc/irq/N/smp_affinity_list",
                   std::move(cpus).error().wrap(fmt::format("'{}'", tree.shown(directory))));
      continue;
    }
    irqs.push_back({static_cast<int>(*number), "", *std::move(cpus)});
  }
  return irqs;
}

CpuId observe_last_cpu(const Tree& tree) {
  for (const char* const name : {"possible", "present"}) {
    const auto list = tree.read(fmt::format("/sys/devices/system/cpu/{}", name));
    const CpuSet cpus = list ? parse_cpu_list(*list).value_or(CpuSet()) : CpuSet();
    if (!cpus.empty()) return cpus.last();
  }
  return CpuId{0};
}

Observed observe(const Tree& tree, const ObserveOptions& options) {
  Problems problems;
  Observed observed{tree.root()};
  auto machine = discover(SysTree{tree.shown("/")}, "");
  if (machine) {
    observed.machine = *std::move(machine);
  } else {
    problems.add("/sys", machine.error());
  }
  observed.kubelet = observe_kubelet(tree, options, problems);
  observe_pods(tree, observed, problems);
  observed.processes = observe_processes(tree, observed.cgroups, problems);
  observed.irqs = observe_irqs(tree, problems);
  const auto isolcpus = boot_values(tree.read("/proc/cmdline").value_or(""), "isolcpus");
  observed.isolcpus = parse_isolcpus(isolcpus, observe_last_cpu(tree));
  const auto interrupts = tree.read("/proc/interrupts");
  if (interrupts) {
    observed.interrupts = parse_interrupts(*interrupts);
    for (ObservedIrq& irq : observed.irqs) irq.name = observed.interrupts->names[irq.number];
  } else if (!is_gone(interrupts.error())) {
    problems.add("/proc/interrupts", interrupts.error());
  }
  observed.problems = problems.all();
  return observed;
}

ObservedKubelet observe_kubelet(const Tree& tree, const ObserveOptions& options) {
  Problems ignored;
  return observe_kubelet(tree, options, ignored);
}

Observed observe_containers(const Tree& tree, const std::string& kubelet_dir) {
  Problems problems;
  Observed observed{tree.root()};
  observed.kubelet.root_dir = kubelet_dir;
  observe_pods(tree, observed, problems);
  observed.problems = problems.all();
  return observed;
}

Observed observe_again(const Tree& tree, const Observed& before) {
  Problems problems;
  Observed observed{tree.root()};
  observed.machine = before.machine;
  observed.kubelet = before.kubelet;
  observed.kubelet.files = read_state_files(tree, observed.kubelet.root_dir, problems);
  observe_pods(tree, observed, problems);
  observed.problems = problems.all();
  return observed;
}

}  // namespace pinfold::audit
