#pragma once

#include <prometheus/metric_family.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pinfold/base/result.hpp"

namespace pinfold::metrics {

struct MetricsServerOptions {
  /// At this limit, the oldest connection that has not sent a whole request is closed for a new
  /// one.
  std::size_t max_connections = 128;
  std::chrono::milliseconds request_time{5'000};  ///< for a client to send the head of its request
  std::chrono::milliseconds answer_time{10'000};  ///< and to read the answer
};

/// Answers GET /metrics over HTTP, one request per connection, in its own thread. A client that
/// hangs delays no other one, since anyone who reaches the address can connect.
class MetricsServer {
 public:
  using Collect = std::function<std::vector<prometheus::MetricFamily>()>;

  /// `address` is "HOST:PORT", "PORT" or "[::1]:PORT". `collect` is called by the server's thread.
  /// Errors: kInvalidArgument if it is not an address; kIo.
  [[nodiscard]] static Result<std::unique_ptr<MetricsServer>> start(
      const std::string& address, Collect collect, const MetricsServerOptions& options = {});
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;
  ~MetricsServer();

  [[nodiscard]] int port() const;

 private:
  struct Parts;
  explicit MetricsServer(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace pinfold::metrics
