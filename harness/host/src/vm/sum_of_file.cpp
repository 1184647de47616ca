#include "vm/sum_of_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <vector>

#include "pinfold/base/unique_fd.hpp"
#include "pinfold/harness/saved_state.hpp"

namespace pinfold::harness {
namespace {

namespace fs = std::filesystem;

/// Every step is a bijection of the state, so any single changed word changes the sum.
class Sum {
 public:
  /// Adds a block of at most kPageBytes. A block of zeros adds nothing, like a hole.
  void add(std::uint64_t offset, const char* bytes, std::size_t size) {
    static constexpr char kZeros[kPageBytes] = {};
    if (std::memcmp(bytes, kZeros, size) == 0) return;
    mix(offset);
    std::size_t at = 0;
    for (; at + 8 <= size; at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes + at, 8);
      mix(word);
    }
    for (; at < size; ++at) mix(static_cast<unsigned char>(bytes[at]));
  }
  [[nodiscard]] std::uint64_t value() const { return sum_; }

 private:
  void mix(std::uint64_t word) { sum_ = std::rotl((sum_ ^ word) * 0x9e3779b97f4a7c15U, 29); }

  std::uint64_t sum_ = 1;
};

/// Adds the bytes from `begin` up to `end`. Domain: `begin` is a multiple of kPageBytes.
bool add_range(Sum& sum, int fd, off_t begin, off_t end) {
  std::vector<char> buffer(std::size_t{1} << 20U);
  while (begin < end) {
    const auto wanted = std::min<off_t>(end - begin, static_cast<off_t>(buffer.size()));
    const ssize_t count = pread(fd, buffer.data(), static_cast<std::size_t>(wanted), begin);
    if (count != wanted) return false;
    for (off_t at = 0; at < wanted; at += kPageBytes) {
      const auto size = static_cast<std::size_t>(std::min<off_t>(wanted - at, kPageBytes));
      sum.add(static_cast<std::uint64_t>(begin + at), buffer.data() + at, size);
    }
    begin += wanted;
  }
  return true;
}

/// Returns the offset at which data begins at or after `from`; the file's end if there is none.
off_t next_data(int fd, off_t from, off_t end) {
  const off_t found = lseek(fd, from, SEEK_DATA);
  if (found >= 0) return found - found % off_t{kPageBytes};
  return errno == ENXIO ? end : from;  // otherwise the file system does not support holes
}

off_t next_hole(int fd, off_t from, off_t end) {
  const off_t found = lseek(fd, from, SEEK_HOLE);
  return found > from ? found : end;
}

}  // namespace

Result<std::string> sum_of_file(const fs::path& file) {
  const UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts {};
  if (!fd || fstat(fd.get(), &facts) != 0)
    return fail_errno(errno, fmt::format("read '{}'", file.string()));
  Sum sum;
  for (off_t at = next_data(fd.get(), 0, facts.st_size); at < facts.st_size;) {
    const off_t end = next_hole(fd.get(), at, facts.st_size);
    if (!add_range(sum, fd.get(), at, end)) {
      return fail_errno(errno, fmt::format("read '{}'", file.string()));
    }
    at = next_data(fd.get(), end, facts.st_size);
  }
  return fmt::format("{} {:016x}", facts.st_size, sum.value());
}

}  // namespace pinfold::harness
