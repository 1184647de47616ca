#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "expectations.hpp"
#include "pinfold/enforce/affinity.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::audit {
namespace {

/// crun makes this group below the one that the kubelet asked for, with the same cpuset.
constexpr std::string_view kCrunGroup = "container";

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// Returns the process of a container that was not started by another one of its processes; nullptr
/// if it has ended or is in a group that the container made, which may have another cpuset.
const ObservedProcess* main_process(const Case& given, const ObservedGroup& group) {
  for (const pid_t pid : group.processes) {
    const auto found = given.observed.processes.find(pid);
    if (found == given.observed.processes.end()) continue;
    const ObservedProcess& process = found->second;
    const bool is_child = std::find(group.processes.begin(), group.processes.end(),
                                    process.stat.parent) != group.processes.end();
    const std::string_view own = last_part(process.group);
    const bool is_here = own == last_part(group.path) || own == kCrunGroup;
    if (!is_child && is_here) return &process;
  }
  return nullptr;
}

/// Returns the CPUs of the container that the threads of a process may run on together.
CpuSet usable_cpus(const ObservedProcess& process, const CpuSet& container) {
  CpuSet cpus = process.cpus;
  for (const ObservedThread& thread : process.threads) cpus |= thread.cpus;
  return cpus & container;
}

}  // namespace

void judge_affinity(const Case& given, std::vector<Finding>& findings) {
  for (const Placed& placed : given.containers) {
    const AuditedContainer& container = placed.audited;
    if (placed.group == nullptr || container.is_sandbox || !container.is_running) continue;
    const ObservedProcess* const process = main_process(given, *placed.group);
    if (process == nullptr) continue;
    const CpuSet usable = usable_cpus(*process, container.observed);
    if (usable == container.observed || usable.empty()) continue;
    findings.push_back({"affinity", container.is_exclusive ? Severity::kWarning : Severity::kNote,
                        subject_of(container), usable.to_string(), container.observed.to_string(),
                        fmt::format("the CPU affinity of its process {} permits only {}",
                                    process->pid, cpus_named(usable)),
                        fmt::format("grep Cpus_allowed_list '{}/proc/{}/status'",
                                    given.observed.root, process->pid),
                        enforce::widening_command(process->pid)});
  }
}

}  // namespace pinfold::audit
