#pragma once

#include <chrono>
#include <csignal>
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
  /// the socket, if it is just ending, or if the user may not connect. `interrupted` ends this wait
  /// and those of calls once it is not 0; it must live as long as the client.
  /// Errors: kInvalidArgument for a path that is too long and for a service of another user;
  /// kUnsupported for another version of the protocol; kBusy if it takes no more connections, or
  /// after an interruption (errno EINTR); kIo.
  [[nodiscard]] static Result<std::optional<Client>> connect(
      const std::string& socket, std::chrono::milliseconds answer_time = kAnswerTime,
      const volatile std::sig_atomic_t* interrupted = nullptr);

  [[nodiscard]] const Hello& hello() const { return *hello_; }
  /// Waits for the answer. `timeout` limits the wait until the request is executed.
  /// Errors: those of the request; kBusy if it was not executed in time; stopping_error() also if
  /// the connection breaks before the whole request was sent, which is then not executed. After
  /// that, agent::unknown_outcome() for a request that can_change(), otherwise kIo, if the
  /// connection breaks, the time for an answer ends or the answer is malformed. An interruption has
  /// the same errors, but kBusy instead of kIo. Domain: no earlier call ended without an answer.
  [[nodiscard]] Result<verbs::Answer> call(verbs::Action action, std::chrono::milliseconds timeout);

 private:
  Client(UniqueFd connection, std::string name, std::chrono::milliseconds answer_time,
         const volatile std::sig_atomic_t* interrupted)
      : connection_(std::move(connection)),
        name_(std::move(name)),
        answer_time_(answer_time),
        interrupted_(interrupted) {}
  [[nodiscard]] Result<std::string> exchange(std::string message,
                                             std::chrono::milliseconds longest);
  [[nodiscard]] Result<std::string> receive(std::chrono::steady_clock::time_point end);

  UniqueFd connection_;
  std::string name_;  ///< for messages
  std::chrono::milliseconds answer_time_;
  const volatile std::sig_atomic_t* interrupted_;  ///< nullptr: nothing ends a wait
  std::string received_;
  bool is_sent_ = false;        ///< whether the whole last message was sent
  std::optional<Hello> hello_;  ///< always set once connected
};

}  // namespace pinfold::socket
