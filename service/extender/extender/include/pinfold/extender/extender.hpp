#pragma once

#include <memory>
#include <string_view>

#include "pinfold/agent/log.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/extender/extender_settings.hpp"
#include "pinfold/kube_client/cluster_access.hpp"

namespace pinfold::extender {

/// The running extender: watches the API server and answers kube-scheduler until it is destroyed.
class Extender {
 public:
  /// Starts the extender. Errors: those of HttpServer::start. An API server that does not answer is
  /// not an error: the lists are retried, and /readyz names what is missing.
  [[nodiscard]] static Result<std::unique_ptr<Extender>> start(
      const ExtenderSettings& settings, const kube_client::ClusterAccess& access,
      agent::LogSink log);
  Extender(const Extender&) = delete;
  Extender& operator=(const Extender&) = delete;
  ~Extender();

  [[nodiscard]] int port() const;
  [[nodiscard]] int health_port() const;
  /// Reads the certificates again, for new connections.
  /// Errors: kInvalidArgument; the old ones stay.
  Result<void> renew_certificates();

 private:
  struct Parts;
  explicit Extender(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace pinfold::extender
