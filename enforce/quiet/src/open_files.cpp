#include "open_files.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "knob_file.hpp"

namespace pinfold::quiet {

OpenFiles::OpenFiles() {
  struct rlimit limit {};
  (void)::getrlimit(RLIMIT_NOFILE, &limit);
  most_ = limit.rlim_cur / 2;
}

/// Returns the descriptor of a file that is open, or can be kept open; -1 for any other.
int OpenFiles::descriptor_of(const std::string& path) {
  const auto found = files_.find(path);
  if (found != files_.end()) return found->second.get();
  if (files_.size() >= most_) return -1;
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  return fd ? files_.emplace(path, std::move(fd)).first->second.get() : -1;
}

Result<std::string> OpenFiles::read(const std::string& path) {
  std::array<char, 1024> bytes{};
  const int fd = descriptor_of(path);
  const ssize_t got = fd < 0 ? -1 : ::pread(fd, bytes.data(), bytes.size(), 0);
  if (got < 0 || static_cast<std::size_t>(got) == bytes.size()) {
    files_.erase(path);
    return read_value(path);
  }
  std::string_view text(bytes.data(), static_cast<std::size_t>(got));
  if (text.ends_with('\n')) text.remove_suffix(1);
  return std::string(text);
}

Result<void> OpenFiles::write(const std::string& path, std::string_view value) {
  const std::string line = std::string(value) + "\n";
  const int fd = descriptor_of(path);
  if (fd >= 0 && ::pwrite(fd, line.data(), line.size(), 0) >= 0) return {};
  files_.erase(path);
  return write_value(path, value);
}

}  // namespace pinfold::quiet
