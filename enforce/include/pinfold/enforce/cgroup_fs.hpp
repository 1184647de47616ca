#pragma once

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"

namespace pinfold::enforce {

/// One hierarchy of control groups as a file system: the only access to control groups.
/// `group` is a path relative to the root of the hierarchy that was opened ("" is the root itself),
/// `file` a name in that group.
/// Errors of all: kIo or kNotFound with errno.
class CgroupFs {
 public:
  virtual ~CgroupFs() = default;

  /// Makes one group whose parent exists; a group that exists already is fine.
  [[nodiscard]] virtual Result<void> make_group(const std::string& group) = 0;
  /// Removes one group; one that does not exist is fine. EBUSY if it has processes or children.
  [[nodiscard]] virtual Result<void> remove_group(const std::string& group) = 0;
  /// Names of the groups right below, sorted.
  [[nodiscard]] virtual Result<std::vector<std::string>> children(const std::string& group) = 0;
  /// The whole file, without the newline at its end.
  [[nodiscard]] virtual Result<std::string> read(const std::string& group,
                                                 const std::string& file) = 0;
  /// One write of the whole value.
  [[nodiscard]] virtual Result<void> write(const std::string& group, const std::string& file,
                                           std::string_view value) = 0;
};

/// True for an error of a file that does not exist, or whose group was removed meanwhile.
[[nodiscard]] inline bool is_gone(const Error& error) {
  return error.code == ErrorCode::kNotFound || error.sys_errno == ENODEV;
}

/// The kernel's: opens every path relative to a descriptor of `directory`; a path that leaves it,
/// crosses a mount or contains a symbolic link is an error.
/// Errors: kNotFound, kIo.
[[nodiscard]] Result<std::unique_ptr<CgroupFs>> open_cgroup_fs(const std::string& directory);
/// The same for a directory that another program names.
/// Errors: also kInvalidArgument for a directory that is not in a cgroup mount.
[[nodiscard]] Result<std::unique_ptr<CgroupFs>> open_named_cgroup_fs(const std::string& directory);

}  // namespace pinfold::enforce
