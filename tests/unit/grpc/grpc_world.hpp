#pragma once

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "pinfold/grpc/endpoint.hpp"
#include "temp_dir.hpp"

namespace pinfold::test {

/// Services on a socket, and channels to it.
class ServedSocket {
 public:
  explicit ServedSocket(const std::vector<::grpc::Service*>& services,
                        pinfold::grpc::EndpointOptions options = {}) {
    auto started = pinfold::grpc::Endpoint::start(socket::Listener::open(path()).value(), services,
                                                  std::move(options));
    if (!started) throw std::runtime_error(started.error().message);
    endpoint_ = *std::move(started);
  }

  [[nodiscard]] std::string path() const { return dir_ / "s.sock"; }
  /// Returns a separate connection whose window does not grow, so that unread data stays small.
  [[nodiscard]] std::shared_ptr<::grpc::Channel> connect() const {
    ::grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    return ::grpc::CreateCustomChannel("unix:" + path(), ::grpc::InsecureChannelCredentials(),
                                       arguments);
  }
  void stop() { endpoint_.reset(); }

 private:
  TempDir dir_;
  std::unique_ptr<pinfold::grpc::Endpoint> endpoint_;
};

}  // namespace pinfold::test
