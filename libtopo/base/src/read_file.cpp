#include "pinfold/base/read_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "pinfold/base/unique_fd.hpp"

namespace pinfold {

Result<std::string> read_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts {};
  if (!fd || ::fstat(fd.get(), &facts) != 0) {
    return fail_errno(errno, fmt::format("read '{}'", path));
  }
  std::string bytes;
  std::size_t used = 0;
  while (true) {
    // The files of /proc say that they are empty, so the size is only a hint.
    bytes.resize(used + std::max<std::size_t>(static_cast<std::size_t>(facts.st_size), 4096) + 1);
    const ssize_t got = ::read(fd.get(), bytes.data() + used, bytes.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, fmt::format("read '{}'", path));
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
    facts.st_size = 0;
  }
  bytes.resize(used);
  return bytes;
}

}  // namespace pinfold
