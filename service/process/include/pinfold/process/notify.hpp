#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace pinfold::process {

/// Notifies the service manager about this process (sd_notify(3)); does nothing without one.
class Notifier {
 public:
  /// `socket` is NOTIFY_SOCKET; empty: no service manager.
  explicit Notifier(std::string socket) : socket_(std::move(socket)) {}

  /// Sends a message such as "READY=1\nSTATUS=...". A message that cannot be sent is lost.
  void send(std::string_view message) const;

 private:
  std::string socket_;
};

/// Returns the interval within which the service manager expects a WATCHDOG=1, from the values of
/// WATCHDOG_USEC and WATCHDOG_PID (empty: not set); nullopt if it expects none from this process.
[[nodiscard]] std::optional<std::chrono::microseconds> watchdog_time(const std::string& usec,
                                                                     const std::string& pid);

/// Returns "RELOADING=1" with the timestamp that the service manager requires.
[[nodiscard]] std::string reloading_message();

}  // namespace pinfold::process
