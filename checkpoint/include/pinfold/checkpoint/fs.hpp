#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"

/// The store's only access to the operating system.
namespace pinfold::checkpoint {

/// Larger files are not read. The state of the largest machine takes a few MiB.
inline constexpr std::size_t kMaxStateFileBytes = std::size_t{16} << 20U;

/// A file being written. The destructor closes it, which guarantees nothing about durability.
class File {
 public:
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  virtual ~File() = default;

  /// Appends at least one of the bytes, perhaps not all, and returns how many.
  [[nodiscard]] virtual Result<std::size_t> write(std::string_view bytes) = 0;
  /// Reserves `size` more bytes: zeros after the written part, which later writes replace. This
  /// makes the sync after such a write cheaper, because the file size does not change. Errors: part
  /// of the space may have been reserved.
  [[nodiscard]] virtual Result<void> reserve(std::size_t size) = 0;
  /// On success, everything written survives a power cut. After a failure the contents on disk are
  /// unknown and another sync proves nothing: write a new file instead.
  [[nodiscard]] virtual Result<void> sync() = 0;
};

/// One directory. Names are plain file names. Errors: kIo or kNotFound with the errno; every
/// message names the file.
class Fs {
 public:
  Fs() = default;
  Fs(const Fs&) = delete;
  Fs& operator=(const Fs&) = delete;
  virtual ~Fs() = default;

  /// Reads the whole file; nullopt if it does not exist. Errors: also kInvalidArgument if it is not
  /// a regular file or is larger than kMaxStateFileBytes.
  [[nodiscard]] virtual Result<std::optional<std::string>> read(const std::string& name) = 0;
  /// Returns all names, unordered.
  [[nodiscard]] virtual Result<std::vector<std::string>> list() = 0;
  /// Creates a new file for writing. An existing file is removed, not truncated, because it can
  /// have another name (a hard link).
  [[nodiscard]] virtual Result<std::unique_ptr<File>> create(const std::string& name) = 0;
  /// Opens an existing file for writing after its first `size` bytes; the bytes after them stay
  /// until they are overwritten. Errors: also kUnsupported if the file is not regular or has
  /// another name.
  [[nodiscard]] virtual Result<std::unique_ptr<File>> reopen(const std::string& name,
                                                             std::size_t size) = 0;
  /// Renames a file, replacing `to` if it exists.
  [[nodiscard]] virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  /// Removes a file; succeeds if it does not exist.
  [[nodiscard]] virtual Result<void> remove(const std::string& name) = 0;
  /// On success, all earlier creations, renames and removals survive a power cut.
  [[nodiscard]] virtual Result<void> sync_directory() = 0;
};

/// Opens an existing directory of this machine. Files are created with mode 0600.
[[nodiscard]] Result<std::unique_ptr<Fs>> open_directory(const std::string& path);

/// How long an opening waits for the lock of a state directory.
inline constexpr std::chrono::milliseconds kLockTimeout{5000};
struct LockWait {
  std::chrono::milliseconds timeout = kLockTimeout;
  /// Ends the wait once it is not 0: a signal handler or another thread sets it. nullptr: nothing
  /// ends it.
  const volatile std::sig_atomic_t* interrupted = nullptr;
};

/// Whether opening a state directory checks who can change it. kOff is for tests.
enum class OwnerCheck { kOn, kOff };
[[nodiscard]] constexpr OwnerCheck owner_check(bool is_insecure) {
  return is_insecure ? OwnerCheck::kOff : OwnerCheck::kOn;
}
/// Opens a state directory. The kubelet's and Pinfold's files in it must be regular files. With kOn
/// they and the directory must belong to root or the caller and must not be writable by group or
/// others, and no other user may be able to replace the directory: docs/operations.md.
/// Errors: also kInvalidArgument, with the command that fixes it.
[[nodiscard]] Result<std::unique_ptr<Fs>> open_state_directory(const std::string& path,
                                                               OwnerCheck owners);
/// Opens a state directory to use only the files `names`: the others are not checked.
[[nodiscard]] Result<std::unique_ptr<Fs>> open_state_directory_of(
    const std::string& path, const std::vector<std::string>& names, OwnerCheck owners);
/// Creates a directory with mode 0700 and missing parents with mode 0755, both reduced by the
/// umask. An existing directory is not changed. Errors: kIo.
[[nodiscard]] Result<void> make_state_directory(const std::string& path);
/// Returns a directory that does not exist: it has no files, and writing one fails.
[[nodiscard]] std::unique_ptr<Fs> absent_directory(std::string path);

}  // namespace pinfold::checkpoint
