#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/enforce/mounts.hpp"
#include "pinfold/types/cpuset.hpp"

/// What happens in a world, as text that people read and change.
namespace pinfold::world {

/// What goes wrong before operation `at` of an action, counted from 0. Operations are what the
/// service changes on the disk or in the kernel. What is left when the service was killed happens
/// while it starts again, or not at all.
struct Fault {
  enum class Kind {
    kKill,        ///< the service is killed
    kCut,         ///< the power fails; `choice`: what the disk has afterwards
    kError,       ///< the operation fails with EIO
    kFull,        ///< it and all later ones of the action that need space on the disk fail
    kRewrite,     ///< another writer changes a cpuset; `choice`: which, and to what
    kOffline,     ///< CPU `choice` goes offline
    kClock,       ///< the clock jumps by `choice` seconds, also back
    kUnreadable,  ///< not an operation but the service's reading number `at` fails with EIO
    kRuntime,     ///< the runtime is killed in its call, and starts again
  };
  Kind kind = Kind::kKill;
  int at = 0;
  int choice = 0;

  friend bool operator==(const Fault&, const Fault&) = default;
};

/// "kill"
[[nodiscard]] std::string_view name_of(Fault::Kind kind);
using Faults = std::vector<Fault>;

/// One thing that somebody does. An action that does not apply (a pod that was never admitted) does
/// nothing, or is answered with an error, so that any part of a history is a history.
struct Action {
  enum class Kind {
    kAdmit,       ///< a client admits pod `pod` of shape `value`
    kStart,       ///< a client starts container `value` of a pod, and a process runs in it
    kExit,        ///< the processes of that container end
    kRemove,      ///< a client removes a pod without processes
    kKill,        ///< a client removes a pod, and its processes are killed
    kDrop,        ///< a client removes container `value` of a pod
    kReconcile,   ///< a client asks for a reconciliation
    kSettle,      ///< a client asks for the state files to be brought up to date
    kConfigure,   ///< a client changes the configuration to number `value`
    kUndo,        ///< a client takes the last reconfiguration back
    kDefragment,  ///< a client makes room for pod `pod` of shape `value`
    kWait,        ///< `value` seconds pass
    kRestart,     ///< the service stops and starts
    kRewrite,     ///< another writer changes a cpuset; `value`: which, and to what
    kReset,       ///< another writer resets every cpuset below the root, as systemd does
    kStranger,    ///< a group of another with a process is made below the root, or removed
    kOffline,     ///< CPU `value` goes offline
    kOnline,      ///< all CPUs come online
    /// A runtime runs the sandbox of pod `pod` of shape `value`; 100 more: of a runtime class that
    /// makes no group for each container.
    kSandbox,
    kCreate,      ///< it creates container `value` of a pod
    kBegin,       ///< it starts that container
    kStop,        ///< that container ends
    kUnsandbox,   ///< it stops and removes a pod
    kConnect,     ///< the runtime restarts, and the plugin connects again
    kMove,        ///< a container's process is moved out of Pinfold's groups; `value`: which
    kReuse,       ///< it ends, and a process of another has its number
    kDown,        ///< the service stops, and stays so
    kUp,          ///< it starts
    kHookCreate,  ///< a runtime runs the OCI hook for a new container: see Hooked
    kHookDelete,  ///< the same after container `value` of a pod has ended
    kNarrow,      ///< an agent narrows groups of the kubelet: see Narrowed
    kWiden,       ///< it gives back what it has taken
    kSoft,        ///< it sets what makes later writes fail: see SoftTrouble
    kNest,   ///< container `value` of a pod makes groups in its own, or removes them: see Nested
    kQuiet,  ///< no faults for a while: everything must be as it should be
  };
  Kind kind = Kind::kWait;
  int pod = 0;
  int value = 0;
  bool is_queued = false;  ///< a client's request waits for the next action's
  Faults faults = {};

  friend bool operator==(const Action&, const Action&) = default;
};

/// What `value` of kHookCreate says.
struct Hooked {
  int container = 0;
  int shape = 0;           ///< of the pod
  bool has_ended = false;  ///< the container's process ends while the hook runs
  int spelling = 0;        ///< how the directory of the group is spelt: see spell()
  bool is_second = false;  ///< the group is another container's, which runs: it must be refused

  [[nodiscard]] static Hooked of(int value) {
    constexpr int kShapes = 9;
    const int rest = value / 2 / kShapes / 2;
    return {value % 2, value / 2 % kShapes, value / 2 / kShapes % 2 == 1, rest % kSpellings,
            rest / kSpellings % 2 == 1};
  }
  static constexpr int kSpellings = 6;
};

/// What `value` of kNarrow says.
struct Narrowed {
  /// kBestEffort: with all groups below it, as koordinator does.
  enum class Which { kBestEffort, kBurstable, kPod };
  Which which = Which::kBestEffort;
  CpuSet cpus;

  [[nodiscard]] static Narrowed of(int value);
};

/// What `value` of kSoft says: which file of a container's or a pod's group cannot be written.
struct SoftTrouble {
  enum class What {
    kIdle,     ///< cpu.idle is 1: so neither cpu.weight nor cpu.shares can be written
    kPodIdle,  ///< the same of the pod's group
    kMemory,   ///< cgroup v1: a limit was taken away, and the container uses more than it
    kNothing,  ///< the container's group is as before
  };
  int container = 0;
  What what = What::kIdle;

  [[nodiscard]] static SoftTrouble of(int value) {
    return {value % 2, static_cast<What>(value / 2 % 4)};
  }
};

/// What `value` of kNest says.
struct Nested {
  enum class How {
    kOne,    ///< a group with the container's cpuset
    kInner,  ///< one in one, each with a cpuset of its own
    kTwo,    ///< two that share its CPUs
  };
  int container = 0;
  How how = How::kOne;

  [[nodiscard]] static Nested of(int value) { return {value % 2, static_cast<How>(value / 2 % 3)}; }
};

/// "admit 3 2 queued ! kill 7 ! offline 9 1"
[[nodiscard]] std::string to_string(const Action& action);

struct History {
  enforce::CgroupVersion cgroups = enforce::CgroupVersion::kV2;
  int config = 0;            ///< the number of the configuration at the beginning
  bool has_runtime = false;  ///< the service is the plugin of a runtime
  /// The service can tell processes from each other, as in /proc. Only without a runtime.
  bool has_processes = false;
  std::vector<Action> actions;

  friend bool operator==(const History&, const History&) = default;
};

/// One line for the settings, and one for each action.
[[nodiscard]] std::string to_string(const History& history);
/// The same text back; lines that begin with '#' are comments. Errors: kInvalidArgument with the
/// line's number.
[[nodiscard]] Result<History> parse_history(std::string_view text);

/// A history of so many actions.
[[nodiscard]] History generate(std::uint64_t seed, int actions);

/// An hour of a node with 30 ordinary pods that come and go, a docker in docker, pods of a runtime
/// class without container groups, pods with exclusive CPUs, and an agent that narrows best-effort
/// pods, makes them idle and gives back. Nothing of it is a fault.
[[nodiscard]] History busy_node(std::uint64_t seed, enforce::CgroupVersion cgroups);

}  // namespace pinfold::world
