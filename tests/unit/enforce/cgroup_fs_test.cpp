#include "pinfold/enforce/cgroup_fs.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "temp_dir.hpp"

namespace pinfold::enforce {
namespace {

namespace fs = std::filesystem;

/// A directory "root" to open, next to a "secret" that must not be touched.
class CgroupFsTest : public testing::Test {
 protected:
  CgroupFsTest() {
    fs::create_directories(dir_ / "root/podx");
    fs::create_directories(dir_ / "secret");
    put("secret/cpuset.cpus", "secret");
    put("root/podx/cpuset.cpus", "0-3\n");
    fs_ = open_cgroup_fs(dir_ / "root").value();
  }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(dir_ / name) << text;
  }
  [[nodiscard]] std::string get(const std::string& name) const {
    std::ifstream in(dir_ / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  test::TempDir dir_;
  std::unique_ptr<CgroupFs> fs_;
};

TEST_F(CgroupFsTest, ReadsWithoutTheLastNewline) {
  EXPECT_EQ(fs_->read("podx", "cpuset.cpus").value(), "0-3");
}

TEST_F(CgroupFsTest, WritesTheWholeValueWithANewline) {
  ASSERT_TRUE(fs_->write("podx", "cpuset.cpus", "1-2").has_value());
  EXPECT_EQ(get("root/podx/cpuset.cpus").substr(0, 4), "1-2\n");
}

TEST_F(CgroupFsTest, CreatesNoFile) {
  const auto written = fs_->write("podx", "cpu.max", "max");
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, ErrorCode::kNotFound);
  EXPECT_NE(written.error().message.find("write 'max' to '" + dir_ / "root/podx/cpu.max'"),
            std::string::npos)
      << written.error().message;
  EXPECT_FALSE(fs::exists(dir_ / "root/podx/cpu.max"));
}

TEST_F(CgroupFsTest, MakesAndRemovesGroupsIdempotently) {
  EXPECT_TRUE(fs_->make_group("podx").has_value());
  EXPECT_TRUE(fs_->make_group("podx/c").has_value());
  EXPECT_TRUE(fs::is_directory(dir_ / "root/podx/c"));
  EXPECT_TRUE(fs_->remove_group("podx/c").has_value());
  EXPECT_FALSE(fs::exists(dir_ / "root/podx/c"));
  EXPECT_TRUE(fs_->remove_group("podx/c").has_value());
}

TEST_F(CgroupFsTest, ListsGroupsInOrderAndNoFiles) {
  ASSERT_TRUE(fs_->make_group("podx/b").has_value());
  ASSERT_TRUE(fs_->make_group("podx/a").has_value());
  EXPECT_EQ(fs_->children("podx").value(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(fs_->children("").value(), (std::vector<std::string>{"podx"}));
}

TEST_F(CgroupFsTest, NeverLeavesItsDirectory) {
  fs::create_directory_symlink(dir_ / "secret", dir_ / "root/link");
  fs::create_directory_symlink(dir_ / "secret", dir_ / "root/podx/link");
  const std::string ways[] = {"..",   "../secret", "podx/../../secret", "/", dir_ / "secret",
                              "link", "podx/link", "podx/../podx/link", "."};
  for (const std::string& way : ways) {
    EXPECT_FALSE(fs_->write(way, "cpuset.cpus", "0").has_value()) << way;
    EXPECT_FALSE(fs_->read(way, "cpuset.cpus").has_value()) << way;
    EXPECT_FALSE(fs_->make_group(way + "/new").has_value() && way != ".") << way;
    EXPECT_FALSE(fs_->remove_group(way).has_value()) << way;
  }
  EXPECT_EQ(get("secret/cpuset.cpus"), "secret");
  EXPECT_FALSE(fs::exists(dir_ / "secret/new"));
  EXPECT_FALSE(fs::exists(dir_ / "new"));
}

TEST_F(CgroupFsTest, DoesNotFollowAFileThatIsALink) {
  fs::create_symlink(dir_ / "secret/cpuset.cpus", dir_ / "root/podx/cpuset.mems");
  const auto written = fs_->write("podx", "cpuset.mems", "0");
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().sys_errno, ELOOP);
  EXPECT_EQ(get("secret/cpuset.cpus"), "secret");
}

TEST(OpenCgroupFs, NamesTheMissingDirectory) {
  const auto opened = open_cgroup_fs("/nonexistent/x");
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::kNotFound);
  EXPECT_NE(opened.error().message.find("'/nonexistent/x'"), std::string::npos);
}

}  // namespace
}  // namespace pinfold::enforce
