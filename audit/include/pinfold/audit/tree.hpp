#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/base/unique_fd.hpp"

namespace pinfold::audit {

/// What the file system says about a file.
struct FileStatus {
  uid_t owner = 0;
  mode_t mode = 0;  ///< kind and permissions, as stat(2) has them

  friend bool operator==(const FileStatus&, const FileStatus&) = default;
};

/// The files of a node below a root: "/" is this machine, any other directory a captured tree or
/// another machine's file system. Only reads. Paths are absolute as the node sees them; a symbolic
/// link never leaves the root. Opens nothing but regular files and directories, so that reading
/// neither blocks nor has an effect.
/// Thread-safety: const is safe.
class Tree {
 public:
  /// Errors: kNotFound, kIo.
  [[nodiscard]] static Result<Tree> open(const std::string& root);

  /// "" for "/", so that a path of the node can follow.
  [[nodiscard]] const std::string& root() const { return root_; }
  /// The path as a user of this machine reaches it, for messages and commands.
  [[nodiscard]] std::string shown(const std::string& path) const { return root_ + path; }

  static constexpr std::size_t kMaxBytes = std::size_t{16} << 20U;
  /// The whole file without white space at its end.
  /// Errors: kNotFound, kIo; kInvalidArgument for more than kMaxBytes or another kind of file;
  /// kUnsupported for a tree on a kernel before 5.6, which cannot keep links inside a root.
  [[nodiscard]] Result<std::string> read(const std::string& path) const;
  /// The whole file, unchanged.
  [[nodiscard]] Result<std::string> read_exactly(const std::string& path) const;
  /// The names in a directory, sorted. Errors: as read.
  [[nodiscard]] Result<std::vector<std::string>> list(const std::string& path) const;
  /// The names of directories in a directory, sorted. Errors: as read.
  [[nodiscard]] Result<std::vector<std::string>> list_directories(const std::string& path) const;
  /// What a symbolic link contains. Errors: as read.
  [[nodiscard]] Result<std::string> link(const std::string& path) const;
  /// Whether something is at a path, and can be reached.
  [[nodiscard]] bool has(const std::string& path) const;
  /// Whose a file is, and of which kind; of a symbolic link itself. Errors: as read.
  [[nodiscard]] Result<FileStatus> status(const std::string& path) const;
  /// Whether this user may write a file or make entries in a directory.
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
