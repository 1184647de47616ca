#include "hook/pod_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "temp_dir.hpp"

/// The author of a container names a file, and the hook opens it as root.
namespace pinfold::tools {
namespace {

using testing::HasSubstr;

class PodFile : public testing::Test {
 protected:
  PodFile() {
    dir_.write("pods/db.yaml", "db");
    dir_.write("pods/team/web.yaml", "web");
    dir_.write("outside", "outside");
    std::filesystem::create_directory(dir_ / "podsx");
    dir_.write("podsx/file", "outside");
    std::filesystem::create_symlink("db.yaml", dir_ / "pods/link");
    std::filesystem::create_symlink("../outside", dir_ / "pods/out");
    std::filesystem::create_directory_symlink("..", dir_ / "pods/up");
    std::filesystem::create_directory_symlink("team", dir_ / "pods/same");
    std::filesystem::create_directory_symlink("pods", dir_ / "alias");
  }
  [[nodiscard]] Result<std::string> read(const std::string& path) const {
    return read_pod_file(path, {dir_ / "none", dir_ / "pods"});
  }

  test::TempDir dir_;
};

TEST_F(PodFile, LiesBelowADirectoryOfTheOperator) {
  EXPECT_EQ(read(dir_ / "pods/db.yaml"), "db");
  EXPECT_EQ(read(dir_ / "pods/./team//web.yaml"), "web");
  EXPECT_EQ(read_pod_file(dir_ / "pods/team/web.yaml", {dir_ / "pods/team/"}), "web");
  EXPECT_EQ(read_pod_file(dir_ / "alias/db.yaml", {dir_ / "alias"}), "db")
      << "the operator's own link";
}

TEST_F(PodFile, IsRefusedWithoutADirectory) {
  const auto read = read_pod_file(dir_ / "pods/db.yaml", {});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message,
            "the hook accepts no pod files: its command line has no --pod-file-dir");
  EXPECT_THAT(read_pod_file(dir_ / "pods/db.yaml", {"pods"}).error().message,
              HasSubstr("--pod-file-dir: 'pods': expected an absolute path"));
}

TEST_F(PodFile, IsRefusedElsewhere) {
  for (const std::string& path :
       {dir_ / "outside", dir_ / "podsx/file", dir_ / "pods", dir_ / "pods/",
        dir_ / "pods/../outside", dir_ / "pods/team/../db.yaml", dir_ / "pods/..",
        std::string("pods/db.yaml"), std::string("db.yaml"), std::string(), std::string("-"),
        std::string("/dev/stdin"), std::string("/etc/shadow"),
        dir_ / "pods/db.yaml" + std::string(1, '\0') + "x"}) {
    const auto text = read(path);
    ASSERT_FALSE(text) << path;
    EXPECT_EQ(text.error().code, ErrorCode::kInvalidArgument) << path;
    EXPECT_THAT(text.error().message, HasSubstr("below " + (dir_ / "none") + " or ")) << path;
  }
}

TEST_F(PodFile, IsNotReachedThroughALink) {
  for (const char* name : {"link", "out", "up/outside", "up/pods/db.yaml", "same/web.yaml"}) {
    const auto text = read(dir_ / "pods/" + name);
    ASSERT_FALSE(text) << name;
    EXPECT_THAT(text.error().message, HasSubstr("expected a path without links")) << name;
  }
}

TEST_F(PodFile, IsARegularFile) {
  ASSERT_EQ(::mkfifo((dir_ / "pods/fifo").c_str(), 0600), 0);
  for (const std::string& path : {dir_ / "pods/fifo", dir_ / "pods/team"}) {
    const auto text = read(path);
    ASSERT_FALSE(text) << path;
    EXPECT_THAT(text.error().message, HasSubstr("expected a regular file")) << path;
  }
  for (const char* device : {"/dev/zero", "/dev/null"}) {
    const auto text = read_pod_file(device, {"/dev"});
    ASSERT_FALSE(text) << device;
    EXPECT_THAT(text.error().message, HasSubstr("expected a regular file")) << device;
  }
  EXPECT_EQ(read(dir_ / "pods/nothing").error().code, ErrorCode::kNotFound);
}

TEST_F(PodFile, HasAtMostAMebibyte) {
  const std::string most(std::size_t{1} << 20U, 'x');
  dir_.write("pods/most", most);
  EXPECT_EQ(read(dir_ / "pods/most"), most);
  dir_.write("pods/sparse", "x");
  std::filesystem::resize_file(dir_ / "pods/sparse", std::uintmax_t{1} << 40U);
  const auto sparse = read(dir_ / "pods/sparse");
  ASSERT_FALSE(sparse);
  EXPECT_THAT(sparse.error().message, HasSubstr("more than 1 MiB"));
}

/// Makes the kernel answer openat2 with an error, as kernels before 5.6 and some sandboxes do.
void forbid_openat2(unsigned error) {
  std::array<sock_filter, 4> filter = {{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_openat2},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | error},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  }};
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  const bool done = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                    ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
  if (!done) std::exit(3);
}

TEST_F(PodFile, IsRefusedWithoutOpenat2) {
  for (const unsigned error : {unsigned{ENOSYS}, unsigned{EPERM}}) {
    const auto in_child = [&] {
      forbid_openat2(error);
      const auto text = read(dir_ / "pods/db.yaml");
      (void)std::fprintf(stderr, "%s\n", text ? text->c_str() : text.error().message.c_str());
      std::exit(text ? 1 : 0);
    };
    EXPECT_EXIT(in_child(), testing::ExitedWithCode(0),
                error == ENOSYS ? "the kernel has no openat2" : "Operation not permitted");
  }
}

}  // namespace
}  // namespace pinfold::tools
