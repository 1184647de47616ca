#include "pinfold/socket/listener.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "temp_dir.hpp"

/// The socket in the file system.
namespace pinfold::socket {
namespace {

using testing::HasSubstr;

class ListenerTest : public testing::Test {
 protected:
  [[nodiscard]] bool exists() const { return ::access(path_.c_str(), F_OK) == 0; }
  test::TempDir dir_;
  std::string path_ = dir_ / "agent.sock";
};

TEST_F(ListenerTest, OnlyItsUserAndGroupCanConnect) {
  const auto listener = Listener::open(path_, "no such group");
  ASSERT_TRUE(listener.has_value()) << listener.error().message;
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0660U);
  EXPECT_EQ(status.st_gid, ::getegid());
}

TEST_F(ListenerTest, RemovesItsSocket) {
  {
    const auto listener = Listener::open(path_);
    EXPECT_TRUE(exists());
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
}

TEST_F(ListenerTest, IsNotStoppedByWhatAStartLeft) {
  dir_.write("agent.sock.new", "");
  const auto listener = Listener::open(path_);
  EXPECT_TRUE(listener.has_value()) << listener.error().message;
}

TEST_F(ListenerTest, LeavesTheSocketOfAnother) {
  {
    auto first = Listener::open(path_);
    ASSERT_EQ(::unlink(path_.c_str()), 0);
    dir_.write("hole", "");  // the next file gets another inode
    auto second = Listener::open(path_);
    ASSERT_TRUE(second.has_value());
    std::optional<Listener> ended(*std::move(first));
    ended.reset();
    EXPECT_TRUE(exists());
  }
  EXPECT_FALSE(exists());
}

TEST_F(ListenerTest, ReplacesOneThatAKilledServiceLeft) {
  {
    auto killed = Listener::open(path_);
    ASSERT_EQ(::rename(path_.c_str(), (dir_ / "kept").c_str()), 0);
  }
  ASSERT_EQ(::rename((dir_ / "kept").c_str(), path_.c_str()), 0);
  const auto listener = Listener::open(path_);
  EXPECT_TRUE(listener.has_value()) << listener.error().message;
}

TEST_F(ListenerTest, DoesNotReplaceOneThatIsListenedAt) {
  const auto first = Listener::open(path_);
  const auto second = Listener::open(path_);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kBusy);
  EXPECT_TRUE(exists());
}

TEST_F(ListenerTest, DoesNotReplaceAnotherFile) {
  dir_.write("agent.sock", "text");
  const auto listener = Listener::open(path_);
  ASSERT_FALSE(listener.has_value());
  EXPECT_THAT(listener.error().message, HasSubstr("is not a socket"));
}

TEST_F(ListenerTest, RefusesALongPath) {
  EXPECT_EQ(Listener::open("/" + std::string(108, 'x')).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(Listener::open("").error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace pinfold::socket
