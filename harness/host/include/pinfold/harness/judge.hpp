#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold::harness {

/// One comparison of what the kernel has with what it should have.
struct Check {
  std::string what;  ///< "guaranteed/app cpuset.cpus.effective"
  std::string expected;
  std::string actual;
  bool good = false;
};

/// Compares by the meaning of the value: lists of CPUs and nodes as sets, the rest as text without
/// white space around it.
[[nodiscard]] Check check_value(std::string what, std::string_view name, std::string expected,
                                std::string actual);

/// What a value must be: a text, or a number within bounds.
struct Wanted {
  std::string text;
  std::optional<double> at_least;
  std::optional<double> at_most;
};
/// As check_value; a value that is no number is not within bounds.
[[nodiscard]] Check check_wanted(std::string what, std::string_view name, const Wanted& wanted,
                                 std::string actual);

/// The value of a line "key value" in a file of many, as cpu.stat; "(no such line)".
[[nodiscard]] std::string line_value(const std::string& text, std::string_view key);

/// How many of the pages of move_pages lie on a node, "512", or (as a share) percent of all.
[[nodiscard]] std::string pages_on(const nlohmann::json& pages, const std::string& node,
                                   bool share);

/// The one value that every thread has; else one that is not `expected`, and whose it is.
[[nodiscard]] std::string common_value(const nlohmann::json& threads, const char* key,
                                       const std::string& expected);

/// The CPUs that containers have for themselves, or pods for their containers, by their group's
/// path below the product's root.
using ExclusiveCpus = std::map<std::string, CpuSet>;

/// Reads lines of a group's path and a list. Any other line: kInvalidArgument.
[[nodiscard]] Result<ExclusiveCpus> parse_exclusive(const std::string& text);

/// What the guest's sampler has seen, as `changes`: the lines of a state that are new against the
/// one before it ("podA/c 2-3", or "podA/c" for a group that is gone), and an empty line. Returns
/// who ever had a CPU that somebody else had for itself at that time, once for each pair.
[[nodiscard]] std::vector<std::string> overlaps_seen(const std::string& changes,
                                                     const ExclusiveCpus& exclusive);

/// One check for each pair of lists: they have no CPU in common.
[[nodiscard]] std::vector<Check> check_disjoint(
    const std::vector<std::pair<std::string, std::string>>& lists);

/// What the product says it has decided for one container.
struct DecidedContainer {
  std::string name;       ///< "pod/container"
  std::string isolation;  ///< "container", "pod", "host"
  std::string cgroup;     ///< full path in the guest
  std::string cpus;       ///< what cpuset.cpus is to be; "": not set
  std::string mems;       ///< what cpuset.mems is to be; "": not set
};

/// Reads the containers out of what `pinfold status --output json` prints.
/// Errors: kInvalidArgument with the field.
[[nodiscard]] Result<std::vector<DecidedContainer>> decided_containers(
    const nlohmann::json& status);

/// What the kernel has for one container and for the process in it.
struct KernelContainer {
  std::string cpus;          ///< cpuset.cpus.effective
  std::string mems;          ///< cpuset.mems.effective
  bool has_process = false;  ///< one of ours runs in it
  std::string cpus_allowed;  ///< of the process
  std::string mems_allowed;
  std::string page_nodes;  ///< nodes that hold its pages, as a list
};

/// One line of the table.
struct ContainerRow {
  DecidedContainer decided;
  KernelContainer kernel;
  std::vector<Check> checks;

  [[nodiscard]] bool good() const;
};

/// What a group has whose cpuset nobody has set.
struct Unset {
  CpuSet cpus;  ///< that are online
  CpuSet mems;  ///< nodes that have memory
};

/// Compares every container with the kernel: its own values, and that no exclusive CPU is in the
/// effective set of any other group.
[[nodiscard]] std::vector<ContainerRow> judge_containers(
    const std::vector<DecidedContainer>& decided,
    const std::map<std::string, KernelContainer>& kernel, const Unset& unset);

/// "{"0": 512, "1": 3}" of move_pages -> "0-1". Pages that are not there count as "?".
[[nodiscard]] std::string nodes_of_pages(const nlohmann::json& pages);

}  // namespace pinfold::harness
