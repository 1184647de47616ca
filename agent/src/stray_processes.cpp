#include "stray_processes.hpp"

#include <fmt/format.h>

#include "pinfold/enforce/affinity.hpp"
#include "pinfold/enforce/page_placement.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::agent {
namespace {

using enforce::Group;
using enforce::ProcessId;

/// Returns where a process was moved to; "" if it is in its group, in one that the container made
/// below it, or has ended. Domain: a group with a process table.
std::string strayed_to(const Group& group, const ProcessId& process) {
  const bool is_here = holds(group, process.pid).value_or(true);
  const enforce::ProcessTable& table = *group.process_table();
  if (is_here || table.identify(process.pid) != process) return "";
  std::string path = table.cpuset_path(process.pid, group.cpuset().hierarchy->version);
  return enforce::is_within(path, group.label) ? "" : path;
}

void return_to(const Group& group, const ProcessId& process, const std::string& from,
               ReconcileReport& report) {
  report.drift.push_back(
      fmt::format("{}: process {} was moved to '{}'", group.label, process.pid, from));
  if (const auto back = attach(group, process.pid)) {
    report.moved.push_back(fmt::format("{}: process {} is back", group.label, process.pid));
  } else {
    report.remaining.push_back(back.error().message);
  }
}

}  // namespace

ProcessList return_processes(enforce::Cgroups& cgroups, const enforce::Layout& desired,
                             const ProcessList& before, ReconcileReport& report) {
  ProcessList now;
  for (const auto& [name, settings] : desired) {
    if (name.is_pod() || cgroups.is_adopted(name)) continue;
    const auto group = cgroups.group(name);
    if (!group || group->process_table() == nullptr) continue;
    const auto pids = processes(*group);
    if (!pids) continue;  // already reported by the plan
    std::set<ProcessId> here;
    const auto known = before.find(group->label);
    if (known != before.end()) {
      for (const ProcessId& process : known->second) {
        const std::string from = strayed_to(*group, process);
        if (from.empty()) continue;
        return_to(*group, process, from, report);
        here.insert(process);
      }
    }
    for (const pid_t pid : *pids) {
      if (const auto process = group->process_table()->identify(pid)) here.insert(*process);
    }
    if (!here.empty()) now.emplace(group->label, std::move(here));
  }
  return now;
}

void note_affinities(const enforce::Cgroups& cgroups, const enforce::Layout& desired,
                     ReconcileReport& report) {
  for (const auto& [name, settings] : desired) {
    if (name.is_pod()) continue;
    const auto group = cgroups.group(name);
    if (!group || group->process_table() == nullptr) continue;
    const std::string limit = limit_of(affinity_of(*group));
    if (!limit.empty()) report.notes.push_back(fmt::format("{}: {}", group->label, limit));
  }
}

void move_pages(enforce::Cgroups& cgroups, const enforce::Layout& desired,
                ReconcileReport& report) {
  for (const auto& [name, settings] : desired) {
    if (name.is_pod() || settings.mems.empty()) continue;
    const auto group = cgroups.group(name);
    const bool is_ours = group && group->is_this_kernel();
    const auto pids = is_ours ? processes(*group) : std::vector<pid_t>{};
    if (!pids) continue;
    for (const pid_t pid : *pids) {
      const double before = enforce::share_on(enforce::pages_of(pid), settings.mems);
      if (before == 1) continue;
      if (const auto moved = enforce::migrate_pages(pid, settings.mems); !moved) {
        report.remaining.push_back(fmt::format("{}: {}", group->label, moved.error().message));
        continue;
      }
      report.moved.push_back(
          fmt::format("{}: {:.0f}% of the memory of process {} is on {} now, {:.0f}% before",
                      group->label, 100 * enforce::share_on(enforce::pages_of(pid), settings.mems),
                      pid, numa_nodes_named(settings.mems), 100 * before));
    }
  }
}

}  // namespace pinfold::agent
