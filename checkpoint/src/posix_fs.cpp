#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "pinfold/base/read_directory.hpp"
#include "pinfold/base/unique_fd.hpp"
#include "pinfold/checkpoint/fs.hpp"
#include "state_directory.hpp"

namespace pinfold::checkpoint {
namespace {

tl::unexpected<Error> too_large(std::string_view name) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}' has more than {} bytes", name, kMaxStateFileBytes));
}

template <class Call>
auto retried(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

UniqueFd open_at(int directory, const char* name, int flags) {
  return UniqueFd(retried([&] { return ::openat(directory, name, flags | O_CLOEXEC, 0600); }));
}

tl::unexpected<Error> failed(std::string_view verb, std::string_view name) {
  const int code = errno;
  return fail_errno(code, fmt::format("{} '{}'", verb, name));
}

class PosixFile final : public File {
 public:
  PosixFile(UniqueFd fd, std::string name, off_t written = 0)
      : fd_(std::move(fd)), name_(std::move(name)), written_(written) {}

  Result<std::size_t> write(std::string_view bytes) override {
    const ssize_t count =
        retried([&] { return ::pwrite(fd_.get(), bytes.data(), bytes.size(), written_); });
    if (count < 0) return failed("write", name_);
    if (count == 0 && !bytes.empty()) return fail_errno(ENOSPC, fmt::format("write '{}'", name_));
    written_ += count;
    return static_cast<std::size_t>(count);
  }

  Result<void> reserve(std::size_t size) override {
    const std::string zeros(size, '\0');
    const ssize_t count =
        retried([&] { return ::pwrite(fd_.get(), zeros.data(), size, written_); });
    if (count < 0) return failed("reserve", name_);
    if (static_cast<std::size_t>(count) < size) {
      return fail_errno(ENOSPC, fmt::format("reserve '{}'", name_));
    }
    return {};
  }

  /// The timestamps of the file need not survive.
  Result<void> sync() override {
    if (retried([&] { return ::fdatasync(fd_.get()); }) != 0) return failed("fdatasync", name_);
    return {};
  }

 private:
  UniqueFd fd_;
  std::string name_;
  off_t written_;
};

class PosixFs final : public Fs {
 public:
  PosixFs(UniqueFd directory, std::string path)
      : directory_(std::move(directory)), path_(std::move(path)) {}

  Result<std::optional<std::string>> read(const std::string& name) override {
    // Without O_NONBLOCK, opening a FIFO of that name would block until it has a writer.
    const UniqueFd fd = open_at(directory_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (!fd && errno == ENOENT) return std::optional<std::string>();
    if (!fd) return failed("open", name);
    struct stat status = {};
    if (::fstat(fd.get(), &status) != 0) return failed("stat", name);
    PINFOLD_TRY(check_is_regular(status.st_mode, name));
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size > kMaxStateFileBytes) return too_large(name);
    // Files of the kernel report size 0, and one that grows meanwhile ends where it ended.
    std::string bytes(size == 0 ? 256 : size, '\0');
    std::size_t used = 0;
    while (true) {
      const ssize_t count =
          retried([&] { return ::read(fd.get(), bytes.data() + used, bytes.size() - used); });
      if (count < 0) return failed("read", name);
      used += static_cast<std::size_t>(count);
      if (used > kMaxStateFileBytes) return too_large(name);
      if (count == 0 || used == size) {
        bytes.resize(used);
        return std::optional<std::string>(std::move(bytes));
      }
      if (used == bytes.size()) bytes.resize(2 * used);
    }
  }

  Result<std::vector<std::string>> list() override {
    // Opened again each time: reading moves the descriptor's position.
    const UniqueFd fd = open_at(directory_.get(), ".", O_RDONLY | O_DIRECTORY);
    if (!fd) return failed("open", path_);
    auto entries = read_directory(fd.get());
    if (!entries) return failed("list", path_);
    std::vector<std::string> names;
    names.reserve(entries->size());
    for (DirectoryEntry& entry : *entries) names.push_back(std::move(entry.name));
    return names;
  }

  Result<std::unique_ptr<File>> create(const std::string& name) override {
    constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    UniqueFd fd = open_at(directory_.get(), name.c_str(), kNew);
    if (!fd && errno == EEXIST) {
      PINFOLD_TRY(remove(name));
      fd = open_at(directory_.get(), name.c_str(), kNew);
    }
    if (!fd) return failed("create", name);
    return std::make_unique<PosixFile>(std::move(fd), name);
  }

  Result<std::unique_ptr<File>> reopen(const std::string& name, std::size_t size) override {
    UniqueFd fd = open_at(directory_.get(), name.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK);
    if (!fd) return failed("open", name);
    struct stat status = {};
    if (::fstat(fd.get(), &status) != 0) return failed("stat", name);
    if (!S_ISREG(status.st_mode) || status.st_nlink != 1) {
      return fail(ErrorCode::kUnsupported,
                  fmt::format("'{}': expected a regular file without another name", name));
    }
    return std::make_unique<PosixFile>(std::move(fd), name, static_cast<off_t>(size));
  }

  Result<void> rename(const std::string& from, const std::string& to) override {
    if (::renameat(directory_.get(), from.c_str(), directory_.get(), to.c_str()) != 0) {
      return failed("rename to", to);
    }
    return {};
  }

  Result<void> remove(const std::string& name) override {
    if (::unlinkat(directory_.get(), name.c_str(), 0) != 0 && errno != ENOENT) {
      return failed("remove", name);
    }
    return {};
  }

  Result<void> sync_directory() override {
    if (retried([&] { return ::fsync(directory_.get()); }) != 0) return failed("fsync", path_);
    return {};
  }

 private:
  UniqueFd directory_;
  std::string path_;
};

}  // namespace

Result<std::unique_ptr<Fs>> open_directory(const std::string& path) {
  UniqueFd fd = open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY);
  if (!fd) return failed("open directory", path);
  return std::make_unique<PosixFs>(std::move(fd), path);
}

Result<std::unique_ptr<Fs>> open_state_directory(const std::string& path, OwnerCheck owners) {
  UniqueFd fd = open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY);
  if (!fd) return failed("open directory", path);
  const int directory = fd.get();
  auto fs = std::make_unique<PosixFs>(std::move(fd), path);
  PINFOLD_LET(const auto names, fs->list());
  PINFOLD_TRY(check_state_directory(directory, path, names, owners));
  return fs;
}

Result<std::unique_ptr<Fs>> open_state_directory_of(const std::string& path,
                                                    const std::vector<std::string>& names,
                                                    OwnerCheck owners) {
  UniqueFd fd = open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY);
  if (!fd) return failed("open directory", path);
  PINFOLD_TRY(check_state_directory(fd.get(), path, names, owners));
  return std::make_unique<PosixFs>(std::move(fd), path);
}

}  // namespace pinfold::checkpoint
