#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace pinfold::service {

/// Tells the service manager about this process (sd_notify(3)); does nothing without one.
class Notifier {
 public:
  /// `socket`: NOTIFY_SOCKET; "": no service manager.
  explicit Notifier(std::string socket) : socket_(std::move(socket)) {}

  /// "READY=1\nSTATUS=...". A message that cannot be sent is lost.
  void send(std::string_view message) const;

 private:
  std::string socket_;
};

/// The time in which the service manager expects a WATCHDOG=1, from the values of WATCHDOG_USEC and
/// WATCHDOG_PID ("": not set). nullopt: it expects none of this process.
[[nodiscard]] std::optional<std::chrono::microseconds> watchdog_time(const std::string& usec,
                                                                     const std::string& pid);

/// "RELOADING=1" with the time that the service manager wants.
[[nodiscard]] std::string reloading_message();

}  // namespace pinfold::service
