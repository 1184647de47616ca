#include "state_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "pinfold/checkpoint/kubelet_files.hpp"

namespace pinfold::checkpoint {
namespace {

constexpr mode_t kWritableByOthers = S_IWGRP | S_IWOTH;
constexpr mode_t kPermissions = 07777;
constexpr std::string_view kOwnPrefix = ".pinfold_";

/// Returns true for a file that is read at start: the kubelet's files, the configuration and its
/// previous version, and Pinfold's own.
bool is_state_file(std::string_view name) {
  constexpr std::array kOthers = {std::string_view(kCpuFileName), std::string_view(kMemoryFileName),
                                  std::string_view("config.yaml"),
                                  std::string_view("config.yaml.before")};
  return std::find(kOthers.begin(), kOthers.end(), name) != kOthers.end() ||
         name.starts_with(kOwnPrefix);
}

/// Fails if anyone but root and the caller owns or can write the object that `status` describes.
Result<void> check_owner(const struct stat& status, const std::string& path) {
  const bool is_owner_good = status.st_uid == 0 || status.st_uid == ::geteuid();
  const bool is_mode_good = (status.st_mode & kWritableByOthers) == 0;
  if (is_owner_good && is_mode_good) return {};
  const uid_t self = ::geteuid();
  const std::string owner = self == 0 ? "root" : fmt::format("root or user {}", self);
  std::string remedy;
  if (!is_owner_good) remedy = fmt::format("chown {} {}", self, path);
  if (!is_owner_good && !is_mode_good) remedy += " && ";
  if (!is_mode_good) remedy += fmt::format("chmod go-w {}", path);
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}' belongs to user {} and has mode {:04o}, so others can change the "
                          "state: expected owner {} and no write permission for group and others; "
                          "run '{}'",
                          path, status.st_uid, status.st_mode & kPermissions, owner, remedy));
}

/// Returns the path of an open directory without symbolic links: as the kernel knows it, or, where
/// /proc is missing, from its path.
Result<std::filesystem::path> real_path(int directory, const std::string& path) {
  std::array<char, 1024> target{};
  const ssize_t size =
      ::readlink(fmt::format("/proc/self/fd/{}", directory).c_str(), target.data(), target.size());
  if (size > 0 && static_cast<std::size_t>(size) < target.size() && target[0] == '/') {
    return std::filesystem::path(target.data(), target.data() + size);
  }
  std::error_code failed;
  auto real = std::filesystem::canonical(path, failed);
  if (failed) return fail_errno(failed.value(), fmt::format("resolve '{}'", path));
  return real;
}

/// Checks the directories above: a user who can write one of them could replace the state
/// directory. Sticky ones (/tmp) are harmless, because only the owner of an entry can rename it
/// there.
Result<void> check_parents(std::filesystem::path directory) {
  while (directory != directory.root_path()) {
    directory = directory.parent_path();
    struct stat status = {};
    if (::stat(directory.c_str(), &status) != 0) {
      return fail_errno(errno, fmt::format("stat '{}'", directory.string()));
    }
    if ((status.st_mode & S_ISVTX) != 0) status.st_mode &= ~kWritableByOthers;
    PINFOLD_TRY(check_owner(status, directory));
  }
  return {};
}

std::string_view kind_of_file(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

Result<void> check_is_regular(mode_t mode, const std::string& file) {
  if (S_ISREG(mode)) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}' is {}, expected a regular file", file, kind_of_file(mode)));
}

Result<void> check_state_directory(int directory, const std::string& path,
                                   const std::vector<std::string>& names, OwnerCheck owners) {
  struct stat status = {};
  if (owners == OwnerCheck::kOn) {
    if (::fstat(directory, &status) != 0) return fail_errno(errno, fmt::format("stat '{}'", path));
    PINFOLD_TRY_WRAP(check_owner(status, path), "state directory");
    PINFOLD_TRY_WRAP(real_path(directory, path).and_then(check_parents),
                     fmt::format("state directory '{}'", path));
  }
  for (const std::string& name : names) {
    if (!is_state_file(name)) continue;
    const std::string file = fmt::format("{}/{}", path, name);
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) continue;  // a writer has replaced or removed it
      return fail_errno(errno, fmt::format("stat '{}'", file));
    }
    PINFOLD_TRY(check_is_regular(status.st_mode, file));
    if (owners == OwnerCheck::kOn) {
      PINFOLD_TRY(check_owner(status, file));
    }
  }
  return {};
}

Result<void> make_state_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  std::string whole = path;
  while (whole.size() > 1 && whole.ends_with('/')) whole.pop_back();
  for (std::size_t slash = whole.find('/', 1);; slash = whole.find('/', slash + 1)) {
    const std::string part = whole.substr(0, slash);
    const bool is_last = slash == std::string::npos;
    if (::mkdir(part.c_str(), is_last ? 0700 : 0755) != 0 && errno != EEXIST) {
      return fail_errno(errno, fmt::format("state directory '{}'", part));
    }
    if (is_last) return {};
  }
}

}  // namespace pinfold::checkpoint
