#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/agent/log.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/fields/fields.hpp"
#include "pinfold/predict/scoring_strategy.hpp"
#include "pinfold/web/http_server.hpp"

namespace pinfold::web {

void describe(fields::Fields& fields, ServerCertificate& files);

}  // namespace pinfold::web

namespace pinfold::extender {

inline constexpr const char* kDefaultExtenderFile = "/etc/pinfold/extender.yaml";

/// Settings of pinfold-extender; docs/scheduler.md has the table.
struct ExtenderSettings {
  std::string address = "127.0.0.1:9472";         ///< for kube-scheduler
  std::string health_address = "127.0.0.1:9473";  ///< /healthz, /readyz, /metrics over plain HTTP
  std::optional<web::ServerCertificate> tls;      ///< nullopt: plain HTTP at `address`
  std::string kubeconfig;                         ///< "": that of the Pod
  std::vector<std::string> ignore;                ///< see Fleet
  ScoringStrategy scoring = ScoringStrategy::kLeastNumaNodes;
  /// The longest time from a bind until the exporters have published it.
  std::chrono::seconds exporter_delay{15};
  /// The longest time from the answer to a filter request to the bind.
  std::chrono::seconds bind_time{30};
  std::string log_level = "info";

  friend bool operator==(const ExtenderSettings&, const ExtenderSettings&) = default;
};
void describe(fields::Fields& fields, ExtenderSettings& settings);

/// Reads a settings file. An empty one sets nothing.
/// Errors: kInvalidArgument, including for an unknown member and an unknown strategy or level.
[[nodiscard]] Result<ExtenderSettings> parse_extender_settings(std::string_view yaml);

}  // namespace pinfold::extender
