#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/guest_session.hpp"
#include "pinfold/harness/scenario_result.hpp"

namespace pinfold::harness {

/// A guest whose state was saved after a step of its scenario failed.
struct KeptGuest {
  std::string name;     ///< scenario and platform: "drift on debian-6.1/v2"
  std::string message;  ///< "step 3 (offline 7): ..."
  std::vector<std::string> command;
  std::filesystem::path folder;  ///< contains the state and the files of the command
};

/// Saves the state of a machine, which keeps running, with hard links to its kernel and initramfs.
/// Replaces the guest kept for the same scenario and platform.
/// Errors: kIo; then nothing is kept.
[[nodiscard]] Result<void> keep_guest(GuestSession& session, const ScenarioResult& result);

/// Returns all kept guests, by name; skips those that cannot be read.
[[nodiscard]] std::vector<KeptGuest> kept_guests();

/// Parses the description of a kept guest. Errors: kInvalidArgument, naming the field.
[[nodiscard]] Result<KeptGuest> parse_kept_guest(std::string_view text);

/// Starts a kept guest from its state, which stays on disk. Errors: kCorrupt, kIo.
[[nodiscard]] Result<GuestSession> open_kept_guest(const KeptGuest& guest, int interrupt_fd);

}  // namespace pinfold::harness
