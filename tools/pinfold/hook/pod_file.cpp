#include "hook/pod_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "hook/oci.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/base/unique_fd.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::tools {
namespace {

namespace fs = std::filesystem;

/// Returns whether a path is absolute, without ".." and characters that end a path early.
bool is_plain(const fs::path& path) {
  return path.is_absolute() && path.native().find('\0') == std::string::npos &&
         std::find(path.begin(), path.end(), "..") == path.end();
}

/// Returns the path relative to a directory; "" if it is not below it.
std::string relative_to(const fs::path& path, const fs::path& directory) {
  const fs::path relative =
      path.lexically_normal().lexically_relative((directory / "").lexically_normal().parent_path());
  const bool is_below = !relative.empty() && *relative.begin() != ".." && relative != ".";
  return is_below ? relative.native() : "";
}

Result<UniqueFd> open_below(const std::string& directory, const std::string& relative) {
  const std::string name = fmt::format("open '{}' in '{}'", printable(relative), directory);
  const UniqueFd base(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!base) return fail_errno(errno, name);
  open_how how{};
  how.flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  UniqueFd file(
      static_cast<int>(::syscall(SYS_openat2, base.get(), relative.c_str(), &how, sizeof how)));
  if (file) return file;
  if (errno == ENOSYS) {
    return fail(ErrorCode::kUnsupported,
                name + ": the kernel has no openat2 (Linux 5.6), which pod files need");
  }
  if (errno == ELOOP) {
    return fail(ErrorCode::kInvalidArgument, name + ": expected a path without links");
  }
  return fail_errno(errno, name);
}

Result<std::string> read_below(const std::string& directory, const std::string& relative) {
  PINFOLD_LET(const auto file, open_below(directory, relative));
  const std::string name = fmt::format("'{}' in '{}'", printable(relative), directory);
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) return fail_errno(errno, name);
  if (!S_ISREG(facts.st_mode)) {
    return fail(ErrorCode::kInvalidArgument, name + ": expected a regular file");
  }
  return read_rest(file.get(), name, kMaxHookInput);
}

}  // namespace

cli::Option pod_file_dir_option(std::vector<std::string>& directories) {
  return {.name = "--pod-file-dir",
          .target = &directories,
          .help =
              "Accept the annotation io.pinfold.pod-file for files below DIR (absolute); may "
              "be repeated [no pod file is accepted]",
          .value = "DIR",
          .one_at_a_time = true};
}

Result<std::string> read_pod_file(const std::string& path,
                                  const std::vector<std::string>& directories) {
  if (directories.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "the hook accepts no pod files: its command line has no --pod-file-dir");
  }
  for (const std::string& directory : directories) {
    if (is_plain(directory)) continue;
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--pod-file-dir: '{}': expected an absolute path without '..'",
                            printable(directory)));
  }
  auto result =
      Result<std::string>(fail(ErrorCode::kInvalidArgument,
                               fmt::format("'{}': expected an absolute path without '..', below {}",
                                           printable(path), fmt::join(directories, " or "))));
  if (!is_plain(path)) return result;
  for (const std::string& directory : directories) {
    const std::string relative = relative_to(path, directory);
    if (relative.empty()) continue;
    result = read_below(directory, relative);
    if (result) break;
  }
  return result;
}

}  // namespace pinfold::tools
