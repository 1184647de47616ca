#pragma once

#include <prometheus/metric_family.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pinfold/base/result.hpp"

namespace prometheus {
class Collectable;
class Exposer;
}  // namespace prometheus

namespace pinfold::service {

/// Answers GET /metrics over HTTP. A client that hangs takes one of 8 threads for 2 seconds.
class MetricsServer {
 public:
  using Collect = std::function<std::vector<prometheus::MetricFamily>()>;

  /// `address`: "HOST:PORT", "PORT", "[::1]:PORT". Errors: kIo.
  [[nodiscard]] static Result<std::unique_ptr<MetricsServer>> start(const std::string& address,
                                                                    Collect collect);
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;
  ~MetricsServer();

  [[nodiscard]] int port() const;

 private:
  MetricsServer() = default;

  std::shared_ptr<prometheus::Collectable> collectable_;
  std::unique_ptr<prometheus::Exposer> exposer_;
};

}  // namespace pinfold::service
