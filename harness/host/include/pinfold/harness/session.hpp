#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/harness/image.hpp"
#include "pinfold/harness/run.hpp"
#include "pinfold/harness/vm.hpp"

namespace pinfold::harness {

/// A directory that is removed together with the object. If the process is killed, a later run
/// removes it.
class TemporaryFolder {
 public:
  [[nodiscard]] static Result<TemporaryFolder> make();
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept;
  ~TemporaryFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  TemporaryFolder() = default;

  std::filesystem::path path_;
  UniqueFd lock_;  ///< held for the object's lifetime: unlocked directories may be swept
};

/// Removes the directories of killed runs. Returns their number.
int sweep_temporary_folders();

/// How to start a machine, once its kernel and initramfs exist.
struct Launch {
  std::vector<std::string> command;       ///< of QEMU
  std::string snapshot_key;               ///< of the machine just after booting
  std::shared_ptr<const GuestLoad> load;  ///< what is loaded into it then
};

/// A running machine whose hardware was verified.
struct Session {
  TemporaryFolder folder;
  UniqueFd load_file;  ///< the memory that host and guest share
  Vm vm;
  Launch launch;
};

/// A guest that scenarios on the same machine share, one after the other.
struct SharedGuest {
  std::optional<Session> session;  ///< in the state after the last scenario
  bool is_wanted = false;          ///< by a scenario after the next one
};

/// Returns true if both scenarios can use the same guest: equal machine, kernel, runtime, programs
/// and modules.
[[nodiscard]] bool have_same_guest(const Scenario& one, const Scenario& other);
/// Returns false if a scenario changes its guest in a way that only a snapshot can undo.
[[nodiscard]] bool can_share_guest(const Scenario& scenario);

/// Resets the shared guest, or restores or boots the machine of a scenario; fills in `result`.
/// Returns nullopt on failure; result.verdict then has the reason.
[[nodiscard]] std::optional<Session> open_session(const Scenario& scenario,
                                                  const RunOptions& options, SharedGuest& shared,
                                                  ScenarioResult& result);

/// Opens the machine of a scenario after the steps before number `step`. Their state is saved, so
/// that they need not run again the next time, unless one of them plugs hardware in.
/// Domain: 1 <= step <= number of steps.
[[nodiscard]] std::optional<Session> open_session_at(const Scenario& scenario, std::size_t step,
                                                     const RunOptions& options,
                                                     ScenarioResult& result);

/// Starts QEMU from a snapshot and resumes the machine.
[[nodiscard]] VmResult<Session> restore_machine(const Launch& launch,
                                                const std::filesystem::path& snapshot,
                                                int interrupt_fd, Milliseconds limit);

/// Returns true if one of the first `count` steps plugs hardware in: QEMU cannot restore such a
/// machine.
[[nodiscard]] bool plugs_hardware(const Scenario& scenario, std::size_t count);

}  // namespace pinfold::harness
