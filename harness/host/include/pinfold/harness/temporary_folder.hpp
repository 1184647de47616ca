#pragma once

#include <filesystem>

#include "pinfold/base/result.hpp"
#include "pinfold/base/unique_fd.hpp"

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

}  // namespace pinfold::harness
