#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/audit/findings.hpp"
#include "pinfold/checkpoint/inspect.hpp"

/// What the kubelet's files say about each container, prepared for all judges.
namespace pinfold::audit {

/// The contents of the state files; nullopt: missing or not readable.
struct Decisions {
  std::optional<checkpoint::Inspected<CpuCheckpoint>> cpu = {};
  std::optional<checkpoint::Inspected<MemoryCheckpoint>> memory = {};

  [[nodiscard]] bool is_static() const { return cpu && cpu->policy == "static"; }
};
/// Reads the state files. `groups`: for CPU V1, which names containers by their runtime ids.
[[nodiscard]] Decisions read_decisions(const Observed& observed);

/// A container with its group. `group` is nullptr if only the files name it.
struct Placed {
  AuditedContainer audited;
  const ObservedGroup* group = nullptr;
};

/// The common input of all judges.
struct Case {
  const Observed& observed;
  Decisions decisions;
  std::vector<Placed> containers = {};
  CpuSet exclusive = {};
  std::map<pid_t, const Placed*> by_process = {};
  /// First processes of containers that are in another group now.
  std::map<pid_t, const Placed*> moved = {};
  /// Where the system should run: the reserved CPUs, or else the shared pool; empty: unknown.
  CpuSet housekeeping = {};
  bool housekeeping_stays = false;  ///< it is not the shared pool, which can shrink
};
[[nodiscard]] Case make_case(const Observed& observed);

/// Returns the command that shows a file in a group's directory.
[[nodiscard]] std::string show_file(const Observed& observed, const std::string& path);
/// Returns the command that makes the state files fit the configuration of the kubelet. `option`:
/// an option of repair, with a leading blank.
[[nodiscard]] std::string repair_command(const ObservedKubelet& kubelet,
                                         std::string_view option = "");
/// Returns a group's file for a command that fixes something: as the node sees it.
[[nodiscard]] std::string group_file(const ObservedGroup& group, std::string_view file);
[[nodiscard]] Subject subject_of(const AuditedContainer& container);
[[nodiscard]] Subject subject_of(const ObservedProcess& process);

void judge_kubelet(const Case& given, std::vector<Finding>& findings);
void judge_sets(const Case& given, std::vector<Finding>& findings);
void judge_overlaps(const Case& given, const std::vector<Overlap>& overlaps,
                    std::vector<Finding>& findings);
void judge_quotas(const Case& given, std::vector<Finding>& findings);
void judge_pod_resources(const Case& given, std::vector<Finding>& findings);
void judge_processes(const Case& given, std::vector<Finding>& findings);
void judge_affinity(const Case& given, std::vector<Finding>& findings);
void judge_irqs(const Case& given, std::vector<Finding>& findings);
[[nodiscard]] std::vector<Overlap> find_overlaps(const Case& given);

}  // namespace pinfold::audit
