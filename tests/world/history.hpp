#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/enforce/mounts.hpp"
#include "pinfold/gate/container.hpp"
#include "pinfold/types/cpuset.hpp"

/// What happens in a world, as text that people can read and change.
namespace pinfold::world {

/// A fault that strikes before operation `at` of an action, counted from 0. Operations are the
/// service's changes on the disk or in the kernel. Faults that are left when the service is killed
/// strike while it starts again, or never.
struct Fault {
  enum class Kind {
    kKill,        ///< the service is killed
    kCut,         ///< the power fails; `choice`: what is on the disk afterwards
    kError,       ///< the operation fails with EIO
    kFull,        ///< this and later operations of the action fail if they need space
    kRewrite,     ///< another program changes a cpuset; `choice`: which, and to what
    kOffline,     ///< CPU `choice` goes offline
    kClock,       ///< the clock jumps by `choice` seconds, forwards or backwards
    kUnreadable,  ///< not an operation: the service's read number `at` fails with EIO
    kRuntime,     ///< the runtime is killed during its call, and starts again
    kGate,        ///< the barrier of a container is killed
    kSilent,      ///< the service's next answer to it does not arrive before its time limit
  };
  Kind kind = Kind::kKill;
  int at = 0;
  int choice = 0;

  friend bool operator==(const Fault&, const Fault&) = default;
};

/// Returns "kill".
[[nodiscard]] std::string_view name_of(Fault::Kind kind);
using Faults = std::vector<Fault>;

/// One event in a history. An action that does not apply (a pod that was never admitted) does
/// nothing or is answered with an error, so any part of a history is a history too.
struct Action {
  enum class Kind {
    kAdmit,       ///< a client admits pod `pod` of shape `value`
    kStart,       ///< a client starts container `value` of a pod, and a process runs in it
    kExit,        ///< the processes of that container exit
    kRemove,      ///< a client removes a pod that has no processes
    kKill,        ///< a client removes a pod and has its processes killed
    kDrop,        ///< a client removes container `value` of a pod
    kResize,      ///< a client resizes a container of a pod: see Resizing
    kReconcile,   ///< a client asks for a reconciliation
    kSettle,      ///< a client asks to bring the state files up to date
    kConfigure,   ///< a client changes the configuration to number `value`
    kUndo,        ///< a client undoes the last reconfiguration
    kDefragment,  ///< a client makes room for pod `pod` of shape `value`
    kWait,        ///< `value` seconds pass
    kRestart,     ///< the service stops and starts
    kRewrite,     ///< another program changes a cpuset; `value`: which, and to what
    kReset,       ///< another program resets every cpuset below the root, as systemd does
    kStranger,    ///< a foreign group with a process appears below the root, or is removed
    kOffline,     ///< CPU `value` goes offline
    kOnline,      ///< all CPUs come online
    /// A runtime runs the sandbox of pod `pod` of shape `value`; 100 more means a runtime class
    /// that makes no group for each container.
    kSandbox,
    kCreate,      ///< it creates container `value` of a pod
    kBegin,       ///< it starts that container
    kStop,        ///< that container ends
    kUnsandbox,   ///< it stops and removes a pod
    kConnect,     ///< the runtime restarts, and the plugin connects again
    kMove,        ///< a container's process is moved out of Pinfold's groups; `value`: which
    kReuse,       ///< a process ends, and its number is reused elsewhere
    kDown,        ///< the service stops and stays down
    kUp,          ///< the service starts
    kHookCreate,  ///< a runtime runs the OCI hook for a new container: see Hooked
    kHookDelete,  ///< the same, after container `value` of a pod has ended
    kNarrow,      ///< another agent narrows groups of the kubelet: see Narrowed
    kWiden,       ///< it restores what it narrowed
    kSoft,        ///< it sets values that make later writes fail: see SoftTrouble
    kNest,        ///< container `value` of a pod makes groups inside its own, or removes them: see
                  ///< Nested
    kQuiet,       ///< no faults for a while: everything must be as desired
  };
  Kind kind = Kind::kWait;
  int pod = 0;
  int value = 0;
  bool is_queued = false;  ///< a client's request waits for that of the next action
  Faults faults = {};

  friend bool operator==(const Action&, const Action&) = default;
};

/// The meaning of `value` for kHookCreate.
struct Hooked {
  int container = 0;
  int shape = 0;           ///< of the pod
  bool has_ended = false;  ///< the container's process ends while the hook runs
  int spelling = 0;        ///< how the directory of the group is spelled: see spell()
  bool is_second = false;  ///< the group of another running container: must be refused
  bool is_early = false;   ///< the container has no process until it is admitted

  [[nodiscard]] static Hooked of(int value) {
    constexpr int kShapes = 9;
    const int rest = value / 2 / kShapes / 2;
    return {value % 2,         value / 2 % kShapes,        value / 2 / kShapes % 2 == 1,
            rest % kSpellings, rest / kSpellings % 2 == 1, rest / kSpellings / 2 % 2 == 1};
  }
  static constexpr int kSpellings = 6;
};

/// The meaning of `value` for kResize.
struct Resizing {
  int container = 0;
  int cpus = 1;

  [[nodiscard]] static Resizing of(int value) { return {value % 2, 1 + value / 2 % kMostCpus}; }
  static constexpr int kMostCpus = 6;
};

/// The meaning of `value` for kNarrow.
struct Narrowed {
  /// kBestEffort: including all groups below, as koordinator does.
  enum class Which { kBestEffort, kBurstable, kPod };
  Which which = Which::kBestEffort;
  CpuSet cpus;

  [[nodiscard]] static Narrowed of(int value);
};

/// The meaning of `value` for kSoft: which file of a container's or pod's group cannot be written.
struct SoftTrouble {
  enum class What {
    kIdle,     ///< cpu.idle is 1, so neither cpu.weight nor cpu.shares can be written
    kPodIdle,  ///< the same for the pod's group
    kMemory,   ///< cgroup v1: a limit was removed, and the container uses more than it
    kNothing,  ///< the container's group is back to normal
  };
  int container = 0;
  What what = What::kIdle;

  [[nodiscard]] static SoftTrouble of(int value) {
    return {value % 2, static_cast<What>(value / 2 % 4)};
  }
};

/// The meaning of `value` for kNest.
struct Nested {
  enum class How {
    kOne,    ///< a group with the container's cpuset
    kInner,  ///< one inside another, each with its own cpuset
    kTwo,    ///< two that divide its CPUs
  };
  int container = 0;
  How how = How::kOne;

  [[nodiscard]] static Nested of(int value) { return {value % 2, static_cast<How>(value / 2 % 3)}; }
};

/// Returns "admit 3 2 queued ! kill 7 ! offline 9 1".
[[nodiscard]] std::string to_string(const Action& action);

struct History {
  enforce::CgroupVersion cgroups = enforce::CgroupVersion::kV2;
  int config = 0;            ///< the number of the initial configuration
  bool has_runtime = false;  ///< the service is the plugin of a runtime
  /// What the barrier of that runtime does with an unplaced container; nullopt: there is none.
  std::optional<gate::Unplaced> unplaced = std::nullopt;
  /// True if the service can tell processes apart, as in /proc. Only without a runtime.
  bool has_processes = false;
  /// Exclusive CPUs are quiet, and another program writes interrupts and workqueues to undo that.
  bool has_knobs = false;
  std::vector<Action> actions;

  friend bool operator==(const History&, const History&) = default;
};

/// Returns one line for the settings and one for each action.
[[nodiscard]] std::string to_string(const History& history);
/// Parses that text; lines that begin with '#' are comments. Errors: kInvalidArgument, with the
/// line number.
[[nodiscard]] Result<History> parse_history(std::string_view text);

/// Generates a history with this many actions.
[[nodiscard]] History generate(std::uint64_t seed, int actions);

/// Generates a history of containers that start at a barrier, most of them with a fault.
[[nodiscard]] History barrier_starts(std::uint64_t seed, int actions);

/// Generates an hour of a node with 30 ordinary pods that come and go, a docker in docker, pods of
/// a runtime class without container groups, pods with exclusive CPUs, and an agent that narrows
/// best-effort pods, makes them idle and restores them. It contains no faults.
[[nodiscard]] History busy_node(std::uint64_t seed, enforce::CgroupVersion cgroups);

}  // namespace pinfold::world
