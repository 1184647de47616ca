#include "expectations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "pinfold/decide/decide.hpp"
#include "pinfold/decide/feature_gates.hpp"

namespace pinfold::audit {
namespace {

/// Replaces the runtime ids of a V1 file with pods and container names.
void name_assignments(const Observed& observed, CpuCheckpoint& state) {
  const auto* const unnamed = state.assignments.find(PodUid(""));
  if (unnamed == nullptr) return;
  const auto by_runtime_id = *unnamed;
  state.assignments.erase(PodUid(""));
  for (const ObservedGroup& group : observed.cgroups.groups) {
    const auto found = by_runtime_id.find(group.name.container);
    if (found == by_runtime_id.end() || !group.container) continue;
    state.assignments[{group.name.pod, group.container->container}] = found->second;
  }
}

/// Returns the names of pods, taken from any of their containers.
PodNames name_pods(const Observed& observed) {
  PodNames names;
  for (const ObservedGroup& group : observed.cgroups.groups) {
    const auto& name = group.container;
    if (!name || name->pod.empty()) continue;
    names.try_emplace(group.name.pod, PodRef{group.name.pod, name->namespace_name, name->pod});
  }
  return names;
}

/// Names the only container of a pod that no file names, if exactly one of the pod's container
/// directories has no other match.
void name_by_elimination(const Observed& observed, std::vector<Placed>& containers) {
  for (const auto& [pod, directories] : observed.pod_directories) {
    std::set<std::string> names(directories.begin(), directories.end());
    std::vector<Placed*> unnamed;
    for (Placed& placed : containers) {
      if (placed.audited.id.pod != pod || placed.audited.is_sandbox) continue;
      names.erase(placed.audited.id.name);
      if (placed.audited.id.name.empty()) unnamed.push_back(&placed);
    }
    if (unnamed.size() == 1 && names.size() == 1) unnamed[0]->audited.id.name = *names.begin();
  }
}

/// Returns the CPUs that a pod with pod-level CPUs leaves to its containers without exclusive CPUs.
CpuSet pod_shared_pool(const CpuCheckpoint& state, const PodUid& pod, CpuSet cpus) {
  const auto* const own = state.assignments.find(pod);
  if (own == nullptr) return cpus;
  for (const auto& [name, exclusive] : *own) cpus -= exclusive;
  return cpus;
}

void expect_cpus(const Decisions& decisions, AuditedContainer& container) {
  if (!decisions.is_static() || container.is_sandbox || container.id.name.empty()) return;
  const CpuCheckpoint& state = decisions.cpu->state;
  if (const CpuSet* const own = state.assignments.find(container.id)) {
    container.expected = *own;
    container.is_exclusive = true;
    return;
  }
  const auto pod = state.pods.find(container.id.pod);
  const bool is_of_pod = pod != state.pods.end();
  const CpuSet shared =
      is_of_pod ? pod_shared_pool(state, pod->first, pod->second) : state.default_set;
  if (!shared.empty()) container.expected = shared;
}

void expect_mems(const Decisions& decisions, AuditedContainer& container) {
  if (!decisions.memory || container.is_sandbox) return;
  const auto* const blocks = decisions.memory->state.assignments.find(container.id);
  if (blocks == nullptr) return;
  enforce::NodeSet mems;
  for (const MemoryBlock& block : *blocks) {
    for (const std::int32_t numa : block.numa_affinity) {
      if (numa >= 0 && numa < CpuSet::kMaxCpus) mems.insert(CpuId{numa});
    }
  }
  if (!mems.empty()) container.expected_mems = mems;
}

Placed place(const ObservedGroup& group) {
  Placed placed;
  placed.group = &group;
  AuditedContainer& audited = placed.audited;
  audited.id.pod = group.name.pod;
  audited.runtime_id = group.name.container;
  audited.is_running = !group.processes.empty();  // see find_moved
  audited.observed = group.cpus;
  audited.observed_mems = group.mems;
  if (group.container) {
    audited.id.name = group.container->container;
    audited.is_sandbox = group.container->is_sandbox;
  }
  return placed;
}

/// Adds the containers with exclusive CPUs that have no group.
void add_absent(const Decisions& decisions, const PodNames& names,
                std::vector<Placed>& containers) {
  if (!decisions.is_static()) return;
  std::set<ContainerId> present;
  for (const Placed& placed : containers) present.insert(placed.audited.id);
  for (const auto& [pod, name, cpus] : decisions.cpu->state.assignments) {
    const ContainerId id{pod, name};
    if (present.contains(id)) continue;
    Placed placed;
    placed.audited.pod = ref_of(names, pod);
    placed.audited.label = to_string(ContainerRef{placed.audited.pod, name});
    placed.audited.id = id;
    placed.audited.expected = cpus;
    placed.audited.is_exclusive = true;
    containers.push_back(std::move(placed));
  }
}

/// Returns true if the process is really the first process of a container; that container still
/// runs even if the process is in another group. If the id has been reused, the process does not
/// have its own pid namespace, and its parent is not a runtime.
bool is_first_process(const Observed& observed, const ObservedProcess& process) {
  const auto name_of = [&](pid_t pid) {
    const auto found = observed.processes.find(pid);
    return found == observed.processes.end() ? "" : found->second.stat.name;
  };
  const auto first = observed.processes.find(1);
  const bool is_contained = !process.pid_namespace.empty() && first != observed.processes.end() &&
                            process.pid_namespace != first->second.pid_namespace;
  const std::string parent = name_of(process.stat.parent);
  return is_contained || parent.starts_with("containerd-shim") || parent.starts_with("conmon");
}

void find_moved(Case& made) {
  for (Placed& placed : made.containers) {
    if (placed.group == nullptr || !placed.group->init) continue;
    const auto process = made.observed.processes.find(*placed.group->init);
    const bool is_away = process != made.observed.processes.end() &&
                         !made.by_process.contains(process->first) &&
                         is_first_process(made.observed, process->second);
    if (!is_away) continue;
    placed.audited.is_running = true;
    made.moved[process->first] = &placed;
  }
}

/// Returns the reserved CPUs, even for a reservation by number, because the kubelet chooses its
/// CPUs in the same way at each start.
CpuSet reserved_of(const Observed& observed) {
  if (!observed.kubelet.config || !observed.machine) return {};
  const Config& config = *observed.kubelet.config;
  const CpuSet named = CpuSet::parse(config.reserved_system_cpus).value_or(CpuSet{});
  if (!named.empty()) return named & observed.machine->all_cpus();
  const auto node = Node::make(*observed.machine, with_judged_gates(config));
  return node ? node->cpu().reserved() : CpuSet();
}

}  // namespace

Decisions read_decisions(const Observed& observed) {
  const checkpoint::KubeletFiles& files = observed.kubelet.files;
  Decisions decisions;
  if (files.cpu) {
    if (auto cpu = checkpoint::inspect_cpu(*files.cpu)) decisions.cpu = *std::move(cpu);
  }
  if (files.memory) {
    if (auto memory = checkpoint::inspect_memory(*files.memory)) {
      decisions.memory = *std::move(memory);
    }
  }
  if (decisions.cpu) name_assignments(observed, decisions.cpu->state);
  return decisions;
}

Case make_case(const Observed& observed) {
  Case made{observed, read_decisions(observed)};
  const PodNames names = name_pods(observed);
  for (const ObservedGroup& group : observed.cgroups.groups) {
    if (group.name.role == GroupRole::kContainer) made.containers.push_back(place(group));
  }
  name_by_elimination(observed, made.containers);
  for (Placed& placed : made.containers) {
    AuditedContainer& audited = placed.audited;
    constexpr std::size_t kShownDigits = 12;
    const std::string last = audited.is_sandbox        ? "(sandbox)"
                             : audited.id.name.empty() ? audited.runtime_id.substr(0, kShownDigits)
                                                       : audited.id.name;
    audited.pod = ref_of(names, audited.id.pod);
    audited.label = to_string(ContainerRef{audited.pod, last});
    expect_cpus(made.decisions, audited);
    expect_mems(made.decisions, audited);
  }
  add_absent(made.decisions, names, made.containers);
  std::sort(made.containers.begin(), made.containers.end(), [](const Placed& a, const Placed& b) {
    return std::tie(a.audited.label, a.audited.runtime_id) <
           std::tie(b.audited.label, b.audited.runtime_id);
  });
  if (made.decisions.is_static()) {
    for (const auto& entry : made.decisions.cpu->state.assignments) made.exclusive |= entry.value;
    for (const auto& [pod, cpus] : made.decisions.cpu->state.pods) made.exclusive |= cpus;
  }
  for (const Placed& placed : made.containers) {
    if (placed.group == nullptr) continue;
    for (const pid_t pid : placed.group->processes) made.by_process[pid] = &placed;
  }
  find_moved(made);
  made.housekeeping = reserved_of(observed);
  made.housekeeping_stays = !made.housekeeping.empty();
  if (!made.housekeeping_stays && made.decisions.is_static()) {
    made.housekeeping = made.decisions.cpu->state.default_set;
    if (observed.machine) made.housekeeping &= observed.machine->all_cpus();
  }
  return made;
}

std::string show_file(const Observed& observed, const std::string& path) {
  return fmt::format("cat '{}{}'", observed.root, path);
}

std::string repair_command(const ObservedKubelet& kubelet, std::string_view option) {
  return fmt::format(
      "systemctl stop {0} && pinfold checkpoint repair{1} --config / '{2}'; systemctl start {0}",
      kubelet.unit, option, kubelet.root_dir);
}

std::string group_file(const ObservedGroup& group, std::string_view file) {
  return fmt::format("'{}/{}'", group.directory, file);
}

Subject subject_of(const AuditedContainer& container) {
  return {"container", container.label, container.pod, container.id.name, container.runtime_id};
}

Subject subject_of(const ObservedProcess& process) {
  Subject subject{"process", fmt::format("process {} ({})", process.pid, process.stat.name)};
  subject.pid = process.pid;
  return subject;
}

}  // namespace pinfold::audit
