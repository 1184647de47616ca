#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "pinfold/checkpoint/fs.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "temp_dir.hpp"

namespace pinfold::checkpoint {
namespace {

TEST(PosixFs, ReadsNoMoreThanTheLargestStateFile) {
  const test::TempDir folder;
  const auto fs = open_directory(folder.path()).value();
  folder.write("largest", "");
  std::filesystem::resize_file(folder / "largest", kMaxStateFileBytes);
  EXPECT_EQ(fs->read("largest").value()->size(), kMaxStateFileBytes);
  for (const std::uintmax_t size :
       {std::uintmax_t{kMaxStateFileBytes} + 1, std::uintmax_t{3} << 30U}) {
    std::filesystem::resize_file(folder / "largest", size);
    const auto read = fs->read("largest");
    ASSERT_FALSE(read.has_value());
    EXPECT_EQ(read.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(read.error().message, "'largest' has more than 16777216 bytes");
  }
  std::filesystem::create_symlink("/dev/zero", folder / "zero");
  EXPECT_FALSE(fs->read("zero").has_value());
}

TEST(PosixFile, WritesOverTheRoomThatItReserved) {
  const test::TempDir folder;
  const auto fs = open_directory(folder.path()).value();
  const auto file = fs->create("file").value();
  EXPECT_EQ(file->write("one"), 3U);
  ASSERT_TRUE(file->reserve(5));
  EXPECT_EQ(fs->read("file").value(), "one" + std::string(5, '\0'));
  EXPECT_EQ(file->write("two"), 3U);
  ASSERT_TRUE(file->sync());
  EXPECT_EQ(fs->read("file").value(), "onetwo" + std::string(2, '\0'));
  EXPECT_EQ(file->write("three"), 5U);
  EXPECT_EQ(fs->read("file").value(), "onetwothree");
}

TEST(Store, RefusesWhatItCouldNotReadBack) {
  const test::TempDir folder;
  auto store = Store::open(folder.path()).value();
  const auto small = Files{"{}", {}, {}};
  ASSERT_TRUE(store.commit(small).has_value());
  const auto large = store.commit({{}, {}, std::string(kMaxStateFileBytes, ' ')});
  ASSERT_FALSE(large.has_value());
  EXPECT_EQ(large.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(store.load(), small);
}

}  // namespace
}  // namespace pinfold::checkpoint
