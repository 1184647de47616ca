#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/base/unique_fd.hpp"
#include "pinfold/harness/initramfs.hpp"
#include "pinfold/harness/scenario.hpp"
#include "pinfold/harness/temporary_folder.hpp"
#include "pinfold/harness/vm.hpp"

namespace pinfold::harness {

/// How to start a machine, once its kernel and initramfs exist.
struct Launch {
  std::vector<std::string> command;       ///< of QEMU
  std::string snapshot_key;               ///< of the machine just after booting
  std::shared_ptr<const GuestLoad> load;  ///< what is loaded into it then
};

/// A running machine whose hardware was verified.
struct GuestSession {
  TemporaryFolder folder;
  UniqueFd load_file;  ///< the memory that host and guest share
  Vm vm;
  Launch launch;
};

/// A guest that scenarios on the same machine share, one after the other.
struct SharedGuest {
  std::optional<GuestSession> session;  ///< in the state after the last scenario
  bool is_wanted = false;               ///< by a scenario after the current one
};

/// Returns true if both scenarios can use the same guest: equal machine, kernel, runtime, programs
/// and modules.
[[nodiscard]] bool have_same_guest(const Scenario& one, const Scenario& other);
/// Returns false if a scenario changes its guest in a way that only a snapshot can undo.
[[nodiscard]] bool can_share_guest(const Scenario& scenario);

/// Returns true if one of the first `count` steps plugs hardware in: QEMU cannot restore such a
/// machine.
[[nodiscard]] bool plugs_hardware(const Scenario& scenario, std::size_t count);

}  // namespace pinfold::harness
