#include "metrics_server.hpp"

#include <fmt/format.h>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>

#include <exception>
#include <utility>

namespace pinfold::service {
namespace {

class Collector final : public prometheus::Collectable {
 public:
  explicit Collector(MetricsServer::Collect collect) : collect_(std::move(collect)) {}
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override {
    return collect_();
  }

 private:
  MetricsServer::Collect collect_;
};

}  // namespace

Result<std::unique_ptr<MetricsServer>> MetricsServer::start(const std::string& address,
                                                            Collect collect) {
  std::unique_ptr<MetricsServer> server(new MetricsServer);
  server->collectable_ = std::make_shared<Collector>(std::move(collect));
  try {
    server->exposer_ = std::make_unique<prometheus::Exposer>(std::vector<std::string>{
        "listening_ports", address, "num_threads", "8", "request_timeout_ms", "2000"});
    server->exposer_->RegisterCollectable(server->collectable_);
  } catch (const std::exception& failed) {
    return fail(ErrorCode::kIo, fmt::format("metrics at '{}': {}", address, failed.what()));
  }
  return server;
}

MetricsServer::~MetricsServer() = default;

int MetricsServer::port() const { return exposer_->GetListeningPorts().front(); }

}  // namespace pinfold::service
