#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "expectations.hpp"
#include "pinfold/enforce/processes.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::audit {
namespace {

/// A few pages on other NUMA nodes are normal: shared libraries, and pages that the kernel could
/// not place.
constexpr double kGoodShare = 0.95;
constexpr std::uint64_t kFewBytes = std::uint64_t{1} << 20U;

/// Pods by pid namespace, if it is not the machine's.
using Namespaces = std::map<std::string, PodUid>;

Namespaces namespaces_of_pods(const Case& given) {
  Namespaces pods;
  for (const auto& known : {given.by_process, given.moved}) {
    for (const auto& [pid, placed] : known) {
      const auto process = given.observed.processes.find(pid);
      if (process == given.observed.processes.end()) continue;
      const std::string& name = process->second.pid_namespace;
      if (!name.empty()) pods.try_emplace(name, placed->audited.id.pod);
    }
  }
  const auto first = given.observed.processes.find(1);
  if (first != given.observed.processes.end()) pods.erase(first->second.pid_namespace);
  // A pod with hostPID has the machine's namespace, even if process 1 shows another one.
  const auto kubelet = given.observed.kubelet.pid
                           ? given.observed.processes.find(*given.observed.kubelet.pid)
                           : given.observed.processes.end();
  if (kubelet != given.observed.processes.end()) pods.erase(kubelet->second.pid_namespace);
  return pods;
}

/// Returns the container that a process belongs to, itself or through an ancestor; nullptr: none.
const Placed* container_of(const Case& given, const ObservedProcess& process) {
  constexpr int kMaxAncestors = 100;
  pid_t pid = process.pid;
  for (int depth = 0; depth < kMaxAncestors && pid > 1; ++depth) {
    const auto container = given.by_process.find(pid);
    if (container != given.by_process.end()) return container->second;
    const auto moved = given.moved.find(pid);
    if (moved != given.moved.end()) return moved->second;
    const auto parent = given.observed.processes.find(pid);
    if (parent == given.observed.processes.end()) return nullptr;
    pid = parent->second.stat.parent;
  }
  return nullptr;
}

std::string status_command(const Case& given, const std::string& path) {
  return fmt::format("grep Cpus_allowed_list '{}/proc/{}/status'", given.observed.root, path);
}

/// Returns the command that moves a process's memory to these NUMA nodes.
std::string migrate(const ObservedProcess& process, const enforce::NodeSet& nodes) {
  enforce::NodeSet from;
  for (const auto& [node, bytes] : process.pages) {
    if (bytes > 0 && !nodes.contains(CpuId{node})) from.insert(CpuId{node});
  }
  return fmt::format("migratepages {} {} {}", process.pid, from.to_string(), nodes.to_string());
}

std::string pin_command(const CpuSet& cpus, pid_t tid) {
  return cpus.empty() ? "" : fmt::format("taskset -pc {} {}", cpus.to_string(), tid);
}

void judge_pages(const Case& given, const Placed& placed, const ObservedProcess& process,
                 std::vector<Finding>& findings) {
  const AuditedContainer& container = placed.audited;
  enforce::NodeSet nodes = container.expected_mems.value_or(enforce::NodeSet{});
  if (nodes.empty() && container.is_exclusive && given.observed.machine) {
    // Without a memory assignment the container expects memory on the NUMA nodes of its CPUs.
    for (const CpuId cpu : *container.expected) {
      const Cpu* const found = given.observed.machine->find(cpu);
      if (found != nullptr) nodes.insert(CpuId{found->numa.value});
    }
  }
  if (nodes.empty()) return;
  const double share = enforce::share_on(process.pages, nodes);
  std::uint64_t away = 0;
  for (const auto& [node, bytes] : process.pages) {
    if (!nodes.contains(CpuId{node})) away += bytes;
  }
  if (share >= kGoodShare || away <= kFewBytes) return;
  findings.push_back(
      {"pages-elsewhere",
       container.expected_mems ? Severity::kWarning : Severity::kNote,
       {"process", fmt::format("{}: {}", container.label, subject_of(process).name), container.pod,
        container.id.name, container.runtime_id, process.pid},
       fmt::format("{:.0f}%", 100 * (1 - share)),
       nodes.to_string(),
       fmt::format("has {:.0f}% of its memory ({}Ki) away from {}, which its container {}",
                   100 * (1 - share), away / 1024, numa_nodes_named(nodes),
                   container.expected_mems ? "has its memory on" : "has its CPUs on"),
       fmt::format("numastat -p {}", process.pid),
       migrate(process, nodes)});
}

void judge_threads(const Case& given, const Placed& placed, const ObservedProcess& process,
                   std::vector<Finding>& findings) {
  const AuditedContainer& container = placed.audited;
  if (!container.expected || container.is_sandbox) return;
  const auto judge = [&](pid_t tid, const CpuSet& cpus) {
    // If the whole set of the container differs, there is a finding for that already.
    if (container.expected->contains_all(cpus) || container.observed.contains_all(cpus)) return;
    findings.push_back(
        {"thread-elsewhere",
         Severity::kError,
         {"process",
          fmt::format("{}: thread {} of {}", container.label, tid, subject_of(process).name),
          container.pod, container.id.name, container.runtime_id, process.pid},
         cpus.to_string(),
         container.expected->to_string(),
         fmt::format("runs on {}, but its container has {}", cpus_named(cpus),
                     cpus_named(*container.expected)),
         status_command(given, fmt::format("{}/task/{}", process.pid, tid)),
         pin_command(*container.expected, tid)});
  };
  judge(process.pid, process.cpus);
  for (const ObservedThread& thread : process.threads) judge(thread.tid, thread.cpus);
}

/// Judges a process that belongs to a pod but is in none of its groups. Returns true if it is one.
bool judge_escaped(const Case& given, const Namespaces& pods, const ObservedProcess& process,
                   std::vector<Finding>& findings) {
  const Placed* const container = container_of(given, process);
  const auto pod = pods.find(process.pid_namespace);
  if (container == nullptr && pod == pods.end()) return false;
  const std::string of = container != nullptr
                             ? fmt::format("container '{}'", container->audited.label)
                             : fmt::format("pod {}", pod->second.value);
  Subject subject = subject_of(process);
  subject.pod = container != nullptr ? container->audited.pod : PodRef{pod->second, {}, {}};
  if (container != nullptr) subject.container = container->audited.id.name;
  findings.push_back(
      {"process-outside", Severity::kError, std::move(subject), process.group, "",
       fmt::format("belongs to {} but is in the group '{}', so the container's limits and CPUs do "
                   "not apply to it; it runs on {}",
                   of, process.group, cpus_named(process.cpus)),
       fmt::format("cat '{}/proc/{}/cgroup'", given.observed.root, process.pid),
       container != nullptr && container->group != nullptr
           ? fmt::format("echo {} > {}", process.pid, group_file(*container->group, "cgroup.procs"))
           : ""});
  return true;
}

/// Returns the systemd unit of a group: the first service or scope in its path, or user.slice,
/// whose sessions come and go; "": unknown.
std::string unit_of(std::string_view group) {
  std::string unit;
  while (!group.empty()) {
    const std::size_t end = std::min(group.find('/'), group.size());
    const std::string_view part = group.substr(0, end);
    group.remove_prefix(std::min(group.size(), end + 1));
    if (part.empty()) continue;
    const bool is_slice = part.ends_with(".slice");
    if (!is_slice && !part.ends_with(".service") && !part.ends_with(".scope")) break;
    unit = part;
    if (!is_slice || part == "user.slice") break;
  }
  return unit;
}

/// Returns the command that keeps a group's processes on the system's CPUs. systemd can do that
/// only on cgroup v2.
std::string confine(const Case& given, const std::string& group) {
  const std::string unit = unit_of(group);
  const bool is_v2 = given.observed.cgroups.version == enforce::CgroupVersion::kV2;
  if (unit.empty() || !is_v2 || given.housekeeping.empty()) return "";
  if (given.housekeeping_stays) {
    return fmt::format("systemctl set-property '{}' AllowedCPUs={}", unit,
                       given.housekeeping.to_string());
  }
  return fmt::format(
      "systemctl set-property --runtime '{}' AllowedCPUs={}  # today's shared pool, which shrinks "
      "with the next exclusive CPUs; CPUs of reservedSystemCPUs stay",
      unit, given.housekeeping.to_string());
}

/// Collects the system's processes by group, and reports pinned ones.
class SystemProcesses {
 public:
  explicit SystemProcesses(const Case& given) : given_(given) {
    if (given.observed.machine) all_ = given.observed.machine->all_cpus();
  }

  void add(const ObservedProcess& process, std::vector<Finding>& findings) {
    if (process.stat.is_kernel_thread) {
      if (!process.stat.has_fixed_cpus && process.cpus.intersects(given_.exclusive)) ++kernel_;
      return;
    }
    bool is_pinned = judge_pin(process, process.pid, process.cpus, findings);
    for (const ObservedThread& thread : process.threads) {
      is_pinned = judge_pin(process, thread.tid, thread.cpus, findings) || is_pinned;
    }
    if (is_pinned || !process.cpus.intersects(given_.exclusive)) return;
    Service& service = services_[process.group];
    service.cpus |= process.cpus & given_.exclusive;
    service.example = std::min(service.example == 0 ? process.pid : service.example, process.pid);
    ++service.processes;
  }

  void report(std::vector<Finding>& findings) const {
    for (const auto& [group, service] : services_) {
      findings.push_back(
          {"service",
           Severity::kWarning,
           {"group", group.empty() ? "/" : group},
           service.cpus.to_string(),
           "",
           fmt::format("{} process{} outside the pods can run on exclusive {}", service.processes,
                       service.processes == 1 ? "" : "es", cpus_named(service.cpus)),
           status_command(given_, std::to_string(service.example)),
           confine(given_, group)});
    }
    if (kernel_ == 0) return;
    findings.push_back({"kernel-threads",
                        Severity::kNote,
                        {"node", "kernel threads"},
                        std::to_string(kernel_),
                        "",
                        fmt::format("{} that could be moved can run on exclusive {}", kernel_,
                                    cpus_named(given_.exclusive)),
                        ""});
  }

 private:
  struct Service {
    CpuSet cpus;
    std::size_t processes = 0;
    pid_t example = 0;
  };

  /// Judges a thread that is pinned to exclusive CPUs only. Returns true if it is one.
  bool judge_pin(const ObservedProcess& process, pid_t tid, const CpuSet& cpus,
                 std::vector<Finding>& findings) const {
    const bool is_pinned = !cpus.empty() && given_.exclusive.contains_all(cpus) && cpus != all_;
    if (!is_pinned) return false;
    findings.push_back(
        {"process-pinned", Severity::kError, subject_of(process), cpus.to_string(), "",
         fmt::format("in group '{}' {} pinned to {}, which containers have exclusively",
                     process.group, tid == process.pid ? "is" : fmt::format("has thread {}", tid),
                     cpus_named(cpus)),
         status_command(given_, fmt::format("{}/task/{}", process.pid, tid)),
         pin_command(given_.housekeeping, tid)});
    return true;
  }

  const Case& given_;
  CpuSet all_;
  std::map<std::string, Service> services_;
  std::size_t kernel_ = 0;
};

}  // namespace

void judge_processes(const Case& given, std::vector<Finding>& findings) {
  const Namespaces pods = namespaces_of_pods(given);
  std::set<pid_t> in_other_groups;  // of conmon
  for (const ObservedGroup& group : given.observed.cgroups.groups) {
    if (group.name.role == GroupRole::kMonitor) {
      in_other_groups.insert(group.processes.begin(), group.processes.end());
    }
  }
  SystemProcesses system(given);
  for (const auto& [pid, process] : given.observed.processes) {
    const auto container = given.by_process.find(pid);
    if (container != given.by_process.end()) {
      judge_threads(given, *container->second, process, findings);
      judge_pages(given, *container->second, process, findings);
    } else if (process.stat.is_kernel_thread || in_other_groups.contains(pid) ||
               !judge_escaped(given, pods, process, findings)) {
      system.add(process, findings);
    }
  }
  system.report(findings);
}

}  // namespace pinfold::audit
