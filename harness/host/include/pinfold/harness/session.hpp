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

/// A directory that is removed with the object. If the process is killed, a later run removes it.
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

/// Removes the directories of killed runs. Returns how many.
int sweep_temporary_folders();

/// A running machine whose hardware was verified.
struct Session {
  TemporaryFolder folder;
  Vm vm;
};

/// Boots or restores the machine of a scenario and fills in `result`. Returns nullopt on failure;
/// result.verdict then has the reason.
[[nodiscard]] std::optional<Session> open_session(const Scenario& scenario,
                                                  const RunOptions& options,
                                                  ScenarioResult& result);

}  // namespace pinfold::harness
