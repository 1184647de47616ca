#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/checkpoint/fs.hpp"
#include "pinfold/enforce/cgroup_fs.hpp"
#include "world.hpp"

/// What a process of the service can do to the disk and to the kernel.
namespace pinfold::world {

/// Thrown by the operation before which a process is killed.
struct Killed {};

/// Something that a process is about to change.
struct Operation {
  bool is_on_disk = false;
  std::string text;       ///< "rename to cpu_manager_state", "write podp1/a cpuset.cpus 1-2"
  std::string group;      ///< in the kernel, from the top of the hierarchy
  std::string file = {};  ///< that is written in the kernel
};

/// A process of the service. After its end its objects still exist and are destroyed, but nothing
/// that they do has an effect.
struct Process {
  bool is_dead = false;
  /// Destructors run: a kill ends the process, but throws nothing.
  bool is_ending = false;
  /// Of Bug::kEarlyLock: it stops, and what it removes it removes later, by `late`.
  bool is_leaving = false;
  std::vector<std::function<void()>> late = {};
  /// Called before each operation. Returns the errno with which it fails; 0: it is done.
  std::function<int(const Operation&)> before;
  /// Called before each reading. Returns the errno with which it fails; 0: it is done.
  std::function<int()> before_reading;
  /// Called after each operation: in the kernel, if it has succeeded.
  std::function<void(const Operation&)> after;
  Bug bug = Bug::kNone;
  /// With what the disk fails now: it knows what a failed write leaves behind.
  int disk_error = 0;

  /// Of Bug::kReplayedJournal: the last journal that was removed, also by an earlier process.
  std::string* settled_journal = nullptr;
  /// Of Bug::kOldValues: by "GROUP FILE".
  std::map<std::string, std::string> known_values = {};
  /// Of Bug::kGrantFirst: the write that waits for the next one.
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

/// A directory as a process sees it.
[[nodiscard]] std::unique_ptr<checkpoint::Fs> fs_of(std::shared_ptr<Process> process,
                                                    std::unique_ptr<checkpoint::Fs> fs);
/// The same for control groups; `below`: where `fs` begins.
[[nodiscard]] std::unique_ptr<enforce::CgroupFs> fs_of(std::shared_ptr<Process> process,
                                                       std::unique_ptr<enforce::CgroupFs> fs,
                                                       std::string below);

}  // namespace pinfold::world
