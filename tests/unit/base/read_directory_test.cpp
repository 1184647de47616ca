#include "pinfold/base/read_directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "pinfold/base/unique_fd.hpp"
#include "temp_dir.hpp"

namespace pinfold {
namespace {

using test::TempDir;

UniqueFd open_directory(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

TEST(ReadDirectory, ReturnsFilesAndDirectoriesWithoutTheDots) {
  const TempDir dir;
  dir.write("file", "");
  std::filesystem::create_directory(dir.path() + "/directory");
  auto entries = read_directory(open_directory(dir.path()).get());
  ASSERT_TRUE(entries);
  std::sort(entries->begin(), entries->end(),
            [](const auto& one, const auto& other) { return one.name < other.name; });
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_EQ(entries->front().name, "directory");
  EXPECT_EQ(entries->front().type, DT_DIR);
  EXPECT_EQ(entries->back().name, "file");
  EXPECT_EQ(entries->back().type, DT_REG);
}

TEST(ReadDirectory, ReturnsMoreThanOneAnswerOfTheKernel) {
  const TempDir dir;
  const std::string longest(240, 'n');
  for (int i = 0; i < 100; ++i) dir.write(fmt::format("{}{}", longest, i), "");
  const auto entries = read_directory(open_directory(dir.path()).get());
  ASSERT_TRUE(entries);
  EXPECT_EQ(entries->size(), 100U);
}

TEST(ReadDirectory, FailsForAFile) {
  const TempDir dir;
  dir.write("file", "");
  const UniqueFd file(::open((dir.path() + "/file").c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(read_directory(file.get()));
  EXPECT_EQ(errno, ENOTDIR);
}

}  // namespace
}  // namespace pinfold
