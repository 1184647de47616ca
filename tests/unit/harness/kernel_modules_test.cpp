#include "pinfold/harness/kernel_modules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pinfold/harness/process.hpp"
#include "temp_dir.hpp"

namespace pinfold::harness {
namespace {

/// Writes modules as listed by depmod: the last of a module's dependencies is loaded first.
void write_modules(const test::TempDir& folder) {
  folder.write("modules.dep",
               "kernel/lib/crc32c.ko:\n"
               "kernel/fs/xfs/xfs.ko: kernel/lib/crc32c_generic.ko kernel/lib/crc32c.ko\n"
               "kernel/net/snd-dummy.ko:\n");
  folder.write("modules.builtin", "kernel/fs/ext4/ext4.ko\n");
  folder.write("kernel/lib/crc32c.ko", "library");
  folder.write("kernel/lib/crc32c_generic.ko", "generic");
  folder.write("kernel/fs/xfs/xfs.ko", "file system");
}

TEST(ModuleFiles, WhatAModuleNeedsComesFirst) {
  const test::TempDir folder;
  write_modules(folder);
  const auto files = module_files(folder / "", "xfs");
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_THAT(*files, testing::ElementsAre(folder / "kernel/lib/crc32c.ko",
                                           folder / "kernel/lib/crc32c_generic.ko",
                                           folder / "kernel/fs/xfs/xfs.ko"));
}

TEST(ModuleFiles, DashAndUnderscoreAreTheSame) {
  const test::TempDir folder;
  write_modules(folder);
  for (const char* name : {"snd-dummy", "snd_dummy"}) {
    const auto files = module_files(folder / "", name);
    ASSERT_TRUE(files) << files.error().message;
    EXPECT_THAT(*files, testing::ElementsAre(folder / "kernel/net/snd-dummy.ko"));
  }
}

TEST(ModuleFiles, NoneOfAModuleThatIsBuiltIn) {
  const test::TempDir folder;
  write_modules(folder);
  const auto files = module_files(folder / "", "ext4");
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_THAT(*files, testing::IsEmpty());
}

TEST(ModuleFiles, SaysWhatIsNoModuleAndWhatHasNone) {
  const test::TempDir folder;
  EXPECT_EQ(module_files(folder / "", "xfs").error().message,
            "module 'xfs': the kernel was given as a bare image, expected its build tree or its "
            "package");
  write_modules(folder);
  EXPECT_EQ(module_files(folder / "", "xf").error().message,
            "module 'xf': expected one of the kernel's modules");
}

TEST(ModuleEntries, AreNumberedInLoadOrderAndUncompressed) {
  const test::TempDir folder;
  write_modules(folder);
  const auto entries = module_entries(folder / "", "xfs");
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 3U);
  EXPECT_EQ((*entries)[0].path, "lib/modules/xfs/00-crc32c.ko");
  EXPECT_EQ((*entries)[0].content, "library");
  EXPECT_EQ((*entries)[2].path, "lib/modules/xfs/02-xfs.ko");

  ASSERT_EQ(run_program({"xz", folder / "kernel/fs/xfs/xfs.ko"}, Milliseconds(10000))->exit_status,
            0);
  folder.write("modules.dep", "kernel/fs/xfs/xfs.ko.xz:\n");
  const auto unpacked = module_entries(folder / "", "xfs");
  ASSERT_TRUE(unpacked) << unpacked.error().message;
  EXPECT_EQ(unpacked->front().content, "file system");

  folder.write("kernel/fs/xfs/xfs.ko.xz", "damage");
  const auto damaged = module_entries(folder / "", "xfs");
  ASSERT_FALSE(damaged);
  EXPECT_THAT(damaged.error().message, testing::HasSubstr("xfs.ko.xz': xz ended with status 1"));
}

}  // namespace
}  // namespace pinfold::harness
