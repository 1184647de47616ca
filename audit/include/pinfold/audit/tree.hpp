#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/base/unique_fd.hpp"

namespace pinfold::audit {

/// The owner and mode of a file.
struct FileStatus {
  uid_t owner = 0;
  mode_t mode = 0;  ///< type and permissions, as in stat(2)

  friend bool operator==(const FileStatus&, const FileStatus&) = default;
};

/// The files of a node below a root: "/" is this machine, any other directory a captured tree or
/// another machine's file system. Only reads. Paths are absolute as the node sees them; a symbolic
/// link never leads out of the root. Opens only regular files and directories, so reading neither
/// blocks nor has side effects.
/// Thread-safety: const is safe.
class Tree {
 public:
  /// Opens a root. Errors: kNotFound, kIo.
  [[nodiscard]] static Result<Tree> open(const std::string& root);

  /// Returns "" for "/", so that a path of the node can be appended.
  [[nodiscard]] const std::string& root() const { return root_; }
  /// Returns the path as seen from this machine, for messages and commands.
  [[nodiscard]] std::string shown(const std::string& path) const { return root_ + path; }

  static constexpr std::size_t kMaxBytes = std::size_t{16} << 20U;
  /// Reads the whole file without white space at the end.
  /// Errors: kNotFound, kIo; kInvalidArgument for more than kMaxBytes or another type of file;
  /// kUnsupported for a root other than "/" on a kernel before 5.6, which cannot confine symbolic
  /// links to it.
  [[nodiscard]] Result<std::string> read(const std::string& path) const;
  /// Reads the whole file, unchanged.
  [[nodiscard]] Result<std::string> read_exactly(const std::string& path) const;
  /// Returns the names in a directory, sorted. Errors: as read.
  [[nodiscard]] Result<std::vector<std::string>> list(const std::string& path) const;
  /// Returns the names of the directories in a directory, sorted. Errors: as read.
  [[nodiscard]] Result<std::vector<std::string>> list_directories(const std::string& path) const;
  /// Returns the target of a symbolic link. Errors: as read.
  [[nodiscard]] Result<std::string> link(const std::string& path) const;
  /// Returns true if something exists at a path and can be reached.
  [[nodiscard]] bool has(const std::string& path) const;
  /// Returns the owner and mode of a file, or of a symbolic link itself. Errors: as read.
  [[nodiscard]] Result<FileStatus> status(const std::string& path) const;
  /// Returns true if this user may write the file, or create entries in the directory.
  [[nodiscard]] bool can_write(const std::string& path) const;

 private:
  Tree(std::string root, UniqueFd fd) : root_(std::move(root)), fd_(std::move(fd)) {}
  [[nodiscard]] Result<UniqueFd> open_below(const std::string& path, int flags) const;
  [[nodiscard]] Result<std::vector<std::string>> names(const std::string& path,
                                                       bool directories_only) const;

  std::string root_;
  UniqueFd fd_;
};

}  // namespace pinfold::audit
