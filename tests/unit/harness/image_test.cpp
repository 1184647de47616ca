#include "pinfold/harness/image.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "pinfold/harness/cache.hpp"
#include "pinfold/harness/initramfs.hpp"
#include "temp_dir.hpp"

namespace pinfold::harness {
namespace {

/// Returns the error for a program in a guest with this architecture; "" if an initramfs can be
/// made.
std::string refusal(const test::TempDir& folder, const std::string& program, Arch arch) {
  folder.write("busybox", "#!/bin/sh\n");
  std::filesystem::permissions(folder / "busybox", std::filesystem::perms::owner_all);
  Image image;
  image.busybox = folder / "busybox";
  image.arch = arch;
  const auto built = build_initramfs(image, program, {}, {});
  return built ? "" : built.error().message;
}

TEST(LoadOf, HasTheContentOfEachFileOnce) {
  const test::TempDir folder;
  folder.write("one.sh", "#!/bin/sh\necho one\n");
  folder.write("two.sh", "#!/bin/sh\n");
  const auto load = load_of({{folder / "one.sh", "/usr/bin/one"}, {folder / "two.sh", "/bin/two"}},
                            {}, Arch::kAmd64);
  ASSERT_TRUE(load) << load.error().message;
  EXPECT_EQ(load->bytes, "#!/bin/sh\necho one\n#!/bin/sh\n");
  ASSERT_EQ(load->files.size(), 2U);
  EXPECT_EQ(load->files[1].path, "/bin/two");
  EXPECT_EQ(load->files[1].offset, load->files[0].size);
  EXPECT_EQ(load->files[1].size, 10U);
}

TEST(LoadOf, NamesAProgramThatIsNotThere) {
  const test::TempDir folder;
  const auto load = load_of({{folder / "none", "/usr/bin/none"}}, {}, Arch::kAmd64);
  ASSERT_FALSE(load);
  EXPECT_NE(load.error().message.find(folder / "none"), std::string::npos) << load.error().message;
}

TEST(BuildInitramfs, RejectsProgramsOfAnotherArchitecture) {
  const test::TempDir folder;
  std::string elf = std::string("\x7f") + "ELF" + std::string(16, '\0');
  elf[18] = '\xb7';  // EM_AARCH64
  folder.write("arm64", elf);
  elf[18] = '\x3e';  // EM_X86_64
  folder.write("amd64", elf);
  elf[18] = '\x16';  // EM_S390
  folder.write("s390x", elf);
  EXPECT_EQ(refusal(folder, folder / "amd64", Arch::kArm64),
            "program '" + (folder / "amd64") + "': of amd64, expected one of arm64");
  EXPECT_EQ(refusal(folder, folder / "arm64", Arch::kAmd64),
            "program '" + (folder / "arm64") + "': of arm64, expected one of amd64");
  EXPECT_EQ(refusal(folder, folder / "s390x", Arch::kArm64),
            "program '" + (folder / "s390x") + "': of another architecture, expected one of arm64");
}

TEST(PruneCache, RemovesWhatWasUsedLongestAgo) {
  const test::TempDir folder;
  const auto now = std::filesystem::file_time_type::clock::now();
  const auto add = [&](const std::string& name, int minutes_ago) {
    folder.write(name, std::string(40960, 'x'));
    std::filesystem::last_write_time(folder / name, now - std::chrono::minutes(minutes_ago));
  };
  add("oldest", 90);
  add("old", 60);
  add("older", 70);
  prune_cache(folder / "", 90000);
  EXPECT_TRUE(std::filesystem::exists(folder / "old"));
  EXPECT_TRUE(std::filesystem::exists(folder / "older"));
  EXPECT_FALSE(std::filesystem::exists(folder / "oldest"));
  add("recent", 5);
  prune_cache(folder / "", 500);
  EXPECT_TRUE(std::filesystem::exists(folder / "recent")) << "it may be in use";
  EXPECT_FALSE(std::filesystem::exists(folder / "old"));
}

TEST(PruneCache, KeepsLocks) {
  const test::TempDir folder;
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::minutes(60);
  for (const char* name : {"a.lock", "a.vm"}) {
    folder.write(name, std::string(4096, 'x'));
    std::filesystem::last_write_time(folder / name, old);
  }
  prune_cache(folder / "", 1);
  EXPECT_TRUE(std::filesystem::exists(folder / "a.lock")) << "another run may hold it";
  EXPECT_FALSE(std::filesystem::exists(folder / "a.vm"));
}

TEST(PruneCache, KeepsFilesOfOneNameTogetherAndCountsNoHoles) {
  const test::TempDir folder;
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::minutes(60);
  for (const char* name : {"a.vm", "a.m0", "b.vm", "b.m0"}) {
    folder.write(name, std::string(4096, 'x'));
    std::filesystem::resize_file(folder / name, 1 << 20);
    std::filesystem::last_write_time(folder / name, old);
  }
  prune_cache(folder / "", 40000);
  EXPECT_TRUE(std::filesystem::exists(folder / "a.m0")) << "four files with a page each";
  std::filesystem::last_write_time(folder / "b.m0", old + std::chrono::minutes(1));
  prune_cache(folder / "", 10000);
  EXPECT_FALSE(std::filesystem::exists(folder / "a.vm"));
  EXPECT_FALSE(std::filesystem::exists(folder / "a.m0"));
  EXPECT_TRUE(std::filesystem::exists(folder / "b.vm")) << "one of its files was used";
}

}  // namespace
}  // namespace pinfold::harness
