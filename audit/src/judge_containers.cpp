#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "expectations.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::audit {
namespace {

/// Returns the command that shows the effective set.
std::string sets_command(const Case& given, const Placed& placed, const char* what) {
  const bool is_v2 = given.observed.cgroups.version == enforce::CgroupVersion::kV2;
  return show_file(given.observed, fmt::format("{}/cpuset.{}{}", placed.group->directory, what,
                                               is_v2 ? ".effective" : ""));
}

/// Returns the command that sets a container's set: through systemd if it manages the group,
/// because it would overwrite the value.
std::string set_command(const Case& given, const Placed& placed, const char* what,
                        const CpuSet& set) {
  const KubeletGroup& name = placed.group->name;
  const bool is_v2 = given.observed.cgroups.version == enforce::CgroupVersion::kV2;
  if (name.driver == Driver::kSystemd && is_v2) {
    const std::string& path = placed.group->path;
    return fmt::format(
        "systemctl set-property --runtime '{}' {}={}", path.substr(path.rfind('/') + 1),
        std::string_view(what) == "cpus" ? "AllowedCPUs" : "AllowedMemoryNodes", set.to_string());
  }
  return fmt::format("echo {} > {}", set.to_string(),
                     group_file(*placed.group, fmt::format("cpuset.{}", what)));
}

void judge_cpus(const Case& given, const Placed& placed, std::vector<Finding>& findings) {
  const AuditedContainer& container = placed.audited;
  if (!container.expected || container.observed == *container.expected) return;
  Finding finding{"cpuset-differs",
                  Severity::kError,
                  subject_of(container),
                  container.observed.to_string(),
                  container.expected->to_string(),
                  "",
                  sets_command(given, placed, "cpus"),
                  set_command(given, placed, "cpus", *container.expected)};
  if (container.is_exclusive) {
    finding.text = fmt::format("runs on {}, but the kubelet gave it {} exclusively",
                               cpus_named(container.observed), cpus_named(*container.expected));
  } else {
    // On exclusive CPUs this is also an overlap, which is the error.
    finding.severity = Severity::kWarning;
    finding.text = fmt::format("runs on {}, but its shared pool is {}",
                               cpus_named(container.observed), finding.expected);
  }
  findings.push_back(std::move(finding));
}

void judge_mems(const Case& given, const Placed& placed, std::vector<Finding>& findings) {
  const AuditedContainer& container = placed.audited;
  if (!container.expected_mems || container.observed_mems == *container.expected_mems) return;
  const std::string observed = container.observed_mems.to_string();
  const std::string expected = container.expected_mems->to_string();
  findings.push_back({"mems-differ", Severity::kError, subject_of(container), observed, expected,
                      fmt::format("may use memory of {}, but the kubelet gave it {}",
                                  numa_nodes_named(container.observed_mems), expected),
                      sets_command(given, placed, "mems"),
                      set_command(given, placed, "mems", *container.expected_mems)});
}

void judge_absent(const Case& given, const Placed& placed, std::vector<Finding>& findings) {
  const AuditedContainer& container = placed.audited;
  const std::string cpus = container.expected->to_string();
  const std::string pod =
      fmt::format("{}/pods/{}", given.observed.kubelet.root_dir, container.id.pod.value);
  findings.push_back(
      {"container-absent", Severity::kNote, subject_of(container), "", cpus,
       fmt::format("has {} in the kubelet's file but no control group: it does not run, or "
                   "no file names its group",
                   cpus_named(*container.expected)),
       fmt::format("ls '{}{}'", given.observed.root, pod)});
}

/// Judges an empty group in a running pod if no file names the container's first process.
void judge_empty(const Case& given, const Placed& placed, std::vector<Finding>& findings) {
  const AuditedContainer& container = placed.audited;
  if (!container.is_exclusive || container.is_running || placed.group->init) return;
  const bool has_sandbox =
      std::any_of(given.containers.begin(), given.containers.end(), [&](const Placed& one) {
        return one.audited.is_sandbox && one.audited.is_running &&
               one.audited.id.pod == container.id.pod;
      });
  if (!has_sandbox) return;
  findings.push_back({"container-empty", Severity::kWarning, subject_of(container), "",
                      container.expected->to_string(),
                      "has exclusive CPUs but no process in its group, although the sandbox of its "
                      "pod runs: it has just ended, or its processes were moved away",
                      show_file(given.observed, placed.group->directory + "/cgroup.procs")});
}

bool is_of_static_pod(const Case& given, const PodUid& pod) {
  if (!given.decisions.is_static()) return false;
  const CpuCheckpoint& state = given.decisions.cpu->state;
  return state.assignments.contains(pod) || state.pods.contains(pod);
}

void judge_unnamed(const Case& given, const Placed& placed, std::vector<Finding>& findings) {
  if (!is_of_static_pod(given, placed.audited.id.pod)) return;
  findings.push_back(
      {"container-unnamed", Severity::kWarning, subject_of(placed.audited), "", "",
       "no file says which container of its pod this is, so its CPUs cannot be compared",
       fmt::format("crictl inspect {}", placed.audited.runtime_id)});
}

/// Returns true if a container may use the CPUs of another one: in a pod with pod-level CPUs, or if
/// later containers of the pod take over the CPUs of init containers.
bool may_share(const Case& given, const AuditedContainer& owner, const AuditedContainer& other) {
  if (owner.id.pod != other.id.pod) return false;
  return other.is_exclusive || given.decisions.cpu->state.pods.contains(owner.id.pod);
}

/// CPUs of the state file with one owner: a container, or a pod with pod-level CPUs.
struct OwnedCpus {
  PodUid pod;
  std::string name;
  CpuSet cpus;
};

std::vector<OwnedCpus> owned_cpus(const CpuCheckpoint& state) {
  std::vector<OwnedCpus> owned;
  for (const auto& entry : state.assignments) {
    if (state.pods.contains(entry.pod)) continue;  // parts of the pod's CPUs
    owned.push_back({entry.pod, to_string(entry.id()), entry.value});
  }
  for (const auto& [pod, cpus] : state.pods) {
    owned.push_back({pod, fmt::format("pod {}", pod.value), cpus});
  }
  return owned;
}

/// CPUs that the state file gives away twice: a damaged file, or a bug in the kubelet.
struct TwiceGiven {
  CpuSet cpus;
  std::string to;
  std::string and_to;  ///< "": the shared pool
};

std::vector<TwiceGiven> twice_given(const CpuCheckpoint& state) {
  std::vector<TwiceGiven> given;
  const auto add = [&](const OwnedCpus& owner, const CpuSet& others, const std::string& other) {
    const CpuSet both = owner.cpus & others;
    if (!both.empty()) given.push_back({both, owner.name, other});
  };
  const std::vector<OwnedCpus> owned = owned_cpus(state);
  for (auto first = owned.begin(); first != owned.end(); ++first) {
    add(*first, state.default_set, "");
    for (auto second = std::next(first); second != owned.end(); ++second) {
      if (second->pod != first->pod) add(*first, second->cpus, second->name);
    }
  }
  return given;
}

/// Returns the command that gives each CPU in the state file one owner. Removing one of two pods is
/// not enough: the kubelet then puts all its CPUs into the shared pool, even those that the other
/// pod also has. Source: cm/cpumanager/policy_static.go RemoveContainer.
std::string separate_owners(const Case& given) {
  const auto twice = twice_given(given.decisions.cpu->state);
  const bool is_of_two_pods =
      std::any_of(twice.begin(), twice.end(), [](const auto& one) { return !one.and_to.empty(); });
  if (!is_of_two_pods) return repair_command(given.observed.kubelet);
  return repair_command(given.observed.kubelet, " --accept-loss") +
         "  # one of the two loses its CPUs: the kubelet then gives its pod others or rejects it";
}

void judge_file(const Case& given, std::vector<Finding>& findings) {
  if (!given.decisions.is_static()) return;
  const std::string file =
      fmt::format("{}/{}", given.observed.kubelet.root_dir, checkpoint::kCpuFileName);
  for (const TwiceGiven& one : twice_given(given.decisions.cpu->state)) {
    findings.push_back({"state-overlap",
                        Severity::kError,
                        {"file", given.observed.root + file},
                        one.cpus.to_string(),
                        "",
                        fmt::format("gives {} to {} and to {}", cpus_named(one.cpus), one.to,
                                    one.and_to.empty() ? "the shared pool" : one.and_to),
                        show_file(given.observed, file),
                        separate_owners(given)});
  }
}

/// Returns the command that takes the CPUs of another container from `intruder`.
std::string end_overlap(const Case& given, const Placed& intruder, const CpuSet& cpus) {
  const auto& expected = intruder.audited.expected;
  if (!expected) return "";
  if (cpus.intersects(*expected)) return separate_owners(given);  // the state file gives them to it
  return set_command(given, intruder, "cpus", *expected);
}

}  // namespace

void judge_sets(const Case& given, std::vector<Finding>& findings) {
  judge_file(given, findings);
  for (const Placed& placed : given.containers) {
    if (placed.group == nullptr) {
      judge_absent(given, placed, findings);
      continue;
    }
    judge_empty(given, placed, findings);
    if (placed.audited.is_running && !placed.audited.is_sandbox) {
      if (placed.audited.id.name.empty()) judge_unnamed(given, placed, findings);
      if (!placed.group->has_sets) continue;  // already a problem of reading
      judge_cpus(given, placed, findings);
      judge_mems(given, placed, findings);
    }
  }
}

std::vector<Overlap> find_overlaps(const Case& given) {
  std::vector<Overlap> overlaps;
  if (!given.decisions.is_static()) return overlaps;
  for (const Placed& owner : given.containers) {
    if (!owner.audited.is_exclusive || !owner.audited.is_running) continue;
    for (const Placed& other : given.containers) {
      const AuditedContainer& container = other.audited;
      if (&other == &owner || !container.is_running || container.is_sandbox) continue;
      if (may_share(given, owner.audited, container)) continue;
      const CpuSet cpus = *owner.audited.expected & container.observed;
      if (!cpus.empty()) overlaps.push_back({owner.audited.label, container.label, cpus});
    }
  }
  return overlaps;
}

void judge_overlaps(const Case& given, const std::vector<Overlap>& overlaps,
                    std::vector<Finding>& findings) {
  for (const Overlap& overlap : overlaps) {
    const auto is_intruder = [&](const Placed& placed) {
      return placed.audited.label == overlap.intruder && placed.group != nullptr;
    };
    const auto intruder =
        std::find_if(given.containers.begin(), given.containers.end(), is_intruder);
    if (intruder == given.containers.end()) continue;
    findings.push_back({"overlap", Severity::kError, subject_of(intruder->audited),
                        intruder->audited.observed.to_string(), "",
                        fmt::format("can run on {}, which '{}' has exclusively",
                                    cpus_named(overlap.cpus), overlap.owner),
                        sets_command(given, *intruder, "cpus"),
                        end_overlap(given, *intruder, overlap.cpus)});
  }
  std::size_t sandboxes = 0;
  for (const Placed& placed : given.containers) {
    const AuditedContainer& container = placed.audited;
    if (container.is_sandbox && container.observed.intersects(given.exclusive)) ++sandboxes;
  }
  if (sandboxes == 0) return;
  findings.push_back({"sandboxes",
                      Severity::kNote,
                      {"node", "sandboxes"},
                      std::to_string(sandboxes),
                      "",
                      fmt::format("{} of them can run on exclusive {}: kubelets do not pin "
                                  "sandboxes, and their program only sleeps",
                                  sandboxes, cpus_named(given.exclusive)),
                      ""});
}

void judge_pod_resources(const Case& given, std::vector<Finding>& findings) {
  if (!given.observed.pod_resources) return;
  for (const ListedContainer& listed : *given.observed.pod_resources) {
    const std::string label =
        fmt::format("{}/{}/{}", listed.namespace_name, listed.pod, listed.container);
    for (const Placed& placed : given.containers) {
      const AuditedContainer& container = placed.audited;
      if (container.label != label || container.is_sandbox) continue;
      const CpuSet in_file =
          container.is_exclusive ? container.expected.value_or(CpuSet{}) : CpuSet{};
      if (in_file == listed.cpus) continue;
      const auto shown = [](const CpuSet& cpus) {
        return cpus.empty() ? std::string("none") : cpus.to_string();
      };
      findings.push_back({"pod-resources-differ", Severity::kError, subject_of(container),
                          shown(in_file), shown(listed.cpus),
                          fmt::format("has exclusive CPUs {} in the kubelet's file, and {} in its "
                                      "PodResources API",
                                      shown(in_file), shown(listed.cpus)),
                          ""});
    }
  }
}

}  // namespace pinfold::audit
