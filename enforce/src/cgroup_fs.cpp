#include "pinfold/enforce/cgroup_fs.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "named_directory.hpp"
#include "pinfold/base/read_directory.hpp"
#include "pinfold/base/unique_fd.hpp"

namespace pinfold::enforce {
namespace {

constexpr std::size_t kMaxFile = std::size_t{4} << 20;

/// Walks a relative path one component at a time, for kernels without openat2 (before 5.6, or
/// behind a seccomp filter).
int open_by_steps(int root, const std::string& path, int flags) {
  UniqueFd current(::fcntl(root, F_DUPFD_CLOEXEC, 0));
  std::size_t begin = 0;
  while (current) {
    const std::size_t end = path.find('/', begin);
    const std::string part = path.substr(begin, end - begin);
    if (part.empty() || part == "..") {
      errno = EXDEV;
      return -1;
    }
    const bool is_last = end == std::string::npos;
    const int how = is_last ? flags : O_PATH | O_DIRECTORY;
    const int next = ::openat(current.get(), part.c_str(), how | O_NOFOLLOW | O_CLOEXEC);
    if (is_last || next < 0) return next;
    current.reset(next);
    begin = end + 1;
  }
  return -1;
}

/// Opens a path strictly below `root`. Returns -1 and sets errno to EXDEV if the path would leave
/// it, or ELOOP for a symbolic link.
UniqueFd open_beneath(int root, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  while (true) {
    const long fd = ::syscall(SYS_openat2, root, path.c_str(), &how, sizeof(how));
    if (fd >= 0) return UniqueFd(static_cast<int>(fd));
    if (errno == ENOSYS || errno == EPERM) return UniqueFd(open_by_steps(root, path, flags));
    if (errno != EINTR && errno != EAGAIN) return UniqueFd();
  }
}

class PosixCgroupFs final : public CgroupFs {
 public:
  PosixCgroupFs(UniqueFd root, std::string directory)
      : root_(std::move(root)), directory_(std::move(directory)) {}

  Result<void> make_group(const std::string& group) override {
    return change(group, "create", [](int parent, const char* name) {
      return ::mkdirat(parent, name, 0755) == 0 || errno == EEXIST;
    });
  }

  Result<void> remove_group(const std::string& group) override {
    return change(group, "remove", [](int parent, const char* name) {
      return ::unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
    });
  }

  Result<std::vector<std::string>> children(const std::string& group) override {
    const UniqueFd fd =
        open_beneath(root_.get(), group.empty() ? "." : group, O_RDONLY | O_DIRECTORY);
    auto entries = fd ? read_directory(fd.get()) : std::nullopt;
    if (!entries) return fail_errno(errno, fmt::format("list '{}'", shown(group)));
    std::vector<std::string> names;
    for (DirectoryEntry& entry : *entries) {
      if (entry.type == DT_DIR) names.push_back(std::move(entry.name));
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  Result<std::string> read(const std::string& group, const std::string& file) override {
    const UniqueFd fd = open_beneath(root_.get(), join(group, file), O_RDONLY);
    if (!fd) return fail_errno(errno, fmt::format("read '{}'", shown(join(group, file))));
    std::string text;
    char buffer[4096];
    while (text.size() <= kMaxFile) {
      const ssize_t got = ::read(fd.get(), buffer, sizeof(buffer));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail_errno(errno, fmt::format("read '{}'", shown(join(group, file))));
      const auto size = static_cast<std::size_t>(got);
      text.append(buffer, size);
      // The kernel fills the buffer with as many lines as fit, so the next one would have fitted.
      if (size < sizeof(buffer) / 2) {
        if (text.ends_with('\n')) text.pop_back();
        return text;
      }
    }
    return fail(ErrorCode::kIo,
                fmt::format("read '{}': more than 4 MiB", shown(join(group, file))));
  }

  Result<void> write(const std::string& group, const std::string& file,
                     std::string_view value) override {
    const auto failed = [&](int error) {
      return fail_errno(error, fmt::format("write '{}' to '{}'", value, shown(join(group, file))));
    };
    const UniqueFd fd = open_beneath(root_.get(), join(group, file), O_WRONLY);
    if (!fd) return failed(errno);
    // The newline makes an empty value a write of one byte: the kernel ignores a write of zero
    // bytes.
    const std::string text = std::string(value) + "\n";
    while (true) {
      const ssize_t put = ::write(fd.get(), text.data(), text.size());
      if (put == static_cast<ssize_t>(text.size())) return {};
      if (put < 0 && errno == EINTR) continue;
      return failed(put < 0 ? errno : EIO);
    }
  }

 private:
  static std::string join(const std::string& group, const std::string& file) {
    return group.empty() ? file : group + "/" + file;
  }
  [[nodiscard]] std::string shown(const std::string& path) const {
    return path.empty() ? directory_ : directory_ + "/" + path;
  }

  /// Calls `act(parent descriptor, last component)`.
  template <class Act>
  Result<void> change(const std::string& group, std::string_view verb, Act act) {
    const std::size_t slash = group.rfind('/');
    const std::string parent = slash == std::string::npos ? "." : group.substr(0, slash);
    const std::string name = slash == std::string::npos ? group : group.substr(slash + 1);
    const bool is_plain = !name.empty() && name != "." && name != "..";
    const UniqueFd fd =
        is_plain ? open_beneath(root_.get(), parent, O_PATH | O_DIRECTORY) : UniqueFd();
    if (!is_plain) errno = EXDEV;
    if (fd && act(fd.get(), name.c_str())) return {};
    return fail_errno(errno, fmt::format("{} '{}'", verb, shown(group)));
  }

  UniqueFd root_;
  std::string directory_;
};

}  // namespace

Result<std::unique_ptr<CgroupFs>> open_cgroup_fs(const std::string& directory) {
  UniqueFd fd(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, fmt::format("open '{}'", directory));
  return std::make_unique<PosixCgroupFs>(std::move(fd), directory);
}

Result<UniqueFd> open_named_directory(const std::string& directory) {
  UniqueFd fd(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct statfs status {};
  if (!fd || ::fstatfs(fd.get(), &status) != 0) {
    return fail_errno(errno, fmt::format("open '{}'", directory));
  }
  if (status.f_type != CGROUP2_SUPER_MAGIC && status.f_type != CGROUP_SUPER_MAGIC) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is not in a control group file system", directory));
  }
  return fd;
}

Result<std::unique_ptr<CgroupFs>> open_named_cgroup_fs(const std::string& directory) {
  PINFOLD_LET(UniqueFd fd, open_named_directory(directory));
  return std::make_unique<PosixCgroupFs>(std::move(fd), directory);
}

}  // namespace pinfold::enforce
