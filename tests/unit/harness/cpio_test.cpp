#include "pinfold/harness/cpio.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <map>

namespace pinfold::harness {
namespace {

struct Read {
  std::uint32_t mode = 0;
  std::string content;
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
};

std::uint32_t field(const std::string& archive, std::size_t at, int number) {
  return static_cast<std::uint32_t>(
      std::stoul(archive.substr(at + 6 + static_cast<std::size_t>(number) * 8, 8), nullptr, 16));
}

std::size_t padded(std::size_t size) { return (size + 3) / 4 * 4; }

/// An independent reader of the format; returns no paths for a malformed archive.
std::vector<std::pair<std::string, Read>> read_archive(const std::string& archive) {
  std::vector<std::pair<std::string, Read>> entries;
  for (std::size_t at = 0; at + 110 <= archive.size();) {
    if (archive.compare(at, 6, "070701") != 0) return {};
    const std::uint32_t size = field(archive, at, 6);
    const std::uint32_t name_size = field(archive, at, 11);
    const std::string name = archive.substr(at + 110, name_size - 1);
    const std::size_t content = padded(at + 110 + name_size);
    if (name == "TRAILER!!!")
      return padded(content + size) == archive.size() ? entries
                                                      : std::vector<std::pair<std::string, Read>>{};
    entries.emplace_back(name, Read{field(archive, at, 1), archive.substr(content, size),
                                    field(archive, at, 9), field(archive, at, 10)});
    at = padded(content + size);
  }
  return {};
}

TEST(WriteCpio, KeepsNamesModesAndContents) {
  const std::string archive = write_cpio({
      CpioEntry::folder("dev"),
      CpioEntry::character_device("dev/console", 5, 1),
      CpioEntry::file("init", "#!/bin/sh\n", true),
      CpioEntry::file("empty", "", false),
      CpioEntry::link("lib", "usr/lib"),
  });
  const auto entries = read_archive(archive);
  ASSERT_EQ(entries.size(), 5U);
  EXPECT_EQ(entries[0].first, "dev");
  EXPECT_EQ(entries[0].second.mode, S_IFDIR | 0755U);
  EXPECT_EQ(entries[1].second.mode, S_IFCHR | 0600U);
  EXPECT_EQ(entries[1].second.major, 5U);
  EXPECT_EQ(entries[1].second.minor, 1U);
  EXPECT_EQ(entries[2].second.mode, S_IFREG | 0755U);
  EXPECT_EQ(entries[2].second.content, "#!/bin/sh\n");
  EXPECT_EQ(entries[3].second.mode, S_IFREG | 0644U);
  EXPECT_EQ(entries[3].second.content, "");
  EXPECT_EQ(entries[4].second.mode, S_IFLNK | 0777U);
  EXPECT_EQ(entries[4].second.content, "usr/lib");
}

TEST(WriteCpio, AddsMissingDirectoriesOnceAndBeforeTheirContents) {
  const auto entries = read_archive(write_cpio({
      CpioEntry::file("usr/bin/a", "a", true),
      CpioEntry::file("usr/bin/b", "b", true),
      CpioEntry::folder("usr"),
  }));
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"usr", "usr/bin", "usr/bin/a", "usr/bin/b"}));
}

TEST(WriteCpio, PadsEveryPartToFourBytes) {
  for (std::size_t size = 0; size < 9; ++size) {
    const std::string name(size + 1, 'n');
    const std::string content(size, 'c');
    const auto entries = read_archive(write_cpio({CpioEntry::file(name, content, false)}));
    ASSERT_EQ(entries.size(), 1U) << size;
    EXPECT_EQ(entries[0].first, name);
    EXPECT_EQ(entries[0].second.content, content);
  }
}

}  // namespace
}  // namespace pinfold::harness
