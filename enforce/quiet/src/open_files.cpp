#include "open_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "knob_file.hpp"

namespace pinfold::quiet {

OpenFiles::OpenFiles(std::string directory, std::string_view file)
    : directory_(std::move(directory)), file_(file) {
  struct rlimit limit {};
  (void)::getrlimit(RLIMIT_NOFILE, &limit);
  most_ = limit.rlim_cur / 2;
}

std::string OpenFiles::path_of(const std::string& name) const {
  return fmt::format("{}/{}/{}", directory_, name, file_);
}

/// Returns the descriptor of a file that is open, or can be kept open; -1 for any other.
int OpenFiles::descriptor_of(const std::string& name) {
  const auto found = files_.find(name);
  if (found != files_.end()) return found->second.get();
  if (files_.size() >= most_) return -1;
  UniqueFd fd(::open(path_of(name).c_str(), O_RDWR | O_CLOEXEC));
  return fd ? files_.emplace(name, std::move(fd)).first->second.get() : -1;
}

Result<std::string> OpenFiles::read(const std::string& name) {
  std::array<char, 1024> bytes{};
  const int fd = descriptor_of(name);
  const ssize_t got = fd < 0 ? -1 : ::pread(fd, bytes.data(), bytes.size(), 0);
  if (got < 0 || static_cast<std::size_t>(got) == bytes.size()) {
    files_.erase(name);
    return read_value(path_of(name));
  }
  std::string_view text(bytes.data(), static_cast<std::size_t>(got));
  if (text.ends_with('\n')) text.remove_suffix(1);
  return std::string(text);
}

Result<void> OpenFiles::write(const std::string& name, std::string_view value) {
  const std::string line = std::string(value) + "\n";
  const int fd = descriptor_of(name);
  if (fd >= 0 && ::pwrite(fd, line.data(), line.size(), 0) >= 0) return {};
  files_.erase(name);
  return write_value(path_of(name), value);
}

}  // namespace pinfold::quiet
