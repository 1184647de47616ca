#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/base/unique_fd.hpp"
#include "pinfold/nri/session.hpp"
#include "pinfold/nri/ttrpc.hpp"
#include "unix_listener.hpp"

namespace pinfold::nri::test {

/// A runtime's end of the socket. Never blocks.
class SocketRuntime {
 public:
  explicit SocketRuntime(const std::string& path) : listener_(path) {}

  /// Reads incoming data, and answers RegisterPlugin. Any other call fails the test.
  void poll() {
    read();
    if (UniqueFd next = listener_.accept()) {
      connection_ = std::move(next);
      demultiplexer_ = {};
      server_ = {};
      client_ = {};
      output_.clear();
      is_registered = false;
      answers_before = std::exchange(answers, {});
      read();
    }
  }
  void close() {
    connection_.reset();
    is_registered = false;
  }
  [[nodiscard]] bool is_open() const { return static_cast<bool>(connection_); }
  /// Returns the descriptor to wait for; -1 without a connection.
  [[nodiscard]] int descriptor() const { return connection_.get(); }

  /// Calls the plugin. The answer arrives in `answers` under the returned number.
  std::uint32_t call(const std::string& method, const std::string& payload,
                     std::chrono::milliseconds timeout = std::chrono::milliseconds(10'000)) {
    std::string output;
    const auto stream = client_
                            .call({"nri.pkg.api.v1alpha1.Plugin",
                                   method,
                                   payload,
                                   std::chrono::nanoseconds(timeout).count(),
                                   {}},
                                  output)
                            .value();
    send(ConnectionId::kPlugin, output);
    return stream;
  }
  void answer(const ttrpc::TtrpcCall& call, const ttrpc::TtrpcResponse& response) {
    std::string output;
    ASSERT_TRUE(server_.answer(call.stream, response, output).has_value());
    send(ConnectionId::kRuntime, output);
  }

  bool is_registered = false;
  std::map<std::uint32_t, Result<std::string>> answers;
  std::map<std::uint32_t, Result<std::string>> answers_before;  ///< of the last connection

 private:
  void read() {
    if (!connection_) return;
    write();
    std::array<char, 65536> buffer{};
    ssize_t size = 0;
    while ((size = ::recv(connection_.get(), buffer.data(), buffer.size(), 0)) > 0) {
      take({buffer.data(), static_cast<std::size_t>(size)});
    }
    if (size == 0) close();
  }
  void send(ConnectionId connection, const std::string& bytes) {
    multiplex(connection, bytes, output_);
    write();
  }
  /// Writes as much output as the socket takes.
  void write() {
    while (!output_.empty()) {
      const auto sent = ::send(connection_.get(), output_.data(), output_.size(), MSG_NOSIGNAL);
      if (sent < 0) {
        ASSERT_EQ(errno, EAGAIN);
        return;
      }
      output_.erase(0, static_cast<std::size_t>(sent));
    }
  }
  void take(std::string_view bytes) {
    while (auto chunk = demultiplexer_.next(bytes).value()) {
      std::string output;
      if (chunk->connection == static_cast<std::uint32_t>(ConnectionId::kPlugin)) {
        while (auto reply = client_.next(chunk->bytes).value()) {
          answers.emplace(reply->stream, std::move(reply->payload));
        }
        continue;
      }
      while (auto call = server_.next(chunk->bytes, output).value()) {
        if (call->request.method != "RegisterPlugin") {
          ADD_FAILURE() << "the plugin has sent " << call->request.method << " by itself";
          continue;
        }
        is_registered = true;
        answer(*call, {});
      }
    }
  }

  pinfold::test::UnixListener listener_;
  UniqueFd connection_;
  std::string output_;  ///< output that the socket did not take
  Demultiplexer demultiplexer_;
  ttrpc::TtrpcServer server_;
  ttrpc::TtrpcClient client_;
};

}  // namespace pinfold::nri::test
