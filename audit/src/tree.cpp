#include "pinfold/audit/tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string_view>
#include <utility>

#include "pinfold/base/read_directory.hpp"
#include "pinfold/base/read_file.hpp"

namespace pinfold::audit {
namespace {

/// Returns the path without its leading slash: openat ignores the directory for absolute paths.
const char* relative(const std::string& path) {
  const std::size_t begin = path.find_first_not_of('/');
  return begin == std::string::npos ? "." : path.c_str() + begin;
}

/// Returns -1 and sets errno on failure.
int open_in_root(int root, const char* path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT;
  while (true) {
    const long fd = ::syscall(SYS_openat2, root, path, &how, sizeof(how));
    if (fd >= 0 || (errno != EINTR && errno != EAGAIN)) return static_cast<int>(fd);
  }
}

bool is_directory(int parent, const DirectoryEntry& entry) {
  if (entry.type != DT_UNKNOWN) return entry.type == DT_DIR;
  struct stat status {};
  return ::fstatat(parent, entry.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISDIR(status.st_mode);
}

}  // namespace

Result<Tree> Tree::open(const std::string& root) {
  UniqueFd fd(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, fmt::format("root '{}'", root));
  std::string prefix = root;
  while (prefix.ends_with('/')) prefix.pop_back();
  return Tree(std::move(prefix), std::move(fd));
}

Result<UniqueFd> Tree::open_below(const std::string& path, int flags) const {
  UniqueFd fd(open_in_root(fd_.get(), relative(path), flags));
  if (!fd && (errno == ENOSYS || errno == EPERM)) {
    // A kernel before 5.6, or a system call filter. With root "/" symbolic links cannot leave the
    // root.
    if (!root_.empty()) {
      return fail(ErrorCode::kUnsupported,
                  fmt::format("read '{}': a root other than '/' needs openat2, which this kernel "
                              "does not offer",
                              shown(path)));
    }
    fd.reset(::openat(fd_.get(), relative(path), flags | O_CLOEXEC));
  }
  if (!fd) return fail_errno(errno, fmt::format("read '{}'", shown(path)));
  return fd;
}

Result<std::string> Tree::read_exactly(const std::string& path) const {
  // Nonblocking: opening a FIFO would wait for a writer.
  PINFOLD_LET(const UniqueFd fd, open_below(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) {
    return fail_errno(errno, fmt::format("read '{}'", shown(path)));
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("read '{}': expected a regular file", shown(path)));
  }
  return read_rest(fd.get(), fmt::format("'{}'", shown(path)), kMaxBytes);
}

Result<std::string> Tree::read(const std::string& path) const {
  PINFOLD_LET(auto text, read_exactly(path));
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  return text;
}

Result<std::vector<std::string>> Tree::names(const std::string& path, bool directories_only) const {
  PINFOLD_LET(const UniqueFd fd, open_below(path, O_RDONLY | O_DIRECTORY));
  auto entries = read_directory(fd.get());
  if (!entries) return fail_errno(errno, fmt::format("list '{}'", shown(path)));
  std::vector<std::string> names;
  for (DirectoryEntry& entry : *entries) {
    if (directories_only && !is_directory(fd.get(), entry)) continue;
    names.push_back(std::move(entry.name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::vector<std::string>> Tree::list(const std::string& path) const {
  return names(path, false);
}

Result<std::vector<std::string>> Tree::list_directories(const std::string& path) const {
  return names(path, true);
}

Result<std::string> Tree::link(const std::string& path) const {
  PINFOLD_LET(const UniqueFd fd, open_below(path, O_PATH | O_NOFOLLOW));
  std::array<char, PATH_MAX> target{};
  const ssize_t size = ::readlinkat(fd.get(), "", target.data(), target.size());
  if (size < 0) return fail_errno(errno, fmt::format("read link '{}'", shown(path)));
  return std::string(target.data(), static_cast<std::size_t>(size));
}

bool Tree::has(const std::string& path) const {
  return open_below(path, O_PATH | O_NOFOLLOW).has_value();
}

Result<FileStatus> Tree::status(const std::string& path) const {
  PINFOLD_LET(const UniqueFd fd, open_below(path, O_PATH | O_NOFOLLOW));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) {
    return fail_errno(errno, fmt::format("status of '{}'", shown(path)));
  }
  return FileStatus{status.st_uid, status.st_mode};
}

bool Tree::can_write(const std::string& path) const {
  const auto fd = open_below(path, O_PATH);
  // This path leads to the very file that was opened below the root.
  return fd && ::faccessat(AT_FDCWD, fmt::format("/proc/self/fd/{}", fd->get()).c_str(), W_OK,
                           AT_EACCESS) == 0;
}

}  // namespace pinfold::audit
