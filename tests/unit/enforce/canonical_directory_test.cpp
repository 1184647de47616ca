#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "pinfold/enforce/cgroups.hpp"
#include "temp_dir.hpp"

/// canonical_directory on the kernel that runs the tests, with two empty groups that are removed
/// again.
namespace pinfold::enforce {
namespace {

namespace fs = std::filesystem;

class CanonicalDirectory : public testing::Test {
 protected:
  void SetUp() override {
    const auto root = default_root();
    if (!root) GTEST_SKIP() << root.error().message;
    mount_ = fs::path(*root).parent_path();
    parent_ = fmt::format("{}/pinfold-canonical-{}", mount_, ::getpid());
    group_ = parent_ + "/inner";
    std::error_code failed;
    fs::create_directories(group_, failed);
    if (failed) GTEST_SKIP() << "needs a group in '" << mount_ << "': " << failed.message();
    cpusets_.directory = mount_;
    cpusets_.version =
        fs::exists(mount_ + "/cgroup.controllers") ? CgroupVersion::kV2 : CgroupVersion::kV1;
  }
  void TearDown() override {
    while (!mounted_.empty()) {  // unmount before the directory is removed with its contents
      (void)::umount2(mounted_.back().c_str(), MNT_DETACH);
      mounted_.pop_back();
    }
    std::error_code failed;
    for (const std::string& each : {group_, parent_}) (void)::rmdir(each.c_str());
  }
  /// Returns "" if this user may not mount.
  std::string mount_at(const std::string& name, const std::string& source, const char* type,
                       unsigned long flags, const char* options) {
    const std::string point = dir_ / name;
    fs::create_directories(point);
    if (::mount(source.c_str(), point.c_str(), type, flags, options) != 0) return "";
    mounted_.push_back(point);
    return point;
  }
  void expect_group(const std::string& spelling) const {
    const auto real = canonical_directory(spelling, cpusets_);
    ASSERT_TRUE(real.has_value()) << spelling << ": " << real.error().message;
    EXPECT_EQ(*real, group_) << spelling;
  }
  void expect_refusal(const std::string& spelling) const {
    const auto real = canonical_directory(spelling, cpusets_);
    ASSERT_FALSE(real.has_value()) << spelling << " is " << *real;
    EXPECT_EQ(real.error().code, ErrorCode::kInvalidArgument) << real.error().message;
  }

  std::string mount_;
  std::string parent_;
  std::string group_;
  HierarchyRoot cpusets_;
  test::TempDir dir_;
  std::vector<std::string> mounted_;
};

TEST_F(CanonicalDirectory, OfOneGroupIsTheSameInEverySpelling) {
  fs::create_directory_symlink(group_, dir_ / "link");
  fs::create_directory_symlink(parent_, dir_ / "link-above");
  fs::create_directory_symlink(dir_ / "link", dir_ / "link-to-link");
  const int open = ::open(group_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  for (const std::string& spelling :
       {group_, group_ + "/", group_ + "//", group_ + "/.", "/" + group_, "//" + group_,
        parent_ + "//inner", parent_ + "/./inner", parent_ + "/inner/../inner",
        mount_ + "/../" + fs::path(mount_).filename().string() + "/" +
            fs::path(parent_).filename().string() + "/inner",
        "/proc/self/root" + group_, "/proc/thread-self/root" + group_,
        fmt::format("/proc/{}/root{}", ::getpid(), group_), fmt::format("/proc/self/fd/{}", open),
        dir_ / "link", dir_ / "link/", dir_ / "link-to-link", dir_ / "link-above/inner",
        dir_ / "link-above/../" + fs::path(parent_).filename().string() + "/inner"}) {
    expect_group(spelling);
  }
  (void)::close(open);
}

TEST_F(CanonicalDirectory, OfAnotherMountIsThatOfTheMountWithTheRoot) {
  const std::string bind = mount_at("bind", mount_, nullptr, MS_BIND, nullptr);
  if (bind.empty()) GTEST_SKIP() << "needs the right to mount";
  expect_group(bind + "/" + fs::path(parent_).filename().string() + "/inner");
  expect_group(mount_at("bind-parent", parent_, nullptr, MS_BIND, nullptr) + "/inner");
  expect_group(mount_at("bind-group", group_, nullptr, MS_BIND, nullptr));
  const bool is_v1 = cpusets_.version == CgroupVersion::kV1;
  const std::string second =
      mount_at("second", "cgroup", is_v1 ? "cgroup" : "cgroup2", 0, is_v1 ? "cpuset" : nullptr);
  if (!second.empty()) {
    expect_group(second + "/" + fs::path(parent_).filename().string() + "/inner");
  }
  // If the root is given through another mount, names are those of that mount.
  cpusets_.directory = mounted_[1];
  const auto real = canonical_directory(group_, cpusets_);
  ASSERT_TRUE(real.has_value()) << real.error().message;
  EXPECT_EQ(*real, mounted_[1] + "/inner");
  expect_refusal(mount_);  // it is above the mounted directory
}

TEST_F(CanonicalDirectory, OfAnythingElseIsRefused) {
  expect_refusal("");
  expect_refusal("relative");
  expect_refusal("." + group_);
  for (const char* other : {"/", "/etc", "/proc", "/proc/self/cwd/"}) expect_refusal(other);
  const std::string unified = "/sys/fs/cgroup/unified";
  if (cpusets_.version == CgroupVersion::kV1 && fs::exists(unified)) expect_refusal(unified);
  const auto missing = canonical_directory(parent_ + "/none", cpusets_);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(canonical_directory(group_ + "/cgroup.procs", cpusets_).has_value());
}

/// A mount over the group hides it, so the name refers to something else.
TEST_F(CanonicalDirectory, OfAHiddenGroupIsRefused) {
  const std::string bind = mount_at("bind", group_, nullptr, MS_BIND, nullptr);
  if (bind.empty()) GTEST_SKIP() << "needs the right to mount";
  const std::string hidden = dir_ / "empty";
  fs::create_directories(hidden);
  if (::mount(hidden.c_str(), parent_.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    GTEST_SKIP() << "needs the right to mount";
  }
  mounted_.push_back(parent_);
  expect_refusal(bind);
}

struct PathCase {
  const char* path;
  const char* home;
  const char* expected;  ///< "": rejected
};

TEST(PathInMountOf, TranslatesBetweenMountsOfAHierarchy) {
  const auto mounts = parse_mountinfo(
      "1 0 0:1 / / rw - ext4 /dev/sda rw\n"
      "2 1 0:2 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
      "3 1 0:2 /docker/1 /c/cpuset rw - cgroup cgroup rw,cpuset\n"
      "4 1 0:2 /docker /d rw - cgroup cgroup rw,cpuset\n"
      "5 1 0:3 / /v2 rw - cgroup2 cgroup2 rw\n");
  ASSERT_TRUE(mounts.has_value());
  const PathCase cases[] = {
      {"/sys/fs/cgroup/cpuset/a", "/sys/fs/cgroup/cpuset/pinfold", "/sys/fs/cgroup/cpuset/a"},
      {"/sys/fs/cgroup/cpuset/docker/1/x", "/c/cpuset", "/c/cpuset/x"},
      {"/sys/fs/cgroup/cpuset/docker/1", "/c/cpuset/p", "/c/cpuset"},
      {"/c/cpuset/x", "/sys/fs/cgroup/cpuset", "/sys/fs/cgroup/cpuset/docker/1/x"},
      {"/c/cpuset", "/sys/fs/cgroup/cpuset", "/sys/fs/cgroup/cpuset/docker/1"},
      {"/d/1/x", "/c/cpuset", "/c/cpuset/x"},
      {"/d/10", "/c/cpuset", ""},
      {"/sys/fs/cgroup/cpuset/other", "/c/cpuset", ""},
      {"/v2/a", "/c/cpuset", ""},
      {"/etc", "/c/cpuset", ""},
      {"/c/cpuset/x", "/etc", ""},
  };
  for (const PathCase& one : cases) {
    const auto path = path_in_mount_of(*mounts, one.path, one.home);
    EXPECT_EQ(path.value_or(""), one.expected) << one.path << " at " << one.home;
  }
}

}  // namespace
}  // namespace pinfold::enforce
