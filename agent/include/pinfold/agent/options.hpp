#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "pinfold/agent/log.hpp"
#include "pinfold/agent/profile_source.hpp"
#include "pinfold/checkpoint/fs.hpp"
#include "pinfold/enforce/cgroups.hpp"
#include "pinfold/quiet/quiet_level.hpp"

namespace pinfold::quiet {
class KnobStore;
}

namespace pinfold::agent {

/// Opens the control groups below a root. A runtime that writes cgroups itself passes its own
/// function (enforce::Cgroups::make with its own CgroupFs).
using CgroupsOpener = std::function<Result<enforce::Cgroups>(const std::string& root)>;

/// Opens the knobs of the machine: see quiet::kernel_knobs.
using KnobsOpener = std::function<std::unique_ptr<quiet::KnobStore>()>;

/// What happens to an adopted container without a process if its pod does not end with it.
enum class Abandoned {
  kRemove,
  kDisown,  ///< its runtime may create it again, and reports when it is removed for good
};

/// Whether processes that run in groups to be removed make the removal fail, or are killed.
enum class RunningProcesses { kRefuse, kKill };

inline constexpr const char* kDefaultStateDir = "/var/lib/pinfold";
inline constexpr const char* kConfigFileName = "config.yaml";  ///< in the state directory
inline constexpr const char* kAssignedDirectoryName = "pinfold_assigned";  ///< in there, too

/// Where an agent keeps its state and control groups, and what it does with them.
struct AgentOptions {
  std::string state_dir = kDefaultStateDir;
  /// Only reads: takes no lock, and writes no file and no control group. If the state directory
  /// does not exist, the default one counts as empty; any other is an error, because its name may
  /// be mistyped.
  bool is_query = false;
  /// For tests: does not check who can change the state directory (checkpoint::OwnerCheck).
  bool insecure_state_dir = false;
  std::string cgroup_root;  ///< "": enforce::default_root()
  bool enforce = true;      ///< false: decides and stores, but touches no control group
  bool dry_run = false;     ///< a query that decides, but stores and enforces nothing
  /// What determined the profile of the configuration. kDefault: open_agent follows the state
  /// files, if they show the kubelet's version.
  ProfileSource profile_source = ProfileSource::kDefault;
  /// No configuration was given, and the state directory has none, so the kubelet's defaults apply.
  /// Errors mention this.
  bool lacks_config = false;
  /// .pinfold_node describes the node, and no earlier one; open_agent sets it.
  bool is_stored_node = false;
  /// The file of the node's machine; "": none, so the size of its kernel is unknown.
  std::string iomem = "/proc/iomem";
  /// The kubelet's directory of logs, which names held pods; "": they have no names.
  std::string pod_logs;
  bool move_pages = false;  ///< reconcile() also moves pages to the desired NUMA nodes
  /// Resets the CPU affinity that a container's processes inherit from their runtime, when they are
  /// attached and when the container starts.
  bool reset_affinity = true;
  /// How quiet exclusive CPUs are: docs/cookbook/quiet-cpus.md. Even with kOff, restores what an
  /// earlier agent has changed.
  quiet::QuietLevel quiet = quiet::QuietLevel::kOff;
  Abandoned abandoned = Abandoned::kRemove;
  /// Where the files of published containers are; "": none can be published. open_agent sets it.
  std::string assigned_dir;
  checkpoint::LockWait lock_wait;
  CgroupsOpener open_cgroups;  ///< empty: enforce::open_cgroups
  KnobsOpener open_knobs;      ///< empty: quiet::kernel_knobs of this machine
  LogSink log;                 ///< empty: no log
  /// The clock for measurements; empty: the steady clock.
  std::function<std::chrono::steady_clock::time_point()> now;
};

}  // namespace pinfold::agent
