#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fake_knobs.hpp"
#include "pinfold/checkpoint/fs.hpp"
#include "pinfold/enforce/cgroup_fs.hpp"
#include "world.hpp"

/// Everything that a process of the service can do to the disk and to the kernel.
namespace pinfold::world {

/// Thrown by the operation before which a process is killed.
struct Killed {};

/// A change that a process is about to make.
struct Operation {
  bool is_on_disk = false;
  std::string text;       ///< "rename to cpu_manager_state", "write podp1/a cpuset.cpus 1-2"
  std::string group;      ///< in the kernel, from the top of the hierarchy
  std::string file = {};  ///< the file that is written in the kernel
};

/// A process of the service. After its end its objects still exist and are destroyed, but nothing
/// they do has any effect.
struct Process {
  bool is_dead = false;
  /// True while destructors run: a kill then ends the process without throwing.
  bool is_ending = false;
  /// For Bug::kEarlyLock: the service is stopping, and its removals are deferred to `late`.
  bool is_leaving = false;
  std::vector<std::function<void()>> late = {};
  /// Called before each operation. Returns the errno with which it fails; 0: it is done.
  std::function<int(const Operation&)> before;
  /// Called before each read. Returns the errno with which it fails; 0: it is done.
  std::function<int()> before_reading;
  /// Called after each operation; in the kernel only if it succeeded.
  std::function<void(const Operation&)> after;
  Bug bug = Bug::kNone;
  /// The current error of the disk, which simulates what a failed write leaves behind.
  int disk_error = 0;

  /// For Bug::kReplayedJournal: the last journal that was removed, also by an earlier process.
  std::string* settled_journal = nullptr;
  /// For Bug::kOldValues: values by "GROUP FILE".
  std::map<std::string, std::string> known_values = {};
  /// For Bug::kGrantFirst: a write that waits for the next one.
  struct Held {
    std::string group;
    std::string value;
    std::function<void()> write;
  };
  std::optional<Held> held = std::nullopt;

  void kill() {
    is_dead = true;
    if (!is_ending) throw Killed();
  }
};

/// Wraps a directory for a process.
[[nodiscard]] std::unique_ptr<checkpoint::Fs> fs_of(std::shared_ptr<Process> process,
                                                    std::unique_ptr<checkpoint::Fs> fs);
/// Wraps control groups for a process; `below`: the group at which `fs` begins.
[[nodiscard]] std::unique_ptr<enforce::CgroupFs> fs_of(std::shared_ptr<Process> process,
                                                       std::unique_ptr<enforce::CgroupFs> fs,
                                                       std::string below);

/// Returns the knobs of a machine for a process. They live as long as the machine.
[[nodiscard]] std::unique_ptr<quiet::KnobStore> knobs_of(std::shared_ptr<Process> process,
                                                         test::KnobWorld& world);

}  // namespace pinfold::world
