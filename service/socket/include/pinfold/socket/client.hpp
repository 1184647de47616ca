#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "pinfold/base/unique_fd.hpp"
#include "pinfold/socket/protocol.hpp"

namespace pinfold::service {

/// A connection of a command to the service. One call at a time.
class Client {
 public:
  /// The most that the service may take for one message, besides the time that a call may wait.
  static constexpr std::chrono::milliseconds kAnswerTime{120'000};

  /// nullopt if no service listens on the socket or it ends just now, or the user may not connect.
  /// Waits for one that starts.
  /// Errors: kInvalidArgument for a path that is too long and a service of another user;
  /// kUnsupported for one with another version of the protocol; kBusy if it takes no more
  /// connections; kIo.
  [[nodiscard]] static Result<std::optional<Client>> connect(
      const std::string& socket, std::chrono::milliseconds answer_time = kAnswerTime);

  [[nodiscard]] const Hello& hello() const { return *hello_; }
  /// Waits for the answer. `timeout`: until the request's turn comes.
  /// Errors: those of the request; kBusy if its turn did not come in time; stopping_error() also if
  /// the connection breaks before all of it was sent: then it is not done. After that
  /// agent::unknown_outcome() if the connection breaks, the time for an answer ends or what comes
  /// is no answer, for a request that can_change(); else kIo.
  [[nodiscard]] Result<Answer> call(Action action, std::chrono::milliseconds timeout);

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
  bool is_sent_ = false;        ///< the whole of the last message
  std::optional<Hello> hello_;  ///< always, once connected
};

}  // namespace pinfold::service
