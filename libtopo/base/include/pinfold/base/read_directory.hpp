#pragma once

#include <optional>
#include <string>
#include <vector>

namespace pinfold {

/// An entry of a directory.
struct DirectoryEntry {
  std::string name;
  unsigned char type = 0;  ///< DT_DIR and the like; DT_UNKNOWN if the file system does not say
};

/// Returns the entries of a directory, without "." and "..", unordered. `fd` is open for reading
/// and has not been read. Takes four system calls fewer than fdopendir(). Errors: nullopt, with the
/// reason in errno.
[[nodiscard]] std::optional<std::vector<DirectoryEntry>> read_directory(int fd);

}  // namespace pinfold
