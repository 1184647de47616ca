#include "pinfold/audit/tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "temp_dir.hpp"

namespace pinfold::audit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Tree, KeepsLinksInsideItsRoot) {
  const test::TempDir dir;
  dir.write("root/etc/a", "inside\n");
  dir.write("etc/a", "outside\n");
  std::filesystem::create_symlink("/etc/a", dir / "root/absolute");
  std::filesystem::create_symlink("../../../../etc/a", dir / "root/climbing");
  const auto tree = Tree::open(dir / "root");
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->read("/absolute"), "inside");
  EXPECT_EQ(tree->read("/climbing"), "inside");
  EXPECT_EQ(tree->read("/../etc/a"), "inside");
  EXPECT_EQ(tree->link("/absolute"), "/etc/a");
  EXPECT_EQ(tree->read_exactly("/etc/a"), "inside\n");
}

TEST(Tree, OpensOnlyFilesThatDoNotBlock) {
  const test::TempDir dir;
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  std::filesystem::create_directory(dir / "directory");
  const auto tree = Tree::open(dir.path());
  ASSERT_TRUE(tree);
  for (const char* const name : {"/pipe", "/directory"}) {
    const auto text = tree->read(name);
    ASSERT_FALSE(text) << name;
    EXPECT_THAT(text.error().message, HasSubstr("expected a regular file"));
  }
  EXPECT_EQ(tree->read("/absent").error().code, ErrorCode::kNotFound);
  EXPECT_THAT(*tree->list_directories("/"), ElementsAre("directory"));
  EXPECT_THAT(*tree->list("/"), ElementsAre("directory", "pipe"));
}

TEST(Tree, NeedsADirectory) {
  const test::TempDir dir;
  dir.write("file", "");
  EXPECT_THAT(Tree::open(dir / "absent").error().message, HasSubstr("root '"));
  EXPECT_FALSE(Tree::open(dir / "file"));
}

}  // namespace
}  // namespace pinfold::audit
