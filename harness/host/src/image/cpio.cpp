#include "pinfold/harness/cpio.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <iterator>
#include <set>

namespace pinfold::harness {
namespace {

/// The usual maximum size of an entry without its content.
constexpr std::size_t kMaxHead = 256;

void pad(std::string& archive) { archive.resize((archive.size() + 3) / 4 * 4, '\0'); }

void append(std::string& archive, const CpioEntry& entry, std::size_t inode) {
  const bool folder = S_ISDIR(entry.mode);
  fmt::format_to(
      std::back_inserter(archive),
      "070701{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}", inode,
      entry.mode, 0, 0, folder ? 2 : 1, 0, entry.content.size(), 0, 0, entry.device_major,
      entry.device_minor, entry.path.size() + 1, 0);
  archive += entry.path;
  archive += '\0';
  pad(archive);
  archive += entry.content;
  pad(archive);
}

}  // namespace

CpioEntry CpioEntry::folder(std::string path) {
  return {std::move(path), S_IFDIR | 0755U, {}, 0, 0};
}

CpioEntry CpioEntry::file(std::string path, std::string content, bool executable) {
  return {std::move(path), S_IFREG | (executable ? 0755U : 0644U), std::move(content), 0, 0};
}

CpioEntry CpioEntry::link(std::string path, std::string target) {
  return {std::move(path), S_IFLNK | 0777U, std::move(target), 0, 0};
}

CpioEntry CpioEntry::character_device(std::string path, std::uint32_t major, std::uint32_t minor) {
  return {std::move(path), S_IFCHR | 0600U, {}, major, minor};
}

std::string write_cpio(const std::vector<CpioEntry>& entries) {
  std::string archive;
  std::size_t bytes = 0;
  for (const CpioEntry& entry : entries) bytes += entry.content.size() + kMaxHead;
  archive.reserve(bytes);
  std::set<std::string, std::less<>> folders;
  std::size_t inode = 0;
  for (const CpioEntry& entry : entries) {
    for (std::size_t at = entry.path.find('/'); at != std::string::npos;
         at = entry.path.find('/', at + 1)) {
      const std::string parent = entry.path.substr(0, at);
      if (folders.insert(parent).second) append(archive, CpioEntry::folder(parent), ++inode);
    }
    if (S_ISDIR(entry.mode) && !folders.insert(entry.path).second) continue;
    append(archive, entry, ++inode);
  }
  append(archive, {"TRAILER!!!", 0, {}, 0, 0}, 0);
  return archive;
}

}  // namespace pinfold::harness
