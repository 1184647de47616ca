#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/harness/image.hpp"
#include "pinfold/harness/run.hpp"
#include "pinfold/harness/vm.hpp"

namespace pinfold::harness {

/// A directory that is removed with the object. A later run removes what a killed one has left.
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
  UniqueFd lock_;  ///< held while we live: a folder without a holder may be swept
};

/// Removes what runs that were killed have left. Returns how many folders.
int sweep_temporary_folders();

/// A running machine whose hardware is as requested.
struct Session {
  TemporaryFolder folder;
  Vm vm;
};

/// Boots the machine of a scenario or restores it, and fills in `result` on the way. Nothing if
/// that fails: then result.verdict says why.
[[nodiscard]] std::optional<Session> open_session(const Scenario& scenario,
                                                  const RunOptions& options,
                                                  ScenarioResult& result);

}  // namespace pinfold::harness
