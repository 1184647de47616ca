#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "agent.hpp"
#include "pinfold/base/unique_fd.hpp"

namespace pinfold::guest {

std::string errno_name(int sys_errno) {
  const char* name = strerrorname_np(sys_errno);
  return name == nullptr ? std::to_string(sys_errno) : name;
}

std::string describe_errno(std::string_view what, int sys_errno) {
  return "'" + std::string(what) + "': " + errno_name(sys_errno);
}

Json refuse(std::string error) { return {{"ok", false}, {"error", std::move(error)}}; }

std::string read_text(const std::string& path, int& sys_errno) {
  sys_errno = 0;
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    sys_errno = errno;
    return {};
  }
  std::string text;
  char chunk[4096];
  while (true) {
    const ssize_t got = read(fd.get(), chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) sys_errno = errno;
    if (got <= 0) break;
    text.append(chunk, static_cast<std::size_t>(got));
  }
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

int write_text(const std::string& path, std::string_view value, int flags) {
  UniqueFd fd(open(path.c_str(), flags | O_CLOEXEC, 0644));
  if (!fd) return errno;
  int failed = 0;
  // A kernel file takes a value in one write; only a regular file may need several.
  do {
    const ssize_t written = write(fd.get(), value.data(), value.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) failed = errno;
    if (written <= 0) break;
    value.remove_prefix(static_cast<std::size_t>(written));
  } while (!value.empty());
  if (close(fd.release()) != 0 && failed == 0) failed = errno;
  return failed;
}

}  // namespace pinfold::guest
