#include "pinfold/base/read_directory.hpp"

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace pinfold {
namespace {

// The kernel writes what the C library calls dirent where file sizes have 64 bits.
static_assert(sizeof(dirent::d_ino) == 8 && sizeof(dirent::d_off) == 8);

/// Adds the entries of one answer of the kernel.
void add_entries(std::string_view answer, std::vector<DirectoryEntry>& entries) {
  while (!answer.empty()) {
    std::uint16_t size = 0;
    std::memcpy(&size, answer.data() + offsetof(dirent, d_reclen), sizeof(size));
    const char* const name = answer.data() + offsetof(dirent, d_name);
    const auto type = static_cast<unsigned char>(answer[offsetof(dirent, d_type)]);
    const std::string_view text(name);
    if (text != "." && text != "..") entries.push_back({std::string(text), type});
    answer.remove_prefix(size);
  }
}

}  // namespace

std::optional<std::vector<DirectoryEntry>> read_directory(int fd) {
  std::vector<DirectoryEntry> entries;
  alignas(dirent) std::array<char, 2048> buffer;
  while (true) {
    const long size = ::syscall(SYS_getdents64, fd, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return std::nullopt;
    if (size == 0) return entries;
    add_entries({buffer.data(), static_cast<std::size_t>(size)}, entries);
  }
}

}  // namespace pinfold
