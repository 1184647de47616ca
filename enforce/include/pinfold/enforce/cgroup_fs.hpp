#pragma once

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"

namespace pinfold::enforce {

/// One cgroup hierarchy as a file system, for reading. `group` is a path relative to the opened
/// root of the hierarchy ("" is the root itself), `file` a file name in that group. Errors of all
/// functions: kIo or kNotFound, with errno.
class CgroupFiles {
 public:
  virtual ~CgroupFiles() = default;

  /// Returns the names of the direct child groups, sorted.
  [[nodiscard]] virtual Result<std::vector<std::string>> children(const std::string& group) = 0;
  /// Reads the whole file, without the trailing newline.
  [[nodiscard]] virtual Result<std::string> read(const std::string& group,
                                                 const std::string& file) = 0;
};

/// The same, for reading and writing: the only access to control groups.
class CgroupFs : public CgroupFiles {
 public:
  /// Creates one group; its parent must exist. Succeeds if the group exists already.
  [[nodiscard]] virtual Result<void> make_group(const std::string& group) = 0;
  /// Removes one group. Succeeds if it does not exist; EBUSY if it has processes or children.
  [[nodiscard]] virtual Result<void> remove_group(const std::string& group) = 0;
  /// Writes the whole value in a single write.
  [[nodiscard]] virtual Result<void> write(const std::string& group, const std::string& file,
                                           std::string_view value) = 0;
};

/// Returns true if the error means that the file does not exist or its group has been removed.
[[nodiscard]] inline bool is_gone(const Error& error) {
  return error.code == ErrorCode::kNotFound || error.sys_errno == ENODEV;
}

/// Opens a hierarchy of the running kernel. Every path is resolved relative to a descriptor of
/// `directory`; a path that leaves it, crosses a mount or contains a symbolic link is an error.
/// Errors: kNotFound, kIo.
[[nodiscard]] Result<std::unique_ptr<CgroupFs>> open_cgroup_fs(const std::string& directory);
/// Does the same for a directory that another program named.
/// Errors: also kInvalidArgument if it is not in a cgroup mount.
[[nodiscard]] Result<std::unique_ptr<CgroupFs>> open_named_cgroup_fs(const std::string& directory);

}  // namespace pinfold::enforce
