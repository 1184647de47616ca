#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "pinfold/base/result.hpp"
#include "pinfold/base/unique_fd.hpp"

namespace pinfold::quiet {

/// Small files of the kernel that are read and written repeatedly, such as those of hundreds of
/// interrupts: opening and closing one costs several times as much as reading or writing it. Keeps
/// them open, as far as half of the process's limit of descriptors allows. Opens one that fails
/// again: the kernel removes the file of an interrupt that ends, and another interrupt can get its
/// number.
class OpenFiles {
 public:
  /// For the files DIRECTORY/NAME/FILE.
  OpenFiles(std::string directory, std::string_view file);

  /// Does the same as read_value.
  [[nodiscard]] Result<std::string> read(const std::string& name);
  /// Does the same as write_value.
  [[nodiscard]] Result<void> write(const std::string& name, std::string_view value);

 private:
  [[nodiscard]] std::string path_of(const std::string& name) const;
  [[nodiscard]] int descriptor_of(const std::string& name);

  std::string directory_;
  std::string file_;
  std::size_t most_ = 0;
  std::unordered_map<std::string, UniqueFd> files_;
};

}  // namespace pinfold::quiet
