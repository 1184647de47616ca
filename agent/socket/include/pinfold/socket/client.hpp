#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "pinfold/base/unique_fd.hpp"
#include "pinfold/socket/protocol.hpp"

namespace pinfold::socket {

/// A command's connection to the service. One call at a time.
class Client {
 public:
  /// The longest time that the service may take for one message, in addition to the time that a
  /// call may wait.
  static constexpr std::chrono::milliseconds kAnswerTime{120'000};

  /// Connects, and waits for a service that is starting. Returns nullopt if no service listens on
  /// the socket, if it is just ending, or if the user may not connect.
  /// Errors: kInvalidArgument for a path that is too long and for a service of another user;
  /// kUnsupported for another version of the protocol; kBusy if it takes no more connections; kIo.
  [[nodiscard]] static Result<std::optional<Client>> connect(
      const std::string& socket, std::chrono::milliseconds answer_time = kAnswerTime);

  [[nodiscard]] const Hello& hello() const { return *hello_; }
  /// Waits for the answer. `timeout` limits the wait until the request is executed.
  /// Errors: those of the request; kBusy if it was not executed in time; stopping_error() also if
  /// the connection breaks before the whole request was sent, which is then not executed. After
  /// that, agent::unknown_outcome() for a request that can_change(), otherwise kIo, if the
  /// connection breaks, the time for an answer ends or the answer is malformed.
  [[nodiscard]] Result<verbs::Answer> call(verbs::Action action, std::chrono::milliseconds timeout);

 private:
  Client(UniqueFd connection, std::string name, std::chrono::milliseconds answer_time)
      : connection_(std::move(connection)), name_(std::move(name)), answer_time_(answer_time) {}
  [[nodiscard]] Result<std::string> exchange(std::string message,
                                             std::chrono::milliseconds longest);
  [[nodiscard]] Result<std::string> receive(std::chrono::steady_clock::time_point end);

  UniqueFd connection_;
  std::string name_;  ///< for messages
  std::chrono::milliseconds answer_time_;
  std::string received_;
  bool is_sent_ = false;        ///< whether the whole last message was sent
  std::optional<Hello> hello_;  ///< always set once connected
};

}  // namespace pinfold::socket
