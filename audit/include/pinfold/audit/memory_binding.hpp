#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/audit/tree.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/enforce/layout.hpp"

/// Which NUMA nodes a process may bind memory to: what set_mempolicy(2), mbind(2) and numactl
/// --membind accept. They fail with EINVAL if none of their NUMA nodes is among these.
namespace pinfold::audit {

/// The NUMA nodes of a machine, as /sys/devices/system/node lists them.
struct NumaLists {
  enforce::NodeSet possible;  ///< the numbers that the kernel can give
  enforce::NodeSet online;
  enforce::NodeSet with_memory;
};

/// The memory nodes of a group with a cpuset.
struct GroupMems {
  std::string directory;        ///< absolute on the node
  enforce::NodeSet configured;  ///< cpuset.mems; empty: those of the group above
  enforce::NodeSet effective;
};

/// What decides which NUMA nodes a group, or one process in it, may bind memory to.
struct BindingFacts {
  std::string directory;  ///< of the group: absolute on the node, in the cpuset hierarchy
  NumaLists numa = {};
  std::vector<GroupMems> groups = {};  ///< the topmost first; those without a cpuset are left out
  /// For a process: Mems_allowed_list. nullopt: no process was named, or the kernel does not show
  /// it.
  std::optional<enforce::NodeSet> allowed = {};
  /// For a process: it has a seccomp filter but not CAP_SYS_NICE. The default filters of container
  /// runtimes then answer EPERM to set_mempolicy and mbind.
  bool is_filtered = false;
};

/// Why a process may not bind memory to a NUMA node.
enum class BindingReason { kOffline, kWithoutMemory, kCgroup, kProcess };
/// Returns "offline", "without-memory", "cgroup" or "process".
[[nodiscard]] std::string_view to_string(BindingReason reason);

/// NUMA nodes that cannot be bound, all for one reason.
struct BindingLimit {
  enforce::NodeSet numa_nodes;
  BindingReason reason = BindingReason::kOffline;
  std::string directory = {};  ///< kCgroup: the topmost group without them; else ""
  std::string text = {};       ///< "cpuset.mems of '/sys/fs/cgroup/a' is 0"

  friend bool operator==(const BindingLimit&, const BindingLimit&) = default;
};

struct MemoryBinding {
  enforce::NodeSet numa_nodes;            ///< those that can be bound
  std::vector<BindingLimit> limits = {};  ///< each of the others once

  friend bool operator==(const MemoryBinding&, const MemoryBinding&) = default;
};

/// Judges the facts. Pure.
[[nodiscard]] MemoryBinding judge_binding(const BindingFacts& facts);

/// Reads the facts about a group of the cpuset hierarchy. `directory`: absolute on the node, or as
/// /proc/PID/cgroup names it. `process`: also read what the kernel permits this process.
/// Errors: kUnsupported without cpusets; kNotFound if the group or the process does not exist; kIo.
[[nodiscard]] Result<BindingFacts> read_binding(const Tree& tree, const std::string& directory,
                                                std::optional<pid_t> process);

/// Returns the absolute directory of a process's group in the cpuset hierarchy.
/// Errors: kUnsupported without cpusets; kNotFound if there is no such process, or its group is
/// not visible in this cgroup namespace; kIo.
[[nodiscard]] Result<std::string> cpuset_directory(const Tree& tree, pid_t process);

}  // namespace pinfold::audit
