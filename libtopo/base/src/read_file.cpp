#include "pinfold/base/read_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "pinfold/base/unique_fd.hpp"

namespace pinfold {
namespace {

tl::unexpected<Error> fail_too_long(const std::string& name, std::size_t most) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("read {}: more than {} MiB", name, most >> 20U));
}

/// Reads to the end. `size` is the size that the file reports and determines the first buffer,
/// which is not zeroed: most files are far smaller.
Result<std::string> read_until_end(int fd, const std::string& name, std::size_t size,
                                   std::size_t most) {
  constexpr std::size_t kFirst = std::size_t{4} << 10U;
  // One byte beyond the limit reveals a file that is too large.
  std::size_t room = std::min(std::max(kFirst, size + 1), most + 1);
  auto bytes = std::make_unique_for_overwrite<char[]>(room);
  std::size_t used = 0;
  while (used <= most) {
    if (used == room) {
      room = std::min(2 * used, most + 1);
      auto larger = std::make_unique_for_overwrite<char[]>(room);
      std::copy_n(bytes.get(), used, larger.get());
      bytes = std::move(larger);
    }
    const ssize_t got = ::read(fd, bytes.get() + used, room - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, fmt::format("read {}", name));
    used += static_cast<std::size_t>(got);
    if (got == 0) return std::string(bytes.get(), used);
  }
  return fail_too_long(name, most);
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t most) {
  const std::string name = fmt::format("'{}'", path);
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts {};
  if (!fd || ::fstat(fd.get(), &facts) != 0) {
    return fail_errno(errno, fmt::format("read {}", name));
  }
  if (S_ISDIR(facts.st_mode)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("read {}: a directory, expected a file", name));
  }
  // Files in /proc report size 0, so only a size above the limit means something.
  const auto size = static_cast<std::size_t>(std::max<off_t>(facts.st_size, 0));
  if (size > most) return fail_too_long(name, most);
  return read_until_end(fd.get(), name, size, most);
}

Result<std::string> read_rest(int fd, const std::string& name, std::size_t most) {
  return read_until_end(fd, name, 0, most);
}

}  // namespace pinfold
