#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "pinfold/base/result.hpp"
#include "pinfold/base/unique_fd.hpp"

namespace pinfold::quiet {

/// Small files of the kernel that are read and written repeatedly, such as those of hundreds of
/// interrupts and network queues: opening and closing one costs several times as much as reading or
/// writing it. Keeps them open, as far as half of the process's limit of descriptors allows. Opens
/// one that fails again: the kernel removes the file of an interrupt that ends, and another
/// interrupt can get its number.
class OpenFiles {
 public:
  OpenFiles();

  /// Does the same as read_value.
  [[nodiscard]] Result<std::string> read(const std::string& path);
  /// Does the same as write_value.
  [[nodiscard]] Result<void> write(const std::string& path, std::string_view value);

 private:
  [[nodiscard]] int descriptor_of(const std::string& path);

  std::size_t most_ = 0;
  std::unordered_map<std::string, UniqueFd> files_;
};

}  // namespace pinfold::quiet
