#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/harness/session.hpp"

namespace pinfold::harness {

/// A guest whose state was saved when a step of its scenario had failed.
struct KeptGuest {
  std::string name;     ///< of the scenario on its platform: "drift on debian-6.1/v2"
  std::string message;  ///< "step 3 (offline 7): ..."
  std::vector<std::string> command;
  std::filesystem::path folder;  ///< with the state and the files of the command
};

/// Saves the state of a machine, which then continues, with hard links to its kernel and initramfs;
/// replaces what was kept of the same scenario on the same platform.
/// Errors: kIo; then nothing is kept.
[[nodiscard]] Result<void> keep_guest(Session& session, const ScenarioResult& result);

/// All that are kept, by name; those that cannot be read are left out.
[[nodiscard]] std::vector<KeptGuest> kept_guests();

/// Reads what describes a kept guest. Errors: kInvalidArgument with the field.
[[nodiscard]] Result<KeptGuest> parse_kept_guest(std::string_view text);

/// Starts a kept guest from its state; the state is kept. Errors: kCorrupt, kIo.
[[nodiscard]] Result<Session> open_kept_guest(const KeptGuest& guest, int interrupt_fd);

}  // namespace pinfold::harness
