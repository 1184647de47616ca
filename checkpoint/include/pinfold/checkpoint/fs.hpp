#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"

/// The one seam between the store and the operating system.
namespace pinfold::checkpoint {

/// A file that is being written. Closed when destroyed; closing promises nothing.
class File {
 public:
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  virtual ~File() = default;

  /// Appends; may take fewer bytes than given, but at least one.
  [[nodiscard]] virtual Result<std::size_t> write(std::string_view bytes) = 0;
  /// What was written survives a power cut once this succeeds. After a failure nothing is known
  /// about the contents: write another file instead.
  [[nodiscard]] virtual Result<void> sync() = 0;
};

/// One directory. Names are plain file names. Errors: kIo or kNotFound with the system's number;
/// every message names the file.
class Fs {
 public:
  Fs() = default;
  Fs(const Fs&) = delete;
  Fs& operator=(const Fs&) = delete;
  virtual ~Fs() = default;

  /// The whole file; nullopt if there is none.
  [[nodiscard]] virtual Result<std::optional<std::string>> read(const std::string& name) = 0;
  /// All names, in no order.
  [[nodiscard]] virtual Result<std::vector<std::string>> list() = 0;
  /// Opens an empty file for writing, new or truncated.
  [[nodiscard]] virtual Result<std::unique_ptr<File>> create(const std::string& name) = 0;
  /// Replaces `to` if it exists.
  [[nodiscard]] virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  /// A file that does not exist is no error.
  [[nodiscard]] virtual Result<void> remove(const std::string& name) = 0;
  /// Names that were created, replaced or removed survive a power cut once this succeeds.
  [[nodiscard]] virtual Result<void> sync_directory() = 0;
};

/// A directory of the machine; it must exist. Files are created with mode 0600.
[[nodiscard]] Result<std::unique_ptr<Fs>> open_directory(const std::string& path);

}  // namespace pinfold::checkpoint
