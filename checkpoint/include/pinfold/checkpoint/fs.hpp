#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"

/// The only way from the store to the operating system.
namespace pinfold::checkpoint {

/// What is larger is not read. The state of the largest machine has a few MiB.
inline constexpr std::size_t kMaxStateFileBytes = std::size_t{16} << 20U;

/// A file that is being written. The destructor closes it; closing guarantees nothing.
class File {
 public:
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  virtual ~File() = default;

  /// Appends a part of the bytes, at least one, and returns how many.
  [[nodiscard]] virtual Result<std::size_t> write(std::string_view bytes) = 0;
  /// Makes room for `size` more bytes: zeros after what was written, which the next writes replace.
  /// A sync after such a write is cheaper, because the size of the file stays. Errors: some of the
  /// room may have been made.
  [[nodiscard]] virtual Result<void> reserve(std::size_t size) = 0;
  /// After success, what was written survives a power cut. After a failure the contents on disk are
  /// unknown, and another sync proves nothing: write a new file instead.
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

  /// The whole file; nullopt if it does not exist. Errors: also kInvalidArgument for anything but a
  /// regular file, and for one larger than kMaxStateFileBytes.
  [[nodiscard]] virtual Result<std::optional<std::string>> read(const std::string& name) = 0;
  /// All names, unordered.
  [[nodiscard]] virtual Result<std::vector<std::string>> list() = 0;
  /// Creates a new file for writing. An existing one is removed first, not truncated: it can have
  /// another name too.
  [[nodiscard]] virtual Result<std::unique_ptr<File>> create(const std::string& name) = 0;
  /// Replaces `to` if that exists.
  [[nodiscard]] virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  /// Succeeds also if the file does not exist.
  [[nodiscard]] virtual Result<void> remove(const std::string& name) = 0;
  /// After success, the creation, renaming and removal of files survive a power cut.
  [[nodiscard]] virtual Result<void> sync_directory() = 0;
};

/// A directory of the machine; it must exist. Files are created with mode 0600.
[[nodiscard]] Result<std::unique_ptr<Fs>> open_directory(const std::string& path);

/// Whether opening a state directory checks who can change it. kOff is for tests.
enum class OwnerCheck { kOn, kOff };
[[nodiscard]] constexpr OwnerCheck owner_check(bool is_insecure) {
  return is_insecure ? OwnerCheck::kOff : OwnerCheck::kOn;
}
/// The same for a state directory. The kubelet's and Pinfold's files in it must be regular files.
/// With kOn they and the directory must belong to root or the caller and not be writable by group
/// or others, and nobody else may be able to replace the directory: docs/operations.md.
/// Errors: also kInvalidArgument, with the command that mends it.
[[nodiscard]] Result<std::unique_ptr<Fs>> open_state_directory(const std::string& path,
                                                               OwnerCheck owners);
/// Makes a directory with mode 0700, and what is missing above it with mode 0755, without the bits
/// of the umask. An existing directory stays as it is. Errors: kIo.
[[nodiscard]] Result<void> make_state_directory(const std::string& path);
/// A directory that does not exist: it has no files, and writing one fails.
[[nodiscard]] std::unique_ptr<Fs> absent_directory(std::string path);

}  // namespace pinfold::checkpoint
