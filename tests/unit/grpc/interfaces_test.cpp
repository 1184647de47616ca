#include "pinfold/process/interfaces.hpp"

#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>
#include <podresources/v1/podresources.grpc.pb.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "agent_world.hpp"
#include "pinfold/settings/log.hpp"
#include "pinfold/socket/listener.hpp"
#include "temp_dir.hpp"

/// The socket at which clients expect a kubelet.
namespace pinfold::process {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Returns the inode of a path; 0 without a file.
ino_t inode(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

class InterfacesTest : public testing::Test {
 protected:
  [[nodiscard]] Result<std::unique_ptr<Interfaces>> start() {
    return Interfaces::start(
        {"", {socket_, second_, ""}, ""}, worker_,
        [this](agent::LogLevel level, std::string_view message) {
          log_.push_back(std::string(settings::to_string(level)) + ": " + std::string(message));
        });
  }
  /// Returns whether the socket serves a list of pods.
  [[nodiscard]] bool is_served() const { return is_served(socket_); }
  [[nodiscard]] static bool is_served(const std::string& socket) {
    ::grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto stub = ::v1::PodResourcesLister::NewStub(::grpc::CreateCustomChannel(
        "unix:" + socket, ::grpc::InsecureChannelCredentials(), arguments));
    ::grpc::ClientContext context;
    ::v1::ListPodResourcesResponse response;
    return stub->List(&context, {}, &response).ok();
  }

  test::TempDir dir_;
  std::string directory_ = dir_ / "pod-resources";
  std::string socket_ = directory_ + "/kubelet.sock";
  std::string second_ = dir_ / "run/pod-resources/kubelet.sock";
  test::World world_;
  worker::Worker worker_{world_.open(), worker::WorkerOptions{}};
  std::vector<std::string> log_;
};

TEST_F(InterfacesTest, MakesTheDirectoryAndRemovesItsSocket) {
  auto served = start();
  ASSERT_TRUE(served.has_value()) << served.error().message;
  EXPECT_TRUE(is_served());
  struct stat status {};
  ASSERT_EQ(::stat(directory_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0750U);
  EXPECT_THAT(log_, ElementsAre("info: serves PodResources at socket '" + socket_ + "'"));
  served->reset();
  EXPECT_EQ(inode(socket_), 0U);
}

TEST_F(InterfacesTest, LeavesTheSocketToAKubeletThatServesIt) {
  ASSERT_EQ(::mkdir(directory_.c_str(), 0750), 0);
  const auto kubelet = socket::Listener::open(socket_).value();
  const ino_t before = inode(socket_);
  auto served = start();
  ASSERT_TRUE(served.has_value()) << served.error().message;
  EXPECT_THAT(log_, ElementsAre("info: serves PodResources at socket '" + second_ + "': socket '" +
                                socket_ + "': another process listens there"));
  EXPECT_TRUE(is_served(second_));
  EXPECT_EQ((*served)->pod_resources().socket, second_);
  EXPECT_THAT((*served)->pod_resources().reason, HasSubstr("another process listens there"));
  served->reset();
  EXPECT_EQ(inode(socket_), before);
  EXPECT_EQ(inode(second_), 0U);
}

/// A container may have mounted the directory, so it outlives the service. Its group and mode let
/// exporters in.
TEST_F(InterfacesTest, TheDirectoryOfTheSecondPlaceStays) {
  socket_ = second_;  // as with NRI
  const std::string directory = dir_ / "run/pod-resources";
  ino_t before = 0;
  for (int start_number = 0; start_number < 2; ++start_number) {
    const auto served = start();
    ASSERT_TRUE(served.has_value()) << served.error().message;
    EXPECT_TRUE(is_served());
    struct stat status {};
    ASSERT_EQ(::stat(directory.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0750U);
    if (start_number > 0) {
      EXPECT_EQ(status.st_ino, before);
    }
    before = status.st_ino;
  }
}

TEST_F(InterfacesTest, SaysThatBothPlacesAreTaken) {
  ASSERT_EQ(::mkdir(directory_.c_str(), 0750), 0);
  const auto kubelet = socket::Listener::open(socket_).value();
  second_ = dir_ / "other.sock";
  const auto other = socket::Listener::open(second_).value();
  const auto served = start();
  ASSERT_TRUE(served.has_value()) << served.error().message;
  EXPECT_EQ((*served)->pod_resources().socket, "");
  EXPECT_THAT(log_, ElementsAre(testing::StartsWith("warning: does not serve PodResources: ")));
  EXPECT_THAT(log_.front(), HasSubstr(socket_));
  EXPECT_THAT(log_.front(), HasSubstr(second_));
}

TEST_F(InterfacesTest, APlaceThatNobodyAskedForStopsNoService) {
  dir_.write("file", "");
  socket_ = dir_ / "file/pod-resources/kubelet.sock";
  second_ = socket_;
  const auto served = start();
  ASSERT_TRUE(served.has_value()) << served.error().message;
  EXPECT_THAT((*served)->pod_resources().reason, HasSubstr("make directory"));
}

TEST_F(InterfacesTest, ReplacesASocketThatNobodyListensAt) {
  ASSERT_EQ(::mkdir(directory_.c_str(), 0750), 0);
  {
    const auto kubelet = socket::Listener::open(socket_).value();
    ASSERT_EQ(::link(socket_.c_str(), (dir_ / "kept").c_str()), 0);
  }
  ASSERT_EQ(::rename((dir_ / "kept").c_str(), socket_.c_str()), 0);
  const auto served = start();
  ASSERT_TRUE(served.has_value()) << served.error().message;
  EXPECT_TRUE(is_served());
}

TEST_F(InterfacesTest, AKubeletThatStartsLaterKeepsTheSocket) {
  auto served = start();
  ASSERT_TRUE(served.has_value()) << served.error().message;
  ASSERT_EQ(::unlink(socket_.c_str()), 0);  // as a kubelet does
  const auto kubelet = socket::Listener::open(socket_).value();
  const ino_t of_kubelet = inode(socket_);
  worker_.stop();
  worker_.run();
  served->reset();
  EXPECT_EQ(inode(socket_), of_kubelet);
}

TEST_F(InterfacesTest, MakesNoDirectoryWhereOthersCan) {
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0777), 0);
  const auto served = start();
  ASSERT_FALSE(served.has_value());
  EXPECT_THAT(served.error().message, HasSubstr("other users can change '" + dir_.path() + "'"));
  EXPECT_EQ(inode(directory_), 0U);
}

TEST_F(InterfacesTest, MakesTheDirectoriesAboveToo) {
  socket_ = dir_ / "kubelet/pod-resources/kubelet.sock";
  const auto served = start();
  ASSERT_TRUE(served.has_value()) << served.error().message;
  EXPECT_TRUE(is_served());
}

TEST_F(InterfacesTest, NamesTheDirectoryThatItCannotMake) {
  dir_.write("file", "");
  socket_ = dir_ / "file/pod-resources/kubelet.sock";
  const auto served = start();
  ASSERT_FALSE(served.has_value());
  EXPECT_THAT(served.error().message,
              HasSubstr("make directory '" + (dir_ / "file/pod-resources'")));
}

}  // namespace
}  // namespace pinfold::process
