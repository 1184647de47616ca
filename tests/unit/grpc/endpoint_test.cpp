#include "pinfold/grpc/endpoint.hpp"

#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <pinfold/v1/pinfold.grpc.pb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "grpc_world.hpp"
#include "pinfold/socket/unix_socket.hpp"

/// Access control, and misbehaving clients.
namespace pinfold::grpc {
namespace {

using testing::Contains;
using testing::HasSubstr;

/// Answers Status only.
class FakeApi final : public v1::Pinfold::CallbackService {
 public:
  ::grpc::ServerUnaryReactor* Status(::grpc::CallbackServerContext* context,
                                     const v1::StatusRequest* /*request*/,
                                     v1::StatusResponse* response) override {
    response->set_round(7);
    auto* const reactor = context->DefaultReactor();
    reactor->Finish(::grpc::Status::OK);
    return reactor;
  }
};

class EndpointTest : public testing::Test {
 protected:
  [[nodiscard]] EndpointOptions options() {
    EndpointOptions options;
    options.log = [this](agent::LogLevel /*level*/, std::string_view message) {
      const std::lock_guard lock(mutex_);
      log_.emplace_back(message);
    };
    return options;
  }
  [[nodiscard]] std::vector<std::string> log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }
  [[nodiscard]] static ::grpc::Status call(const test::ServedSocket& socket) {
    const auto stub = v1::Pinfold::NewStub(socket.connect());
    ::grpc::ClientContext context;
    v1::StatusResponse response;
    auto status = stub->Status(&context, {}, &response);
    EXPECT_EQ(response.round(), status.ok() ? 7U : 0U);
    return status;
  }
  /// Returns a connection that does not speak HTTP/2.
  [[nodiscard]] static UniqueFd connect_raw(const test::ServedSocket& socket) {
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = socket::socket_address(socket.path()).value();
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return fd;
  }

  FakeApi api_;
  std::mutex mutex_;
  std::vector<std::string> log_;
};

TEST_F(EndpointTest, ServesItsOwnUser) {
  const test::ServedSocket socket({&api_}, options());
  EXPECT_TRUE(call(socket).ok());
  EXPECT_TRUE(call(socket).ok()) << "another connection";
}

TEST_F(EndpointTest, ClosesTheConnectionOfAStranger) {
  EndpointOptions strict = options();
  strict.check = [](int /*connection*/) -> Result<void> {
    return fail(ErrorCode::kInvalidArgument, "user 1234 may not use this service");
  };
  const test::ServedSocket socket({&api_}, strict);
  const auto status = call(socket);
  EXPECT_EQ(status.error_code(), ::grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(log(), Contains(HasSubstr("user 1234 may not use this service: connection closed")));
}

TEST_F(EndpointTest, ConnectionsThatSayNothingOrNonsenseBlockNobody) {
  const test::ServedSocket socket({&api_}, options());
  const UniqueFd silent = connect_raw(socket);
  const UniqueFd nonsense = connect_raw(socket);
  const std::string text(100'000, 'x');
  (void)::send(nonsense.get(), text.data(), text.size(), MSG_NOSIGNAL);
  const UniqueFd half = connect_raw(socket);
  (void)::send(half.get(), "PRI * HT", 8, MSG_NOSIGNAL);
  EXPECT_TRUE(call(socket).ok());
}

TEST_F(EndpointTest, ClosesConnectionsAboveTheLimitAndForgetsEndedOnes) {
  EndpointOptions few = options();
  few.max_connections = 2;
  const test::ServedSocket socket({&api_}, few);
  UniqueFd first = connect_raw(socket);
  const UniqueFd second = connect_raw(socket);
  const UniqueFd third = connect_raw(socket);
  char byte = 0;
  EXPECT_LE(::recv(third.get(), &byte, 1, 0), 0) << "closed without an answer";
  EXPECT_THAT(log(), Contains(HasSubstr("2 connections: further ones are closed")));
  first.reset();
  while (!call(socket).ok()) std::this_thread::yield();  // until gRPC has noticed
}

TEST_F(EndpointTest, TheOwnerHasConnectionsThatOthersCannotTake) {
  std::atomic<bool> is_owner = false;
  EndpointOptions few = options();
  few.max_connections = 3;
  few.reserved_connections = 1;
  few.is_owner = [&](int /*connection*/) { return is_owner.load(); };
  const test::ServedSocket socket({&api_}, few);
  const UniqueFd first = connect_raw(socket);
  const UniqueFd second = connect_raw(socket);
  const UniqueFd third = connect_raw(socket);
  char byte = 0;
  EXPECT_LE(::recv(third.get(), &byte, 1, 0), 0) << "closed without an answer";
  is_owner = true;
  EXPECT_TRUE(call(socket).ok());
}

TEST_F(EndpointTest, RefusesALargeMessage) {
  EndpointOptions small = options();
  small.max_message = 1000;
  const test::ServedSocket socket({&api_}, small);
  const auto stub = v1::Pinfold::NewStub(socket.connect());
  ::grpc::ClientContext context;
  v1::AdmitRequest request;
  request.set_manifest(std::string(2000, ' '));
  v1::AdmitResponse response;
  const auto status = stub->Admit(&context, request, &response);
  EXPECT_EQ(status.error_code(), ::grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("larger than max"));
}

TEST_F(EndpointTest, RemovesItsSocketWhenItStops) {
  test::ServedSocket socket({&api_}, options());
  const auto channel = socket.connect();
  const auto stub = v1::Pinfold::NewStub(channel);
  socket.stop();
  EXPECT_NE(::access(socket.path().c_str(), F_OK), 0);
  ::grpc::ClientContext context;
  v1::StatusResponse response;
  EXPECT_EQ(stub->Status(&context, {}, &response).error_code(), ::grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace pinfold::grpc
