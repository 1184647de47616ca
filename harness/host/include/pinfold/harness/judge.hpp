#pragma once

#include <iosfwd>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold::harness {

/// One comparison of an observed value with the expected one.
struct CheckedValue {
  std::string what;  ///< "guaranteed/app cpuset.cpus.effective"
  std::string expected;
  std::string observed;
  bool ok = false;
  std::string_view owner = "the kernel";  ///< of the observed value
};

/// Returns true for values that are lists of CPUs or NUMA nodes, in any order and grouping.
[[nodiscard]] bool is_list_value(std::string_view name);

/// Compares values by meaning: lists of CPUs and NUMA nodes as sets, everything else as text
/// without surrounding white space.
[[nodiscard]] CheckedValue check_value(std::string what, std::string_view name,
                                       std::string expected, std::string observed);

/// An expected value: a text, or a number within bounds.
struct ExpectedValue {
  std::string text;
  std::optional<double> at_least;
  std::optional<double> at_most;
};
/// Like check_value; a value that is not a number is never within bounds.
[[nodiscard]] CheckedValue check_expected(std::string what, std::string_view name,
                                          const ExpectedValue& expected_value,
                                          std::string observed);

/// Returns the answer of `pinfold admit` by its exit status and the JSON that it has printed:
/// "admitted", "rejected", "error", or "admitted, but not enforced" for a pod whose control groups
/// could not be written, which has the status of a rejection. "": another status.
[[nodiscard]] std::string admit_answer(int status, std::string_view printed);

/// Returns the value of a "key value" line, as in cpu.stat; "(no such line)" if there is none.
[[nodiscard]] std::string line_value(const std::string& text, std::string_view key);

/// Returns how many pages are on a NUMA node according to move_pages: "512", or (share) a
/// percentage.
[[nodiscard]] std::string pages_on(const nlohmann::json& pages, const std::string& node,
                                   bool share);

/// Returns the value that all threads share, or else one that differs from `expected`, with its
/// thread.
[[nodiscard]] std::string common_value(const nlohmann::json& threads, const char* key,
                                       const std::string& expected);

/// Exclusive CPUs of containers, and of pods for their containers, by cgroup path relative to the
/// product's root.
using ExclusiveCpus = std::map<std::string, CpuSet>;

/// Parses lines of a cgroup path and a CPU list. Errors: kInvalidArgument for any other line.
[[nodiscard]] Result<ExclusiveCpus> parse_exclusive(const std::string& text);

/// Returns true for the owner itself and for groups below it.
[[nodiscard]] bool is_within(const std::string& group, const std::string& owner);

/// How to treat groups whose CPUs never differed from those of their pod's group.
enum class NeverPinned {
  kCount,
  kSkipEnded,  ///< count only those in the last state: the service was not always running
};

/// Reduces the sampler's `changes` below "kubepods" to the input of overlaps_seen: only the groups
/// of containers and sandboxes ("podA/id", "burstable/podB/id"), each from the first state in which
/// its CPUs differ from those of its pod's group or, if `exclusive` names it, are only these.
/// Before that, runc has created the group, but its program does not run yet; meanwhile the service
/// may have confined it to the shared pool. A group that never reaches this state was never pinned,
/// and counts in all its states. So this does not find a container that runs unpinned for a while
/// and is pinned later; the service counts those.
[[nodiscard]] std::string changes_of_runtime(const std::string& changes,
                                             const ExclusiveCpus& exclusive,
                                             NeverPinned never_pinned);

/// CPUs of one group that are also in another group.
struct GroupOverlap {
  std::string group;
  std::string cpus;
  std::string owner;

  friend auto operator<=>(const GroupOverlap&, const GroupOverlap&) = default;
};
/// Returns the overlaps in one state: exclusive CPUs that their owner already has and that are also
/// in other groups.
[[nodiscard]] std::set<GroupOverlap> overlaps_in(const std::map<std::string, CpuSet>& state,
                                                 const ExclusiveCpus& exclusive);

/// Reads the guest sampler's `changes`: for each state the lines that differ from the previous
/// state ("podA/c 2-3", or "podA/c" for a removed group), then an empty line. Returns which groups
/// ever had an exclusive CPU of another group, once for each pair.
[[nodiscard]] std::vector<std::string> overlaps_seen(const std::string& changes,
                                                     const ExclusiveCpus& exclusive);

/// The sampler's `changes` split into two parts with the same states: groups below `folder`
/// ("pinfold"), with paths relative to it, and all others, as "/PATH". If `folder` is "", the
/// others are the groups at the top level.
struct SplitChanges {
  std::string below;
  std::string others;
};
[[nodiscard]] SplitChanges split_changes(const std::string& changes, const std::string& folder);

/// Reads one state from `changes`, as overlaps_seen does: the CPUs of each group in a pod. Returns
/// false at the end.
[[nodiscard]] bool read_state(std::istream& changes, std::map<std::string, CpuSet>& state);

/// Returns a check for each pair of lists: that they share no CPU.
[[nodiscard]] std::vector<CheckedValue> check_disjoint(
    const std::vector<std::pair<std::string, std::string>>& lists);

/// The product's desired cpuset of one container.
struct DesiredContainer {
  std::string name;       ///< "pod/container"
  std::string isolation;  ///< "container", "pod", "host"
  std::string cgroup;     ///< full path in the guest
  std::string cpus;       ///< desired cpuset.cpus; "": not set
  std::string mems;       ///< desired cpuset.mems; "": not set
};

/// Parses the containers from the output of `pinfold status --output json`.
/// Errors: kInvalidArgument, naming the field.
[[nodiscard]] Result<std::vector<DesiredContainer>> desired_containers(
    const nlohmann::json& status);

/// The kernel's values of a container and of the process in it.
struct ContainerValues {
  std::string cpus;          ///< cpuset.cpus.effective
  std::string mems;          ///< cpuset.mems.effective
  bool has_process = false;  ///< the scenario started a process in it
  std::string cpus_allowed;  ///< of that process
  std::string mems_allowed;
  std::string page_nodes;  ///< NUMA nodes that hold its pages, as a list
};

/// A row of the table.
struct ContainerRow {
  DesiredContainer desired;
  ContainerValues observed;
  std::vector<CheckedValue> checks;

  [[nodiscard]] bool ok() const;
};

/// The effective values of a group whose cpuset is not set.
struct Unset {
  CpuSet cpus;  ///< online CPUs
  CpuSet mems;  ///< NUMA nodes with memory
};

/// Compares every container with the kernel: its cpuset values, and that none of its exclusive CPUs
/// is in the effective set of another group.
[[nodiscard]] std::vector<ContainerRow> judge_containers(
    const std::vector<DesiredContainer>& desired,
    const std::map<std::string, ContainerValues>& kernel, const Unset& unset);

/// Converts {"0": 512, "1": 3} from move_pages to "0-1". Absent pages count as "?".
[[nodiscard]] std::string nodes_of_pages(const nlohmann::json& pages);

}  // namespace pinfold::harness
